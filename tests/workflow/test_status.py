import fcntl
import re
import threading
from collections import Counter
from collections.abc import Callable
from logging import ERROR, INFO, makeLogRecord
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from handmade import Bench
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import Discard, run_files
from lensbench.core.system.files import write_json
from lensbench.core.system.progress import span
from lensbench.core.tables import read_table
from lensbench.runs.validity import judge_validity
from lensbench.workflow.status import RunCounts, Status, block, line, lines
from snakemake_logger_plugin_lensbench import LogHandler
from stock import write


@pytest.fixture
def begun(bench: Callable[..., Bench]) -> Bench:
    """Of eight runs four are there: two count, one timed out, and one has another model than the rest of its pair."""
    made = bench(tasks=("a", "b"), trials=2)
    made.run("a", "with", duration_s=10.0)
    made.run("a", "without", duration_s=30.0)
    made.run("b", "with", duration_s=50.0, reason="timed_out", detail="after 50 s")
    made.run("b", "without", duration_s=20.0)
    write_json(made.folder / "plan.json", made.plan)
    return made


def test_what_is_there_is_judged_before_validity_has_run(begun: Bench) -> None:
    status = Status(begun.folder)
    assert status.counts == {"without": RunCounts(2, 0, 2, 0), "with": RunCounts(1, 1, 2, 1)}
    assert (len(status.runs), status.left) == (8, 4)


def test_a_discard_that_was_filed_is_left_until_it_is_made_again_or_given_up(begun: Bench) -> None:
    judge_validity(begun.folder)
    status = Status(begun.folder)
    assert status.counts["with"] == RunCounts(1, 1, 2, 1, 1)
    begun.run("b", "with", duration_s=40.0, started="2026-01-03T00:00:00.000Z")
    assert Status(begun.folder).counts["with"] == RunCounts(2, 0, 2, 0)
    begun.changes = {"max_rounds": 0}
    write_json(begun.folder / "plan.json", begun.plan)
    begun.run("b", "with", reason="empty", started="2026-01-04T00:00:00.000Z")
    judge_validity(begun.folder)
    assert Status(begun.folder).counts["with"] == RunCounts(1, 1, 2, 0)


def test_a_damaged_run_is_left(begun: Bench) -> None:
    run_files(begun.folder, RunId("a", "with")).answer.write_text("another")
    assert Status(begun.folder).counts["with"] == RunCounts(0, 1, 3, 1)


def test_the_line_tells_time_by_each_conditions_mean_and_what_was_spent_and_fits_a_terminal(
    begun: Bench,
) -> None:
    write_json(RunFolder(begun.folder).spent, {"runs": 4, "hours": 0.5})
    status = Status(begun.folder)
    assert line(status, 2, 2) == (
        "4/8 runs | lens: 1 valid, 1 discarded (1 to repeat), 2 left | without a server: 2 valid, 0 discarded, 2 left"
        " | 2 running | 55 s left | agents worked 30 min"
    )
    write_json(RunFolder(begun.folder).spent, {"runs": 4, "hours": 0.5, "usd": 1.5})
    assert block(status, {"a-with": "14:02:11", "b-with": "14:02:12"}, 2, 80) == [
        "4/8 runs | 2 running | 55 s left | spent $1.50",
        "  lens              1 valid, 1 discarded (1 to repeat), 2 left",
        "  without a server  2 valid, 0 discarded, 2 left",
        "  running           a-with since 14:02:11, b-with since 14:02:12",
    ]
    assert all(len(text) < 30 for text in block(status, {"a-with": "14:02:11"}, 2, 30))
    assert status.last_discard == ""  # the discard is an older one
    begun.run("b", "with", 2, reason="timed_out", detail="after\x1b[2J 50 s")
    status = Status(begun.folder, status)
    assert block(status, {}, 2, 80)[-1] == "  discarded         t2/b-with: timed_out (after 50 s)"
    (begun.folder / "spent.json").write_text("damaged")
    assert line(status, 2, 2).endswith("spent ?")


def test_time_and_cost_left_are_estimated_by_condition(bench: Callable[..., Bench]) -> None:
    made = bench(tasks=("a", "b", "c", "d"))
    write_json(made.folder / "plan.json", made.plan)
    made.run("a", "with", duration_s=100.0, cost_usd=0.5)
    assert (
        Status(made.folder).left_s(2) is None
    )  # the other one may take a tenth of it, or ten times as much
    made.run("a", "without", duration_s=10.0)
    status = Status(made.folder)
    assert (status.left_s(2), status.left_usd) == ((3 * 100 + 3 * 10) / 2, 3 * 0.5 + 3 * 0.5)
    assert line(status, 2, 2).endswith(f"{span(165)} left | agents worked 0 s, about $3.00 to come")
    made.run("b", "without", duration_s=30.0, cost_usd=0.1)
    status = Status(made.folder)
    assert (status.left_s(1), status.left_usd) == pytest.approx(
        (3 * 100 + 2 * 20, 3 * 0.5 + 2 * 0.1)
    )
    assert [*map(span, (0, 99, 100, 5999, 7500))] == [
        "0 s",
        "99 s",
        "2 min",
        "1 h 40 min",
        "2 h 05 min",
    ]


def test_time_left_counts_what_a_start_takes_beside_its_agents(
    bench: Callable[..., Bench],
) -> None:
    made = bench(tasks=("a", "b", "c", "d"))
    write_json(made.folder / "plan.json", made.plan)
    first = Status(made.folder)
    waited_s = 0.2
    threading.Event().wait(waited_s)
    for condition in ("with", "without"):
        made.run("a", condition, duration_s=0.001)
    assert (Status(made.folder, first).left_s(2) or 0) >= 6 * waited_s / 2
    assert Status(made.folder).left_s(2) == pytest.approx(6 * 0.001 / 2)


def test_a_person_sees_who_is_running_and_the_last_discards(begun: Bench) -> None:
    judge_validity(begun.folder)
    gate = begun.folder / ".gate"
    gate.mkdir()
    with (gate / "t2_a-with").open("w") as held:
        (gate / "t2_b-with").touch()
        fcntl.flock(held, fcntl.LOCK_EX)
        shown = list(lines(Status(begun.folder)))
    assert shown[0].endswith(": not running")
    assert "running now: t2/a-with" in shown
    assert shown[-1] == "discarded: b-with-1: timed_out after 50 s"


def test_an_attempt_that_stopped_everything_is_discarded_and_named_as_in_the_table(
    begun: Bench,
) -> None:
    refused = Discard("mcp_failed", "401", "runner")
    run_files(begun.folder, RunId("a", "without")).discard(refused)
    judge_validity(begun.folder)
    status = Status(begun.folder)
    assert "discarded: a-without-1: mcp_failed 401" in [*lines(status)]
    table = read_table(RunFolder(begun.folder).validity)
    discarded = Counter(row["condition"] for row in table if row["status"] == "discarded")
    shown = {condition: count.discarded for condition, count in status.counts.items()}
    assert shown == discarded == {"with": 1, "without": 1}


@pytest.mark.parametrize("is_stdout", [False, True])
def test_the_logger_writes_to_the_stream_that_snakemake_was_told(
    capsys: pytest.CaptureFixture[str], is_stdout: bool
) -> None:
    names = ("nocolor", "quiet", "dryrun", "verbose", "debug_dag")
    told: Any = SimpleNamespace(stdout=is_stdout, **dict.fromkeys(names))
    handler = LogHandler(told, None)
    handler.emit(makeLogRecord({"msg": "no such rule", "levelno": ERROR}))
    handler.close()
    said = capsys.readouterr()
    assert ("no such rule" in said.out, "no such rule" in said.err) == (is_stdout, not is_stdout)


def test_the_logger_shows_the_last_line_in_a_file_and_an_error_unless_everything_was_stopped_for_it(
    begun: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: Any = SimpleNamespace(
        nocolor=True, **dict.fromkeys(("stdout", "quiet", "dryrun", "verbose", "debug_dag"))
    )
    began = {
        "event": LogEvent.JOB_INFO,
        "levelno": INFO,
        "jobid": 1,
        "output": [f"{begun.folder}/runs/a-with.md"],
        "wildcards": {"trial": "", "task": "a", "condition": "with"},
    }

    def said(message: str, **event: Any) -> str:
        handler = LogHandler(told, None)
        for record in (began, {"msg": message, "levelno": ERROR, **event}):
            handler.emit(makeLogRecord(record))
        handler.close()
        return capsys.readouterr().err

    failed = {"event": LogEvent.JOB_ERROR, "jobid": 1, "log": ["a-with.log"]}
    monkeypatch.chdir(write(begun.folder, {"a-with.log": "error: no credit", "my.yaml": "a: ["}))
    assert re.fullmatch(
        r"Error in rule run\n20\S+Z 4/8 runs \| .*\n", said("Error in rule run", **failed)
    )
    RunFolder(begun.folder).stopped.write_text("no credit")
    assert re.fullmatch(r"20\S+Z 4/8 runs \| .*\n", said("Error in rule run", **failed))
    assert said("Error in rule run", **{**failed, "log": []}).startswith("Error in rule run\n")
    monkeypatch.setattr("sys.argv", ["snakemake", "--configfile", "my.yaml"])
    wanted = r"error: my.yaml:2: is not valid YAML.*\n20\S+Z 4/8 runs \| .* \| 1 running \| .*\n"
    assert re.fullmatch(wanted, said("Config file is not valid JSON or YAML"))
