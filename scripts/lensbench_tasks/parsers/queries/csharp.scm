(class_declaration) @class
(struct_declaration) @class
(record_declaration) @class
(interface_declaration) @interface
(enum_declaration) @enum
(delegate_declaration) @type
(method_declaration) @method
(constructor_declaration) @method
(namespace_declaration) @namespace
(file_scoped_namespace_declaration) @namespace

(invocation_expression function: (identifier) @call)
(invocation_expression function: (member_access_expression expression: _ @of name: (identifier) @call))
(object_creation_expression type: (identifier) @call)
(throw_statement (object_creation_expression type: (identifier) @raised))
(class_declaration name: (identifier) @derived (base_list . [(identifier) @base (generic_name . (identifier) @base)]))
(binary_expression operator: "??") @choice

(parameter type: [(identifier) @type (generic_name . (identifier) @type) (nullable_type (identifier) @type)]
  name: (_) @typed)
(variable_declaration type: [(identifier) @type (generic_name . (identifier) @type) (nullable_type (identifier) @type)]
  (variable_declarator name: (_) @typed))
(property_declaration type: [(identifier) @type (nullable_type (identifier) @type)] name: (_) @typed)
(foreach_statement type: (identifier) @type left: (_) @typed)
(parameter !type name: (_) @untyped)
(parameter type: [(array_type) (qualified_name) (predefined_type)] name: (_) @untyped)
(variable_declaration type: [(implicit_type) (array_type) (qualified_name)] (variable_declarator name: (_) @untyped))
(foreach_statement type: (implicit_type) left: (_) @untyped)

; names
(identifier) @word
(string_literal_content) @word
