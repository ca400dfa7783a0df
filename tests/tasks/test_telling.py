"""Descriptions lose the sentences that tell the fix, and those that say nothing about the behaviour."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench_tasks.changes.telling import is_small, without_chaff, without_the_fix

CASES = yaml.safe_load(Path(__file__).with_name("telling.yaml").read_text(encoding="utf-8"))


def patch_of(removed: list[str], added: list[str]) -> str:
    lines = [*(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    return "\n".join(
        ["--- a/a.py", "+++ b/a.py", "@@ -1,3 +1,3 @@", " before", *lines, " after", ""]
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:40])
def test_a_sentence_that_tells_the_fix_goes_or_the_task_is_told(case: dict[str, Any]) -> None:
    reference = patch_of(case["removed"], case["added"])
    found = without_the_fix(case["text"], reference, case.get("needed", ()))
    assert found == (case["left"], case["told"])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "Totals are exact.\n\nIncludes doctests, tests (two) and a changelog entry.",
            "Totals are exact.",
        ),
        (
            "Totals are exact.\n\nIncludes doctests, tests (one,\ntwo), and a changelog entry under unreleased 2.1.",
            "Totals are exact.",
        ),
        ("Totals are exact. Adds test_total and test_empty.", "Totals are exact."),
        ("Totals are exact. [](https://example.invalid/1)", "Totals are exact."),
        (
            "Adds tests for empty baskets, which have no total.",
            "Adds tests for empty baskets, which have no total.",
        ),
        (
            "Add a total. Add an option for tests of speed.",
            "Add a total. Add an option for tests of speed.",
        ),
    ],
)
def test_sentences_without_behaviour_go(text: str, left: str) -> None:
    assert without_chaff(text) == left


@pytest.mark.parametrize(
    ("removed", "added", "small"),
    [(["a"], ["b"], True), (["a"] * 2, ["b"] * 2, True), (["a"] * 2, ["b"] * 3, False)],
)
def test_a_reference_of_one_place_and_few_lines_is_small(
    removed: list[str], added: list[str], small: bool
) -> None:
    assert is_small(patch_of(removed, added)) is small


def test_a_reference_of_two_places_is_not_small() -> None:
    assert not is_small(patch_of(["a"], ["b"]) + patch_of(["a"], ["b"]))
