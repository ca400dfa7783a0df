"""What Snakemake says while it runs: one line, and what must not be missed."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from contextlib import suppress

from conftest import Project

END = "4/4 runs | with: 2 valid, 0 discarded, 0 left | without: 1 valid, 1 discarded, 0 left | 0 running | spent "
NOISE = ("Building DAG", "jobid", "localrule", " steps (", "Job stats", "Select jobs", "Shell command")


def on_a_terminal(project: Project, columns: int) -> str:
    """What Snakemake writes to a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = project.begin(output=theirs, env={"TERM": "xterm"})
    os.close(theirs)
    said = b""
    with suppress(OSError):  # how a terminal ends
        while part := os.read(ours, 1 << 16):
            said += part
    os.close(ours)
    assert process.wait(60) == 0
    return said.decode()


def test_a_file_gets_a_line_with_its_time_and_none_of_snakemakes(project: Project) -> None:
    project.behave(bert_without="crash")
    lines = project.start().splitlines()
    last = next(line for line in reversed(lines) if "running" in line)
    assert END in last
    assert last.startswith("20")
    assert not [line for line in lines if any(word in line for word in NOISE)]
    assert lines.index(last) < next(n for n, line in enumerate(lines) if line.startswith("1 runs discarded"))
    log = next((project.folder / ".snakemake" / "log").iterdir()).read_text()
    assert "Building DAG" in log
    assert "jobid: " in log or "Job 1" in log

    again = project.start("--verbose")
    assert "Building DAG" in again
    assert "steps (" in again
    assert "Nothing to be done" not in again


def test_a_terminal_has_one_line_that_is_rewritten_and_fits(project: Project) -> None:
    project.behave(bert_without="crash")
    said = on_a_terminal(project, 0)  # as where nobody told its width: it counts as 80
    drawn = [part.partition("\r\n")[0] for part in said.split("\r\x1b[K")]
    assert max(len(part) for part in drawn if "/4 " in part) < 80
    assert any(part.startswith("4/4 valid/discarded/left: with 2/0/0 without 1/1/0; 0 running, ") for part in drawn)
    assert "\r\ndeciding which runs count\r\n" in said
    assert len([line for line in said.split("\r\n") if "/4 valid/discarded/left" in line]) == 2
    assert "1 runs discarded" in said.rpartition("\r\x1b[K")[2]


def test_an_error_is_shown_with_its_log_below_it(project: Project) -> None:
    project.configure({"kind": "command", "command": ["sh", "-c", "true"], "timeout_s": 60})
    project.start(target="bench/r/repositories.json")
    plan = project.bench / "repositories.json"
    plan.write_text(plan.read_text().replace("tree_sha256", "tree_sha257"))
    (project.bench / ".checksums").unlink()
    said = project.start("--quiet", fails=True, target="bench/r/runs/anna-with.md")
    assert "Error in rule run" not in said
    said = project.start(fails=True, target="bench/r/runs/anna-with.md")
    assert "Error in rule run" in said
    assert "KeyError" in said
    assert not [word for word in NOISE[:1] if word in said]
