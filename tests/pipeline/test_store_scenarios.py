"""No attempt that counts is asked for again, whatever is forced, deleted or killed. Other times: test_repeating.py.

Agents are counted by the fake agent's own ledger, which lensbench does not write.
"""

import json
import os
import shutil
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller
from typing import NamedTuple

import pytest

from lensbench.core.run_folder import RunFolder
from small_benchmark import RUNS, Project

FOUR = ["anna-with", "anna-without", "bert-with", "bert-without"]
BAD = {"reason": "by_hand", "detail": "x", "by": "person", "score": ""}


class Start(NamedTuple):
    """What a person does, the start after it, and the agents that it asks."""

    change: Callable[[Project], object]
    agents: Sequence[str] = ()
    options: Sequence[str] = RUNS
    fails: bool = False


def delete(*names: str) -> Callable[[Project], None]:
    def change(project: Project) -> None:
        for name in names:
            path = project.bench / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return change


def discard(stem: str) -> Callable[[Project], object]:
    return lambda project: (project.attempt(stem) / "discard.json").write_text(json.dumps(BAD))


def mark_unfinished(project: Project) -> None:
    mark = urlsafe_b64encode(b"bench/r/runs/anna-with.md").decode()
    (project.folder / ".snakemake" / "incomplete" / mark).write_text("{}")


def date_ahead(project: Project) -> None:
    tomorrow = time.time() + 86400
    for path in project.folder.rglob("*"):
        os.utime(path, (tomorrow, tomorrow), follow_symlinks=False)


def both(*changes: Callable[[Project], object]) -> Callable[[Project], None]:
    return lambda project: [change(project) for change in changes] and None


def third(project: Project) -> None:
    conditions = {"without": {}, "with": {"mcp": "mcp.json"}, "other": {"mcp": "mcp.json"}}
    project.configure(conditions=conditions, accept_changes=True)


def block(project: Project) -> None:
    """Makes one run's job fail: no attempt of it can be stored."""
    (project.bench / "attempts").mkdir(parents=True)
    (project.bench / "attempts" / "anna-with").touch()


configure, behave, write_tasks = (
    partial(methodcaller, name) for name in ("configure", "behave", "write_tasks")
)
nothing, forget_snakemake = both(), delete("../../.snakemake")
SCENARIOS: dict[str, list[Start]] = {
    "forced": [Start(nothing, options=["-F", *RUNS])],
    "touched": [
        Start(nothing, options=["--touch"]),
        Start(nothing, options=["--touch", "-F"]),
        Start(nothing),
    ],
    "all output deleted": [Start(nothing, options=["--delete-all-output"]), Start(nothing)],
    "times in the future": [
        Start(date_ahead),
        Start(both(date_ahead, discard("anna-with")), ["anna-with"]),
    ],
    "a view edited, another marked as unfinished, the journal deleted": [
        Start(
            both(
                mark_unfinished,
                lambda project: (project.bench / "runs" / "bert-with.md").write_text("x"),
            )
        ),
        Start(delete("attempts/made-1.csv")),
    ],
    "the plan deleted, settings changed": [
        Start(both(delete("plan.json"), configure({"timeout_s": 9})), fails=True)
    ],
    "everything but the store deleted, a discard without Snakemake's memory": [
        Start(
            both(
                delete("runs", "plan.json", "validity.csv", ".checked", ".checksums"),
                forget_snakemake,
            )
        ),
        Start(both(discard("anna-with"), forget_snakemake), ["anna-with"]),
    ],
    "a condition added": [
        Start(third, ["anna-with", "bert-with"])
    ],  # the ledger knows servers, not conditions
    "a task added while a discard waits": [
        Start(
            both(discard("anna-with"), write_tasks(("anna", "bert", "carl"))),
            ["anna-with", "carl-with", "carl-without"],
        )
    ],
}


WAVES = {"looks": 2, "over": "trials"}
FROM_THE_FIRST_START: dict[str, list[Start]] = {
    "always bad: given up and shown": [
        Start(both(configure(discards={"max_rounds": 2}), behave(anna_with="empty")), FOUR),
        Start(nothing, ["anna-with"]),
        Start(nothing, ["anna-with"]),
        Start(delete("runs/anna-with.md")),
    ],
    "a job that fails, and a discard": [
        Start(
            both(block, behave(bert_with="empty")),
            [stem for stem in FOUR if stem != "anna-with"],
            fails=True,
        ),
        Start(both(delete("attempts/anna-with"), behave()), ["anna-with", "bert-with"]),
    ],
    "waves": [
        Start(configure(trials=2, gate=WAVES), FOUR * 2, []),
        Start(
            both(
                delete("runs/anna-with.md", "runs/t2/bert-with.md", "looks"),
                discard("t2/anna-with"),
            ),
            ["anna-with"],
            [],
        ),
        Start(nothing, options=["-F", *RUNS]),
    ],
}


def follow(project: Project, starts: Sequence[Start]) -> None:
    for number, start in enumerate(starts, 1):
        project.clear_ledger()
        start.change(project)
        output = project.start(*start.options, fails=start.fails)
        assert project.ledger() == sorted(start.agents), f"start {number}: {output}"


@pytest.mark.parametrize("name", SCENARIOS)
def test_only_what_does_not_count_is_asked_for(finished: Project, name: str) -> None:
    follow(finished, SCENARIOS[name])


@pytest.mark.parametrize("name", FROM_THE_FIRST_START)
def test_from_the_first_start_on_no_answer_that_counts_is_asked_for_twice(
    project: Project, name: str
) -> None:
    follow(project, FROM_THE_FIRST_START[name])
    assert [
        row for row in project.table("validity") if row["status"] != "valid" and not row["given_up"]
    ] == []
    assert project.is_idle(*RUNS)


PHASES = {
    "between answer and record": ("runs/attempt.py", "        if tried.record.patch_sha256:\n"),
    "between store and view": ("runs/run.py", "        show(job.folder, job.run)\n    return f"),
    "between view and bookkeeping": ("runs/run.py", '    return f"{last.reason'),
    "in validity": ("runs/validity.py", "    write_table(RunFolder(folder).validity"),
    "before the hook": ("workflow/start.py", "    withdraw(schedule.folder, schedule.runs"),
}
"""The statement before which Snakemake and the job are killed, once each, in the order in which starts reach them."""


DIE = """
import os, pathlib
def die(phase):
    once = pathlib.Path({control!r}, phase)
    if not once.exists():
        once.touch()
        is_job = b"lensbench." in pathlib.Path("/proc/self/cmdline").read_bytes()
        for pid in (os.getppid(), os.getpid())[not is_job :]:
            os.kill(pid, 9)
"""


def test_after_a_kill_at_each_phase_the_next_start_buys_only_what_was_not_finished(
    project: Project,
) -> None:
    scripts = project.copy_program() / "scripts"
    (scripts / "die.py").write_text(DIE.format(control=str(project.control)))
    for phase, (name, statement) in PHASES.items():
        program = scripts / "lensbench" / name
        text = program.read_text()
        indent = " " * (len(statement) - len(statement.lstrip()))
        assert statement in text
        program.write_text(
            text.replace(statement, f"{indent}__import__('die').die({phase!r})\n{statement}")
        )
    project.behave(bert_with=["empty", "empty", "answer"])
    bought = {}
    for phase in PHASES:
        process = project.begin(*RUNS, cores=1)
        output, _ = process.communicate(timeout=120)
        assert (process.returncode, (project.control / phase).exists()) == (-9, True), output
        bought[phase] = project.ledger()
    (first,) = bought["between answer and record"]
    assert bought["between store and view"] == [first, first], "its answer had no record"
    assert len(bought["between view and bookkeeping"]) == 3
    assert bought["in validity"] == sorted([*FOUR, first])
    assert bought["before the hook"] == sorted([*FOUR, first, "bert-with"]), (
        "what validity has discarded"
    )
    project.start(*RUNS)
    project.start()
    assert project.ledger() == sorted([*FOUR, first, "bert-with", "bert-with"])
    assert project.reasons() == {}
    assert RunFolder(project.bench).results.exists()
    assert "Nothing to be done" in project.start("-n")


def test_two_starts_at_once_ask_each_agent_once(project: Project) -> None:
    starts = [project.begin(*RUNS), project.begin(*RUNS)]
    for start in starts:
        start.communicate(timeout=300)
    assert sorted(start.returncode for start in starts) == [0, 2]
    assert project.ledger() == FOUR
    assert project.is_idle(*RUNS)
