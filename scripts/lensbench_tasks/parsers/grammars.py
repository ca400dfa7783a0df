"""The tree-sitter grammars, and the queries for definitions, imports and exports by language.

Captures: `@<kind>` is a definition (its name is the field `name`), `@scope` holds methods without being a symbol,
`@import` names another file or module, `@module` declares a module in its own file, `@package` is the package of the
file, `@export` a name that is exported but not defined in the file, `@all` one entry of a complete list of exports.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import NamedTuple

from tree_sitter import Language, Parser, Query

PYTHON = """
(class_definition) @class
(function_definition) @function
(module (expression_statement (assignment left: (identifier)) @var))
(module (expression_statement (assignment left: (identifier) @_all right: (_ (string) @all)) (#eq? @_all "__all__")))
((import_from_statement name: (aliased_import name: (dotted_name) @_name alias: (identifier) @export))
  (#eq? @_name @export))
(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import))
(import_from_statement) @import
"""

JAVASCRIPT = """
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
"""

TYPESCRIPT = (
    JAVASCRIPT
    + """
(abstract_class_declaration) @class
(interface_declaration) @interface
(type_alias_declaration) @type
(enum_declaration) @enum
(internal_module) @namespace
(function_signature) @function
(import_require_clause source: (string) @import)
"""
)

GO = """
(function_declaration) @function
(method_declaration) @method
(type_spec type: (struct_type)) @class
(type_spec type: (interface_type)) @interface
(type_spec) @type
(type_alias) @type
(source_file (const_declaration (const_spec) @const))
(source_file (var_declaration [(var_spec) @var (var_spec_list (var_spec) @var)]))
(import_spec path: (_) @import)
"""

RUST = """
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
"""

JAVA = """
(class_declaration) @class
(record_declaration) @class
(interface_declaration) @interface
(annotation_type_declaration) @interface
(enum_declaration) @enum
(method_declaration) @method
(constructor_declaration) @method
(import_declaration) @import
(package_declaration) @package
"""

CSHARP = """
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
"""

# language -> module of the wheel, its function, the query
SOURCES = {
    "python": ("tree_sitter_python", "language", PYTHON),
    "javascript": ("tree_sitter_javascript", "language", JAVASCRIPT),
    "typescript": ("tree_sitter_typescript", "language_typescript", TYPESCRIPT),
    "tsx": ("tree_sitter_typescript", "language_tsx", TYPESCRIPT),
    "go": ("tree_sitter_go", "language", GO),
    "rust": ("tree_sitter_rust", "language", RUST),
    "java": ("tree_sitter_java", "language", JAVA),
    "csharp": ("tree_sitter_c_sharp", "language", CSHARP),
}


class Grammar(NamedTuple):
    """A parser and the query that finds definitions, imports and exports."""

    parser: Parser
    query: Query


@cache
def grammar(language: str) -> Grammar | None:
    """The grammar of a language, loaded on first use; None for languages that are only indexed as text."""
    if language not in SOURCES:
        return None
    module, function, query = SOURCES[language]
    syntax = Language(getattr(importlib.import_module(module), function)())
    return Grammar(Parser(syntax), Query(syntax, query))
