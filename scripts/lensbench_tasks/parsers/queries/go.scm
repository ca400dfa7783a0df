(function_declaration) @function
(method_declaration) @method
(type_spec type: (struct_type)) @class
(type_spec type: (interface_type)) @interface
(type_spec) @type
(type_alias) @type
(source_file (const_declaration (const_spec) @const))
(source_file (var_declaration [(var_spec) @var (var_spec_list (var_spec) @var)]))
(import_spec path: (_) @import)
