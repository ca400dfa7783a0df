(class_declaration) @class
(record_declaration) @class
(interface_declaration) @interface
(annotation_type_declaration) @interface
(enum_declaration) @enum
(method_declaration) @method
(constructor_declaration) @method

(method_invocation !object name: (identifier) @call)
(method_invocation object: (_) @of name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(throw_statement (object_creation_expression type: (type_identifier) @raised))
(class_declaration name: (identifier) @derived
  superclass: (superclass [(type_identifier) @base (generic_type . (type_identifier) @base)]))

(formal_parameter type: [(type_identifier) @type (generic_type . (type_identifier) @type)] name: (_) @typed)
(local_variable_declaration type: [(type_identifier) @type (generic_type . (type_identifier) @type)]
  declarator: (variable_declarator name: (_) @typed))
(field_declaration type: [(type_identifier) @type (generic_type . (type_identifier) @type)]
  declarator: (variable_declarator name: (_) @typed))
(enhanced_for_statement type: [(type_identifier) @type (generic_type . (type_identifier) @type)] name: (_) @typed)
(formal_parameter type: [(array_type) (integral_type) (scoped_type_identifier)] name: (_) @untyped)
(local_variable_declaration type: [(array_type) (scoped_type_identifier)]
  declarator: (variable_declarator name: (_) @untyped))
(inferred_parameters (identifier) @untyped)
(lambda_expression parameters: (identifier) @untyped)

(import_declaration (scoped_identifier) @import)
(import_declaration (scoped_identifier name: (identifier) @imported))
(package_declaration (_) @package)

; names
(identifier) @word
(type_identifier) @word
(string_fragment) @word
