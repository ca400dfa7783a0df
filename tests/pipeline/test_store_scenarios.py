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
from small_benchmark import CHECKOUT, RUNS, Project

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


def find_cluster(project: Project) -> None:
    (project.folder / "profiles").symlink_to(CHECKOUT / "profiles")


configure, behave, write_tasks = (partial(methodcaller, name) for name in ("configure", "behave", "write_tasks"))
nothing, forget_snakemake = both(), delete("../../.snakemake")
SCENARIOS: dict[str, list[Start]] = {
    "forced": [Start(nothing, options=["-F"]), Start(nothing, options=["-R", "run", *RUNS])],
    "touched": [Start(nothing, options=["--touch"]), Start(nothing, options=["--touch", "-F"]), Start(nothing)],
    "all output deleted": [Start(nothing, options=["--delete-all-output"]), Start(nothing)],
    "times in the future": [Start(date_ahead), Start(both(date_ahead, discard("anna-with")), ["anna-with"])],
    "a view edited": [Start(lambda project: (project.bench / "runs" / "anna-with.md").write_text("x"))], "marked as unfinished": [Start(mark_unfinished)],
    "the journal deleted": [Start(delete("attempts/made-1.csv"))],
    "the plan deleted, settings changed": [Start(both(delete("plan.json"), configure({"timeout_s": 9})), fails=True)],
    "everything but the store deleted": [
        Start(both(delete("runs", "plan.json", "validity.csv", ".checked", ".checksums"), forget_snakemake))
    ],
    "discarded, Snakemake's memory lost": [Start(both(discard("anna-with"), forget_snakemake), ["anna-with"])],
    "a condition added": [Start(third, ["anna-with", "bert-with"])],  # the ledger knows servers, not conditions
    "a task added while a discard waits": [
        Start(both(discard("anna-with"), write_tasks(("anna", "bert", "carl"))), ["anna-with", "carl-with", "carl-without"])
    ],
}  # fmt: skip


WAVES = {"looks": 2, "over": "trials"}
CLUSTER = ["--workflow-profile", "profiles/cluster", *RUNS]
FROM_THE_FIRST_START: dict[str, list[Start]] = {
    "always bad: given up and shown": [
        Start(both(configure(discards={"max_rounds": 2}), behave(anna_with="empty")), FOUR),
        Start(nothing, ["anna-with"]), Start(nothing, ["anna-with"]), Start(delete("runs/anna-with.md")),
    ],
    "a job that fails, and a discard": [
        Start(both(block, behave(bert_with="empty")), [stem for stem in FOUR if stem != "anna-with"], fails=True),
        Start(both(delete("attempts/anna-with"), behave()), ["anna-with", "bert-with"]),
    ],
    "waves": [
        Start(configure(trials=2, gate=WAVES), FOUR * 2, []),
        Start(delete("runs/anna-with.md", "runs/t2/bert-with.md", "looks"), options=[]),
        Start(discard("t2/anna-with"), ["anna-with"], []), Start(nothing, options=["-F"]),
    ],
    "on a cluster": [
        Start(both(find_cluster, behave(anna_with="empty")), FOUR, CLUSTER), Start(behave(), ["anna-with"], CLUSTER),
        Start(delete("runs/bert-with.md"), options=[*CLUSTER, "-F"]),
    ],
}  # fmt: skip


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
def test_from_the_first_start_on_no_answer_that_counts_is_asked_for_twice(project: Project, name: str) -> None:
    follow(project, FROM_THE_FIRST_START[name])
    project.start()
    assert [row for row in project.table("validity") if row["status"] != "valid" and not row["given_up"]] == []
    assert "Nothing to be done" in project.start("-n")


PHASES = {
    "between answer and record": ("runs/run.py", "            if tried.record.patch_sha256:\n", 1),
    "between store and view": ("runs/run.py", "        show(job.folder, job.run)\n    return f", 0),
    "between view and bookkeeping": ("runs/run.py", '    return f"{last.reason', 0),
    "in validity": ("runs/validity.py", "    write_table(RunFolder(folder).validity", 0),
    "before the hook": ("workflow/start.py", "    withdraw(schedule.folder, schedule.runs", 1),
}
"""The statement before which Snakemake and the job are killed, and how many answers are bought twice."""


DIE = """
import os, pathlib
def die():
    if not os.path.exists({once!r}):
        pathlib.Path({once!r}).touch()
        is_job = b"lensbench." in pathlib.Path("/proc/self/cmdline").read_bytes()
        for pid in (os.getppid(), os.getpid())[not is_job :]:
            os.kill(pid, 9)
"""


@pytest.mark.parametrize("phase", PHASES)
def test_after_a_kill_at_any_phase_the_next_start_buys_only_what_was_not_finished(project: Project, phase: str) -> None:
    name, statement, twice = PHASES[phase]
    scripts = project.copy_program() / "scripts"
    (scripts / "die.py").write_text(DIE.format(once=str(project.control / "once")))
    program = scripts / "lensbench" / name
    text, indent = program.read_text(), " " * (len(statement) - len(statement.lstrip()))
    assert statement in text
    program.write_text(text.replace(statement, f"{indent}__import__('die').die()\n{statement}"))
    behaviour = ["empty", "answer"] if phase == "before the hook" else "answer"
    project.behave(anna_with=behaviour)
    process = project.begin(cores=1)
    process.communicate(timeout=120)
    assert process.returncode == -9
    if twice:  # the one before the hook has a discard, which the start after it repeats
        project.start(*RUNS)
    project.start()
    ledger = project.ledger()
    assert (set(ledger), len(ledger)) == (set(FOUR), 4 + twice)
    assert project.reasons() == {}
    assert RunFolder(project.bench).results.exists()
    assert "Nothing to be done" in project.start("-n")


def test_two_starts_at_once_ask_each_agent_once(project: Project) -> None:
    starts = [project.begin(), project.begin()]
    for start in starts:
        start.communicate(timeout=300)
    assert sorted(start.returncode for start in starts) == [0, 1]
    assert project.ledger() == FOUR
    assert "Nothing to be done" in project.start()
