from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from lensbench.core.tasks import Category, Criterion, Regex, Source, Task

SHA = "a" * 64


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "does not compile"),
        ("a{2,1}", "does not compile"),
        (r"(a)\1", "does not compile"),
        ("(?=a)", "does not compile"),
        ("(?<!a)b", "does not compile"),
        ("a{1001}", "does not compile"),
        ("((a{100}){100}){100}", "does not compile"),
        ("a*", "empty string"),
        ("(x|)", "empty string"),
        ("^", "empty string"),
        (r"\b", "empty string"),
        (r"\B", "empty string"),
        ("a?b*", "empty string"),
        ("x" * 501, "at most 500"),
        ("", "at least 1"),
    ],
)
def test_a_pattern_that_cannot_judge_is_refused(pattern: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Regex(regex=pattern)


@pytest.mark.parametrize(
    "pattern", [r"\b10\b", "(?i)option[^.\\n]{0,60}\\bvalue", "a+", "(a+)+$", "é"]
)
def test_a_pattern_that_can_judge_is_taken(pattern: str) -> None:
    assert Regex(regex=pattern).regex == pattern


@pytest.mark.parametrize(
    "value",
    [
        {"text": ""},
        {"text": " \n "},
        {"text": 5},
        {},
        {"text": "x", "all_off": "a"},
        {"text": "x", "all_of": ""},
        {"text": "x", "all_of": [5]},
        {"text": "x", "all_of": None},
        {"text": "x", "all_of": {"regexp": "a"}},
        {"text": "x", "all_of": {"regex": "a", "flags": "i"}},
        {"text": "x", "must_not": "a"},
        {"text": "x", "partial": {"a": "b"}},
        {"text": "x", "all_of": "a", "partial": ["b"]},
        {"text": "x", "all_of": "a", "partial": {"b": []}},
        {"text": "x", "all_of": "a" * 501},
        {"text": "x", "all_of": [["a"]]},
        {"text": "x", "at_least": {"n": 2, "of": ["a"]}},
        {"text": "x", "at_least": {"n": 0, "of": ["a"]}},
        {"text": "x", "at_least": ["a"]},
        {"text": "x", "at_most": {"n": 0, "of": ["a"]}},
        {"text": "x", "all_of": "a", "at_most": {"n": 1, "of": ["b"]}},
        {"text": "x", "all_of": "a", "partial": {"b": {"n": 1, "of": []}}},
    ],
)
def test_a_malformed_criterion_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        Criterion.model_validate(value)


def test_one_pattern_may_stand_without_a_list_and_none_is_for_people_and_models() -> None:
    criterion = Criterion.model_validate(
        {"text": "x", "all_of": "a", "any_of": {"regex": "b"}, "partial": {"p": "c"}}
    )
    assert (criterion.all_of, criterion.any_of) == (("a",), (Regex(regex="b"),))
    assert criterion.partial == {"p": ("c",)}
    assert criterion.mechanical
    assert not Criterion(text="x").mechanical


@pytest.mark.parametrize(
    "value",
    [
        {"pypi": "click==8.3.1", "sha256": SHA},
        {"path": "../x"},
        {"git": "https://h/r.git", "revision": "v1.0"},
        {"git": "../r", "revision": "main"},
        {"git": "git@h:r.git", "revision": "0" * 40},
    ],
)
def test_a_source_is_one_of_three(value: Any) -> None:
    assert TypeAdapter(Source).validate_python(value).model_dump() == value


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        5,
        "click",
        {"url": "x"},
        {"pypi": "click", "sha256": SHA},
        {"pypi": "click==8", "sha256": SHA.upper()},
        {"pypi": "click==8"},
        {"pypi": "click>=8", "sha256": SHA},
        {"git": "r"},
        {"git": "--upload-pack=x", "revision": "a"},
        {"git": "r", "revision": "-x"},
        {"git": "a b", "revision": "x"},
        {"git": "r", "revision": ""},
        {"path": ""},
        {"path": 5},
        {"path": "x", "revision": "y"},
        {"pypi": "a==1;rm", "sha256": SHA},
        {"git": "r", "revision": "a;b"},
        {"pypi": "click==8\n", "sha256": SHA},
    ],
)
def test_a_malformed_source_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Source).validate_python(value)


@pytest.mark.parametrize(
    "name", ["", "A", "a_b", "-a", "a b", "a/b", "../a", "a;b", "$(x)", "a\n", "é", "a" * 65, "a.b"]
)
def test_an_id_that_could_not_name_a_file_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="id"):
        Task.model_validate(
            {
                "id": name,
                "category": "Debug",
                "prompt": "x",
                "criteria": [{"text": x} for x in "ab"],
            }
        )


def test_the_categories_are_those_of_the_protocol() -> None:
    assert [category.value for category in Category] == [
        "Exploratory",
        "Debug",
        "Change-Impact",
        "Targeted",
    ]
