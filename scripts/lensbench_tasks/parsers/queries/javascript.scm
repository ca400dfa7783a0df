(class_declaration) @class
(function_declaration) @function
(generator_function_declaration) @function
(method_definition) @method
(variable_declarator value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator) @var))
(program (variable_declaration (variable_declarator) @var))
(export_statement (lexical_declaration (variable_declarator) @var))
(import_statement source: (string) @import)
(export_statement source: (string) @import)
((call_expression function: (_) @_f arguments: (arguments . (string) @import)) (#match? @_f "^(require|import)$"))
(export_specifier name: (identifier) @export !alias)
(export_specifier alias: (identifier) @export)
(export_statement value: (identifier) @export)
((assignment_expression left: (member_expression object: (_) @_o property: (property_identifier) @export))
  (#match? @_o "^(module[.])?exports$"))
((assignment_expression left: (member_expression) @_o right: (object [(shorthand_property_identifier) @export
  (pair key: (property_identifier) @export)])) (#eq? @_o "module.exports"))
