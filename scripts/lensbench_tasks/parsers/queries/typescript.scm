(abstract_class_declaration) @class
(interface_declaration) @interface
(type_alias_declaration) @type
(enum_declaration) @enum
(internal_module) @namespace
(function_signature) @function
(class_declaration name: (_) @derived (class_heritage (extends_clause value: (identifier) @base)))
(abstract_class_declaration name: (_) @derived (class_heritage (extends_clause value: (identifier) @base)))
(required_parameter pattern: (identifier) @typed type: (type_annotation (type_identifier) @type))
(optional_parameter pattern: (identifier) @typed type: (type_annotation (type_identifier) @type))
(variable_declarator name: (identifier) @typed type: (type_annotation (type_identifier) @type))
(required_parameter pattern: (identifier) @untyped !type)
(required_parameter pattern: (identifier) @untyped
  type: (type_annotation [(union_type) (generic_type) (predefined_type) (object_type) (function_type)]))
(import_require_clause source: (string (string_fragment) @import))

; names
(type_identifier) @word
