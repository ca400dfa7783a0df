(function_declaration) @function
(method_declaration) @method
(type_spec type: (struct_type)) @class
(type_spec type: (interface_type)) @interface
(type_spec) @type
(type_alias) @type
(source_file (const_declaration (const_spec) @const))
(source_file (var_declaration [(var_spec) @var (var_spec_list (var_spec) @var)]))

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (_) @of field: (field_identifier) @call))

(parameter_declaration name: (identifier) @typed type: [
  (type_identifier) @type (pointer_type (type_identifier) @type) (qualified_type name: (_) @type)
  (pointer_type (qualified_type name: (_) @type))])
(parameter_declaration name: (identifier) @untyped type: [
  (slice_type) (map_type) (function_type) (channel_type) (interface_type) (generic_type) (array_type)])
(short_var_declaration left: (expression_list (identifier) @typed) right: (expression_list
  . (unary_expression operand: (composite_literal type: (type_identifier) @type)) .))
(short_var_declaration left: (expression_list (identifier) @untyped) right: (expression_list
  [(call_expression) (identifier) (selector_expression) (index_expression) (composite_literal) (func_literal)]))
(range_clause left: (expression_list (identifier) @untyped))
(var_spec name: (identifier) @untyped)

(import_spec path: (interpreted_string_literal (interpreted_string_literal_content) @import))
(package_clause (package_identifier) @package)

; names
(identifier) @word
(field_identifier) @word
(type_identifier) @word
(interpreted_string_literal_content) @word
