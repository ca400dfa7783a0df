(class_declaration) @class
(function_declaration) @function
(generator_function_declaration) @function
(method_definition) @method
(variable_declarator value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator) @var))
(program (variable_declaration (variable_declarator) @var))
(export_statement (lexical_declaration (variable_declarator) @var))

(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @of property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(throw_statement (new_expression constructor: (identifier) @raised))
(binary_expression operator: ["??" "||"]) @choice

(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
((call_expression function: (_) @_f arguments: (arguments . (string (string_fragment) @import)))
  (#match? @_f "^(require|import)$"))
(variable_declarator name: (identifier) @typed value: (new_expression constructor: (identifier) @type))
(variable_declarator name: (identifier) @untyped value: [
  (call_expression) (member_expression) (identifier) (await_expression) (ternary_expression) (object) (array)])
(variable_declarator name: (identifier) @untyped !value)
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @untyped))
(formal_parameters (_) @untyped)
(arrow_function parameter: (identifier) @untyped)
(for_in_statement left: (identifier) @untyped)
(catch_clause parameter: (identifier) @untyped)

(import_statement (import_clause [
    (named_imports (import_specifier name: (identifier) @part @imported !alias))
    (namespace_import (identifier) @part)
    (identifier) @part @imported])
  source: (string (string_fragment) @import))
((variable_declarator
  name: [(object_pattern (shorthand_property_identifier_pattern) @part @imported) (identifier) @part @imported]
  value: (call_expression function: (identifier) @_f arguments: (arguments . (string (string_fragment) @import))))
  (#eq? @_f "require"))
(export_specifier name: (identifier) @exported !alias)
(export_statement value: (identifier) @exported)
((assignment_expression left: (member_expression) @_o right: (object (shorthand_property_identifier) @exported))
  (#eq? @_o "module.exports"))
((assignment_expression left: (member_expression object: (_) @_o property: (property_identifier) @exported))
  (#match? @_o "^(module[.])?exports$"))

; names
(identifier) @word
(property_identifier) @word
(shorthand_property_identifier) @word
(shorthand_property_identifier_pattern) @word
(string_fragment) @word
