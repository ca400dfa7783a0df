"""Wrong copies of tests: one for each value that an assertion has."""

import pytest

from lensbench.changes.other_values import MOST_VARIANTS, variants
from lensbench.changes.syntax import Edit

ONE = Edit(0, 1, "x")
OTHER = Edit(4, 6, "y")
INSERTION = Edit(2, 2, "z")


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        ([], []),
        ([ONE], [[ONE]]),
        ([ONE, OTHER], [[ONE], [OTHER]]),
        ([ONE] * (MOST_VARIANTS + 1), [[ONE]] * MOST_VARIANTS),
        ([ONE, INSERTION], [[ONE, INSERTION]]),
        ([INSERTION], [[INSERTION]]),
    ],
)
def test_each_value_is_changed_alone_and_an_insertion_with_all(
    edits: list[Edit], wanted: list[list[Edit]]
) -> None:
    assert variants(edits) == wanted
