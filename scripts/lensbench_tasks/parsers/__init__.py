"""Reads a tree: its files, definitions, imports and history. Its grammars are the extra `tasks` of the installation."""

from lensbench.core.system.program import needs_extra

with needs_extra("tasks"):
    import tree_sitter as tree_sitter
