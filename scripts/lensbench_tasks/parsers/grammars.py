"""The tree-sitter grammars and the queries of each language (`queries/`)."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tree_sitter import Language, Parser, Query

SOURCES = ("python", "javascript", "typescript", "tsx", "go", "rust", "java", "csharp")
"""Languages with a grammar."""
_WHEELS = {"tsx": "typescript", "csharp": "c_sharp"}
_NAMES = "; names\n"
"""Divides a file of queries."""


class Grammar(NamedTuple):
    """A parser, the query for definitions, calls and imports, and the one for all names."""

    parser: Parser
    facts: Query
    names: Query


@cache
def grammar(language: str) -> Grammar | None:
    """The grammar of a language, loaded on first use; None for languages that are only indexed as text."""
    if language not in SOURCES:
        return None
    wheel = _WHEELS.get(language, language)
    is_typed = wheel == "typescript"
    module = importlib.import_module(f"tree_sitter_{wheel}")
    syntax = Language(getattr(module, f"language_{language}" if is_typed else "language")())
    facts = ""
    names = ""
    for name in ("javascript", wheel) if is_typed else (language,):
        text = _query_file(name).read_text(encoding="utf-8")
        first, _, second = text.partition(_NAMES)
        facts += first
        names += second
    return Grammar(Parser(syntax), Query(syntax, facts), Query(syntax, names))


def _query_file(name: str) -> Path:
    return Path(__file__).with_name("queries") / f"{name}.scm"
