"""What a treatment's request has that the baseline's lacks."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.request_differences import differences

ROWS = yaml.safe_load(
    Path(__file__).with_name("request_differences.yaml").read_text(encoding="utf-8")
)


BASE = {"model": "m", "tools": [{"name": "Read"}, {"name": "Bash"}], "system": "one\ntwo\n"}


@pytest.mark.parametrize(("change", "lines"), ROWS)
def test_a_changed_part_is_named_with_its_place(change: dict[str, Any], lines: list[str]) -> None:
    assert [part.line for part in differences(BASE, {**BASE, **change})] == lines


def test_a_key_that_is_missing_is_a_part_that_was_removed() -> None:
    assert [part.line for part in differences({"a": 1, "b": 2}, {"a": 1})] == ["- b: 2"]


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(documents, documents)
def test_documents_have_no_difference_exactly_when_they_are_the_same(one: Any, two: Any) -> None:
    is_same = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert (not list(differences(one, two))) == is_same


@given(st.lists(documents, max_size=6), documents, st.integers(0, 6))
def test_an_entry_that_is_put_into_a_list_removes_nothing(
    entries: list[Any], new: Any, place: int
) -> None:
    longer = [*entries[:place], new, *entries[place:]]
    assert [part.is_added for part in differences(entries, longer)] == [True]
