(class_definition) @class
(function_definition) @function
(module (expression_statement (assignment left: (identifier)) @var))
(class_definition body: (block (expression_statement (assignment left: (identifier)) @var)))

(call function: (identifier) @call)
(call function: (attribute object: (_) @of attribute: (identifier) @call))
(raise_statement (call function: (identifier) @raised))
(class_definition name: (identifier) @derived superclasses: (argument_list . (identifier) @base .))
(boolean_operator operator: "or") @choice

(typed_parameter (identifier) @typed type: (type (identifier) @type))
(typed_default_parameter name: (identifier) @typed type: (type (identifier) @type))
(assignment left: (identifier) @typed right: (call function: (identifier) @type))
(parameters [(identifier) @untyped (default_parameter name: (identifier) @untyped)])
(assignment left: (identifier) @untyped right: [(identifier) (attribute) (subscript) (conditional_expression) (none)])
(assignment left: (identifier) @untyped right: (call function: (attribute)))
(assignment left: (pattern_list (identifier) @untyped))
(for_statement left: [(identifier) @untyped (pattern_list (identifier) @untyped)])
(for_in_clause left: [(identifier) @untyped (pattern_list (identifier) @untyped)])
(as_pattern_target (identifier) @untyped)
(lambda_parameters (identifier) @untyped)
(named_expression name: (identifier) @untyped)

(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import))
(import_from_statement module_name: (_) @import name: (dotted_name) @part @imported)
(import_from_statement module_name: (_) @import name: (aliased_import name: (dotted_name) @part))
(import_from_statement module_name: (_) @import (wildcard_import))
(assignment left: (identifier) @_all right: (_ (string (string_content) @exported)) (#eq? @_all "__all__"))

; names
(identifier) @word
(string_content) @word
