"""Scales, axes and elements of drawings."""

import itertools
import math
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.results.charts import Scale, element, named, tick_label

NUMBERS = st.floats(-1e4, 1e4)


@given(NUMBERS, st.floats(1e-3, 1e9), st.integers(2, 12))
def test_ticks_are_about_as_many_as_wanted_and_lie_on_the_scale(
    low: float, width: float, about: int
) -> None:
    scale = Scale(low, low + width, 0, 500)
    ticks = scale.ticks(about)
    most = math.sqrt(2.5)  # by which the nearest of 1, 2 and 5 differs from a step
    assert about / most - 1 <= len(ticks) <= most * about + 1
    assert all(-1 <= scale.at(tick) <= 501 for tick in ticks)
    gaps = [after - before for before, after in itertools.pairwise(ticks)]
    assert all(math.isclose(gap, gaps[0], rel_tol=1e-3) for gap in gaps)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0.5, "0.5"),
        (0.1 + 0.2, "0.3"),
        (-20, "\u221220"),
        (0, "0"),
        (1500, "1.5k"),
        (2e6, "2M"),
        (3e10, "30G"),
    ],
)
def test_a_tick_is_written_short_and_with_a_real_minus(value: float, label: str) -> None:
    assert tick_label(value) == label


def test_numbers_have_two_decimals_and_no_negative_zero() -> None:
    assert (
        element("rect", x=1 / 3, y=-0.001, width=1234.5) == '<rect x="0.33" y="0" width="1234.5"/>'
    )


@given(st.text())
def test_any_text_can_stand_in_a_drawing_and_is_text(text: str) -> None:
    root = ElementTree.fromstring(named("text", text, fill_opacity=None, **{"class": text}))
    assert len(root) == 0
    assert (root.text or "") == "".join(
        letter if letter.isprintable() else "\ufffd" for letter in text
    )
    assert root.attrib == {"class": root.text or ""}
