"""A command's output as a moving picture."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools" / "docs"))

from recording import COLUMNS, Shown, folded, picture, record, shown


def test_a_line_that_is_written_again_changes_at_its_time_and_pauses_are_cut() -> None:
    printed = [(0.5, "a\n1 of 2"), (20.0, "\r\x1b[K2 of 2"), (20.2, "\ndone\r\n")]
    assert [each._replace(at_s=round(each.at_s, 1)) for each in shown(printed)] == [
        Shown(0, 0.5, "a"),
        Shown(1, 0.5, "1 of 2"),
        Shown(1, 1.5, "2 of 2"),
        Shown(2, 1.7, "done"),
    ]


def test_lines_are_written_anew_where_a_program_moves_up() -> None:
    printed = [(0.1, "1 of 2\n  a\n"), (0.2, "\x1b[2A\x1b[J2 of 2\n  b\n"), (0.3, "done")]
    last = {each.line: each.text for each in shown(printed)}
    assert last == {0: "2 of 2", 1: "  b", 2: "done"}


def test_a_long_line_is_folded_and_moves_the_next_ones_down() -> None:
    long = "x" * (COLUMNS + 1)
    assert folded([Shown(0, 0, long), Shown(1, 1, "end")]) == [
        Shown(0, 0, "x" * COLUMNS),
        Shown(1, 0, "x"),
        Shown(2, 1, "end"),
    ]


def test_the_picture_of_a_real_command_shows_its_text_and_only_the_last_of_a_line_stays() -> None:
    script = "import sys; sys.stdout.write('<1>\\r'); sys.stdout.flush(); print('<2>')"
    lines = folded([*shown(record([sys.executable, "-c", script]))])
    root = ET.fromstring(picture("make it", lines))
    groups = root.findall("{*}g")
    texts = ["".join(group.itertext()) for group in groups]
    assert texts[-1] == "<2>"
    assert groups[-1].get("class") is None
    assert {group.get("class") for group in groups[:-1]} <= {"gone"}
    assert root.findtext("{*}title") == "make it"
