"""Symbols and import edges, language by language."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lensbench_demo.lens.tree import Tree
from lensbench_demo.lens.words import camel_case, words
from lensbench_tasks.parsers.grammars import SOURCES
from lensbench_tasks.parsers.symbols import read_facts
from stock import write

LANGUAGES = yaml.safe_load((Path(__file__).parent / "languages.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", LANGUAGES["trees"])
def test_imports_become_directed_edges_between_files(tmp_path: Path, language: str) -> None:
    shown = LANGUAGES["trees"][language]
    tree = Tree.read(write(tmp_path, shown["files"]))
    assert (
        sorted([path, target] for path, targets in tree.imports.items() for target in targets)
        == shown["imports"]
    )


@pytest.mark.parametrize("language", LANGUAGES["symbols"])
def test_symbols_have_kind_and_visibility(language: str) -> None:
    text, expected = LANGUAGES["symbols"][language]
    found = read_facts(text, language).symbols
    assert (
        " ".join(f"{one.name}:{one.kind}{'+' if one.exported else '-'}" for one in found)
        == expected
    )


def test_a_list_of_all_names_decides_what_python_exports_and_what_a_function_defines_is_local() -> (
    None
):
    inner = read_facts("def f():\n  def g():\n    class C: ...\n", "python").symbols
    assert [(one.name, one.local) for one in inner] == [("f", False), ("g", True), ("C", True)]
    facts = read_facts('__all__ = ["A", "later"]\nclass A: ...\nclass B: ...\n', "python")
    assert facts.exports == ("A", "later")
    assert [one.exported for one in facts.symbols if one.kind == "class"] == [True, False]


@pytest.mark.parametrize(
    ("language", "text", "docstring"),
    [
        ("python", '#!/usr/bin/python\n# licence\n"""What it\n  does."""\n', "What it does."),
        (
            "javascript",
            "#!/usr/bin/env node\n/**\n * What it\n * does.\n */\nx()\n",
            "What it does.",
        ),
        ("go", "// Package p\n// does.\npackage p\n", "Package p does."),
        ("rust", "//! What it\n//! does.\n", "What it does."),
    ],
)
def test_the_docstring_is_what_opens_the_file(language: str, text: str, docstring: str) -> None:
    assert read_facts(text, language).docstring == docstring


def test_headings_are_sections_with_lines() -> None:
    assert read_facts("# One\ntext\n## Two ##\n", "markdown").sections == (("One", 1), ("Two", 3))
    assert read_facts("One\n===\n\nTwo\n---\n", "restructuredtext").sections == (
        ("One", 1),
        ("Two", 4),
    )
    assert read_facts("x = 1\n# --- Helpers ---\n", "python").sections == (("Helpers", 2),)


@settings(max_examples=60)
@given(
    text=st.text(
        alphabet="ab_ .:,;(){}[]<>=\"'`*/#\n\tdefclasimportuse@$\u00e9\ud83e", max_size=200
    ),
    language=st.sampled_from(sorted(SOURCES)),
)
def test_no_text_breaks_the_reader(text: str, language: str) -> None:
    for symbol in read_facts(text, language).symbols:
        assert 1 <= symbol.line <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("language", "text"),
    [("javascript", "("), ("typescript", "{[<"), ("java", "class A{"), ("go", "func f(){")],
)
def test_absurd_nesting_is_given_up_instead_of_searched_for_hours(language: str, text: str) -> None:
    assert len(read_facts(text * 100_000, language).symbols) <= 5_000


def test_identifiers_fall_into_words() -> None:
    assert words("OptionParser parse_args HTTPServer2 größe") == [
        "option",
        "parser",
        "parse",
        "args",
        "http",
        "server",
        "2",
        "größe",
    ]
    assert camel_case("OptionParser plain CONST getHTTP OptionParser") == "option parser get http"
