"""What takes long says how far it is: in a file a line from time to time, on a terminal one line in place."""

import os
import sys
import threading
from subprocess import PIPE, Popen

import pytest

from lensbench.core.system import progress
from lensbench.core.system.progress import Progress, fitted, say, step
from terminal import drawn_on, open_terminal

ON_A_TERMINAL = """
import sys, threading
from lensbench.core.system import progress
progress.REDRAWN_S = 0.02
with progress.Progress("packing " + "x" * 90):
    threading.Event().wait(0.3)
    progress.say("found a file")
    progress.step("writing", 3, 12)
    threading.Event().wait(0.3)
print("written")
"""


def test_a_file_gets_a_line_after_a_while_and_then_one_from_time_to_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SILENCE_S", 0.05)
    monkeypatch.setattr(progress, "EVERY_S", 0.05)
    with Progress("reading the repository"):
        threading.Event().wait(0.2)
        step("trying a-exp-01", 0, 4)
        threading.Event().wait(0.2)
        step("trying a-exp-02", 1, 4)
        threading.Event().wait(0.2)
        say("a-exp-02: good")
    said = capsys.readouterr()
    assert said.out == "a-exp-02: good\n"
    lines = said.err.splitlines()
    assert lines[0] == "reading the repository | 0 s"
    assert "0/4 | trying a-exp-01 | 0 s" in lines
    starts = ("1/4 | trying a-exp-02 | 0 s, about ", "1/4 | trying a-exp-02 | 1 s, about ")
    assert [line for line in lines if line.startswith(starts)]


def test_what_is_quick_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with Progress("reading") as shown:
        shown.now("writing", 1, 2)
    assert capfd.readouterr() == ("", "")
    step("nothing is shown any more", 1, 2)
    assert "nothing" not in shown.line()


@pytest.mark.parametrize(
    ("done", "usd", "end"),
    [
        (0, 0.0, " | 0 s"),
        (0, 0.5, " | 0 s | spent $0.50"),
        (3, 0.5, " | spent $0.50, about $1.50 to come"),
        (12, 2.0, " | 0 s | spent $2.00"),
    ],
)
def test_dollars_to_come_follow_from_what_is_done(done: int, usd: float, end: str) -> None:
    shown = Progress("trying", lambda: usd)
    shown.now("trying", done, 12)
    assert shown.line().startswith(f"{done}/12 | trying | 0 s")
    assert shown.line().endswith(end)


def test_a_line_is_cut_to_the_terminals_width_and_speaks_no_control_sequences() -> None:
    assert fitted("abc", 4) == "abc"
    assert fitted("abcd", 4) == "ab…"
    assert "\x1b" not in fitted("a\x1b[2Jb", 80)


def test_a_terminal_has_one_line_that_is_rewritten_and_gone_at_the_end() -> None:
    ours, theirs = open_terminal(80)
    process = Popen(
        [sys.executable, "-c", ON_A_TERMINAL],
        stdout=PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    written = drawn_on(ours)
    out, _ = process.communicate(timeout=60)
    assert out == b"found a file\nwritten\n"
    drawn = written.split("\r\x1b[K")
    assert "\n" not in written
    assert all(len(line) < 80 for line in drawn)
    assert any(line.startswith("packing xxx") and line.endswith("…") for line in drawn)
    assert any(line.startswith("3/12 | writing | ") for line in drawn)
    assert drawn[-1] == ""
