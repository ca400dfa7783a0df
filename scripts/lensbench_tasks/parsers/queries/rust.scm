(function_item) @function
(function_signature_item) @function
(macro_definition) @function
(struct_item) @class
(union_item) @class
(enum_item) @enum
(trait_item) @interface
(type_item) @type
(const_item) @const
(static_item) @const
(mod_item body: (_)) @namespace
(impl_item) @scope
((mod_item name: (identifier) @_name) @test (#match? @_name "^tests?$"))

(call_expression function: (identifier) @call)
(call_expression function: (scoped_identifier path: (_) @of name: (identifier) @call))
(call_expression function: (field_expression value: (_) @of field: (field_identifier) @call))

(parameter pattern: (identifier) @typed type: [
  (type_identifier) @type (reference_type type: (type_identifier) @type)
  (scoped_type_identifier name: (_) @type) (reference_type type: (scoped_type_identifier name: (_) @type))])
(parameter pattern: (identifier) @untyped type: [(generic_type) (primitive_type) (abstract_type) (dynamic_type)])
(let_declaration pattern: (identifier) @typed value: (call_expression function:
  (scoped_identifier path: (identifier) @type name: (identifier) @_new)) (#eq? @_new "new"))
(let_declaration pattern: [(identifier) @untyped (mut_pattern (identifier) @untyped)] value: [
  (field_expression) (identifier) (match_expression) (if_expression) (try_expression) (reference_expression)
  (call_expression function: (field_expression)) (call_expression function: (identifier))])
(closure_parameters (identifier) @untyped)
(for_expression pattern: (identifier) @untyped)

(mod_item name: (identifier) @import !body)
(use_declaration argument: [(identifier) (scoped_identifier)] @import)
(use_declaration argument: (use_as_clause path: (_) @import))
(use_declaration argument: (use_wildcard (_) @import))
(use_declaration argument: (scoped_use_list path: (_) @import list: (use_list [(identifier) (scoped_identifier)] @part)))
(use_declaration argument: (scoped_identifier name: (identifier) @imported))
(use_list (identifier) @imported)
(use_list (scoped_identifier name: (identifier) @imported))

; names
(identifier) @word
(field_identifier) @word
(type_identifier) @word
(shorthand_field_identifier) @word
(string_content) @word
