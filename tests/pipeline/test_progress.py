"""What Snakemake says while it runs: one line, and what must not be missed."""

import os

from small_benchmark import RUNS, Project
from terminal import drawn_on, open_terminal

END = "4/4 runs | fake: 2 valid, 0 discarded, 0 left | without a server: 1 valid, 1 discarded (1 to repeat), 0 left | 0 running | agents worked "
NOISE = (
    "Building DAG",
    "jobid",
    "localrule",
    " steps (",
    "Job stats",
    "Select jobs",
    "Shell command",
)


def test_a_file_gets_a_line_with_its_time_and_none_of_snakemakes(project: Project) -> None:
    project.behave(bert_without="crash")
    lines = project.start().splitlines()
    last = next(line for line in reversed(lines) if "running" in line)
    assert END in last
    assert last.startswith("20")
    assert not [line for line in lines if any(word in line for word in NOISE)]
    assert lines.index(last) < next(
        n for n, line in enumerate(lines) if line.startswith("1 run discarded")
    )
    log = next((project.folder / ".snakemake" / "log").iterdir()).read_text()
    assert "Building DAG" in log
    assert "jobid: " in log or "Job 1" in log

    again = project.start("--verbose", *RUNS)
    assert "Building DAG" in again
    assert "steps (" in again
    assert "Nothing to be done" not in again


def test_a_terminal_has_a_few_lines_that_are_rewritten_and_fit(project: Project) -> None:
    project.behave(bert_without="crash")
    ours, theirs = open_terminal(0)  # counts as 80
    process = project.begin(output=theirs, env={"TERM": "xterm"})
    os.close(theirs)
    said = drawn_on(ours)
    assert process.wait(60) == 0
    drawn = [part.partition("\r\ndeciding")[0].split("\r\n") for part in said.split("\r\x1b[J")[1:]]
    assert (
        max(len(line) for part in drawn for line in part if "/4 runs" in line or " left" in line)
        < 80
    )
    last = next(part for part in reversed(drawn) if part[0].startswith("4/4 runs | 0 running | "))
    assert {
        "  fake              2 valid, 0 discarded, 0 left",
        "  without a server  1 valid, 1 discarded (1 to repeat), 0 left",
    } <= set(last)
    assert any(
        line.startswith("  discarded         bert-without: ") for part in drawn for line in part
    )
    assert any(
        line.startswith("  running           ") and " since " in line
        for part in drawn
        for line in part
    )
    assert said.count("4/4 runs | 0 running") == 1
    assert "\r\ndeciding which runs count\r\n" in said
    assert "1 run discarded" in said.rpartition("\r\x1b[J")[2]
