"""Places in the source that answers cite, and what stands there."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lensbench.results.citations import Citation, RepositoryFiles, citations
from stock import write

CITED = yaml.safe_load(Path(__file__).with_name("citations.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "expected"), CITED)
def test_a_place_is_read_in_the_ways_that_people_and_models_write_it(
    text: str, expected: list[Any]
) -> None:
    assert list(citations(text, "/w/repo")) == [Citation(*expected)]


@pytest.mark.parametrize(
    "text",
    [
        "at 12:30",
        "http://example.com:80",
        "version 1.2:3",
        "http://localhost:8080",
        "cart.py has 12 lines",
        "a.py:0",
        "see cart.py",
        "line 4",
    ],
)
def test_what_names_no_line_of_a_file_is_no_citation(text: str) -> None:
    assert list(citations(text)) == []


def test_a_place_that_is_named_twice_is_one() -> None:
    assert len(list(citations("a.py:3, b.py:3 and again ./a.py:3"))) == 2


@given(st.text(alphabet=" ab./:#L-0123456789`()\n", max_size=400))
def test_any_text_is_read_and_every_place_is_one(text: str) -> None:
    for citation in citations(text):
        assert 1 <= citation.first <= citation.last
        assert citation.path


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000, "a.py:" * 40_000, "a/" * 100_000, "line 1 of " * 30_000, "a.b " * 60_000],
)
def test_a_long_answer_is_read_in_a_moment(text: str) -> None:
    assert len(list(citations(text))) < 2  # the suite's time limit would show what takes for ever


@pytest.fixture
def tree(tmp_path: Path) -> RepositoryFiles:
    cart = "one\ntwo\nthree\nfour\n" + "x" * 999 + "\n"
    write(tmp_path, {"src/a/cart.py": cart, "src/data.bin": b"\xff\xfe\0"})
    write(tmp_path, dict.fromkeys(("src/one.py", "src/a/one.py", ".git/hidden.py"), "1\n"))
    (tmp_path / "src" / "out.py").symlink_to("/etc/passwd")
    return RepositoryFiles(tmp_path)


def test_the_lines_are_shown_with_those_around_them(tree: RepositoryFiles) -> None:
    found = tree.look_up(Citation("a/cart.py", 2, 3))
    assert (found["cited"], found["path"], found["first"]) == ("a/cart.py:2-3", "src/a/cart.py", 1)
    assert (found["lines"], found["problem"]) == (["one", "two", "three", "four"], "")
    assert len(tree.look_up(Citation("cart.py", 5, 5))["lines"][-1]) == 200


PROBLEMS = [
    (Citation("none.py", 1, 1), "there is no such file"),
    (Citation("hidden.py", 1, 1), "there is no such file"),
    (Citation("../../etc/passwd", 1, 1), "there is no such file"),
    (Citation("one.py", 1, 1), "2 files match"),
    (Citation("cart.py", 6, 6), "the file has 5 lines"),
    (Citation("cart.py", 4, 9), "the file has 5 lines"),
    (Citation("src/data.bin", 1, 1), "the file is empty, too large, or not text"),
    (Citation("src/out.py", 1, 1), "the file is empty, too large, or not text"),
]


@pytest.mark.parametrize(("citation", "problem"), PROBLEMS)
def test_what_is_not_as_cited_is_said(
    tree: RepositoryFiles, citation: Citation, problem: str
) -> None:
    assert tree.look_up(citation)["problem"] == problem


def test_only_what_ends_like_a_file_of_the_repository_is_looked_up(tree: RepositoryFiles) -> None:
    assert tree.kinds & {"py", "bin", "com"} == {"py", "bin"}
