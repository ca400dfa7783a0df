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
(mod_item !body) @module
(impl_item) @scope
(use_declaration argument: (_) @import)
