"""The tree-sitter grammars, and the queries (`queries/`) for definitions, imports and exports by language."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tree_sitter import Language, Parser, Query

SOURCES = ("python", "javascript", "typescript", "tsx", "go", "rust", "java", "csharp")
"""Languages with a grammar."""
_WHEELS = {"tsx": "typescript", "csharp": "c_sharp"}


class Grammar(NamedTuple):
    """A parser and the query that finds definitions, imports and exports."""

    parser: Parser
    query: Query


@cache
def grammar(language: str) -> Grammar | None:
    """The grammar of a language, loaded on first use; None for languages that are only indexed as text."""
    if language not in SOURCES:
        return None
    wheel = _WHEELS.get(language, language)
    is_typed = wheel == "typescript"
    module = importlib.import_module(f"tree_sitter_{wheel}")
    syntax = Language(getattr(module, f"language_{language}" if is_typed else "language")())
    files = [f"{name}.scm" for name in (("javascript", wheel) if is_typed else (language,))]
    query = "\n".join(
        Path(__file__).with_name("queries").joinpath(file).read_text(encoding="utf-8")
        for file in files
    )
    return Grammar(Parser(syntax), Query(syntax, query))
