"""Definitions and import edges, language by language."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lensbench_tasks.parsers.code import read_code
from lensbench_tasks.parsers.grammars import SOURCES
from lensbench_tasks.survey import Survey
from stock import write

LANGUAGES = yaml.safe_load((Path(__file__).parent / "languages.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", LANGUAGES["trees"])
def test_imports_become_directed_edges_between_files(tmp_path: Path, language: str) -> None:
    shown = LANGUAGES["trees"][language]
    survey = Survey.read(write(tmp_path, shown["files"]))
    assert (
        sorted([path, target] for path, targets in survey.imports.items() for target in targets)
        == shown["imports"]
    )


@pytest.mark.parametrize("language", LANGUAGES["symbols"])
def test_definitions_have_a_kind(language: str) -> None:
    text, expected = LANGUAGES["symbols"][language]
    found = read_code("x", text, language).definitions
    assert " ".join(f"{one.shown}:{one.kind}" for one in found) == expected


def test_what_a_function_defines_is_local() -> None:
    inner = read_code("x", "def f():\n  def g():\n    class C: ...\n", "python").definitions
    assert [(one.name, one.local) for one in inner] == [("f", False), ("g", True), ("C", True)]


@settings(max_examples=60)
@given(
    text=st.text(
        alphabet="ab_ .:,;(){}[]<>=\"'`*/#\n\tdefclasimportuse@$\u00e9\ud83e", max_size=200
    ),
    language=st.sampled_from(sorted(SOURCES)),
)
def test_no_text_breaks_the_reader(text: str, language: str) -> None:
    for one in read_code("x", text, language, with_names=True).definitions:
        assert 1 <= one.line <= one.last_line <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("language", "text"),
    [("javascript", "("), ("typescript", "{[<"), ("java", "class A{"), ("go", "func f(){")],
)
def test_absurd_nesting_is_given_up_instead_of_searched_for_hours(language: str, text: str) -> None:
    assert len(read_code("x", text * 100_000, language).definitions) <= 5_000
