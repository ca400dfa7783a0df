(class_definition) @class
(function_definition) @function
(module (expression_statement (assignment left: (identifier)) @var))
(module (expression_statement (assignment left: (identifier) @_all right: (_ (string) @all)) (#eq? @_all "__all__")))
((import_from_statement name: (aliased_import name: (dotted_name) @_name alias: (identifier) @export))
  (#eq? @_name @export))
(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import))
(import_from_statement) @import
