"""The soak's accounts find what is lost, doubled or wrongly counted: they are compared with the service's own truth."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handmade import Bench
from lensbench.core.records import RunId, from_json, sha256, to_json
from lensbench.runs.stopping import start_attempt

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from soaking.accounts import settle
from soaking.chaos import Disruption
from soaking.injector import FAULTS, MODEL, Attempt, Injector

RUNS = [RunId("t-0", "with"), RunId("t-0", "without")]
ENDS_AT_START = next(fault for fault in FAULTS if fault.server == "--exit")
Truth = tuple[Bench, Injector]


def attempt(place: str, condition: str, at: float = 10.0, **facts: Any) -> Attempt:
    """An attempt that was given the answer named after its place."""
    made = Attempt(
        place,
        "t-0",
        condition,
        at,
        None,
        1,
        0,
        given=sha256(place.encode()),
        given_at=at + 1,
        model=MODEL,
        was_found=True,
    )
    return replace(made, **facts)


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    """Two runs that count, as the service saw them."""
    bench = Bench(tmp_path / "bench", tasks=("t-0",))
    injector = Injector(1, 0, tmp_path / "journal")
    for place, condition, points in (("lb-w", "with", ("1", "1")), ("lb-o", "without", ("1", "0"))):
        bench.run("t-0", condition, points=points, answer=place)
        record = bench.folder / "attempts" / f"t-0-{condition}" / "1" / "record.json"
        record.write_text(
            to_json(replace(from_json(record.read_text()), workspace=f"/tmp/{place}/repo"))
        )
        injector.attempts[place] = attempt(place, condition)
    bench.build()
    count_attempts(bench.folder, 2)
    return bench, injector


def count_attempts(folder: Path, number: int) -> None:
    for _ in range(number):
        start_attempt(folder)


def found(
    truth: Truth, *disruptions: Disruption, stood: tuple[str, ...] = ()
) -> tuple[int, int, int]:
    """How many are lost, doubled and wrongly counted."""
    bench, injector = truth
    accounts = settle(bench.folder, RUNS, injector, disruptions, set(stood))
    return len(accounts.lost), len(accounts.doubled), len(accounts.wrongly_counted)


def test_all_is_well(truth: Truth) -> None:
    assert found(truth, stood=("lb-w", "lb-o")) == (0, 0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"given": ""},
        {"given": sha256(b"else")},
        {"fault": ENDS_AT_START, "injected": True},
        {"was_found": False},
    ],
    ids=["model", "cut off", "another text", "no server", "no answer of the server"],
)
def test_an_answer_that_must_not_count(change: dict[str, Any], truth: Truth) -> None:
    attempts = truth[1].attempts
    attempts["lb-w"] = replace(attempts["lb-w"], **change)
    assert found(truth) == (0, 0, 1)


def test_an_answer_bought_twice_is_doubled_unless_its_run_was_killed(truth: Truth) -> None:
    truth[1].attempts["lb-a"] = attempt("lb-a", "with", at=5.0)
    assert found(truth) == (0, 1, 0)
    assert found(truth, Disruption(7.0, 7.0, frozenset({"t-0-with"}))) == (0, 0, 0)
    assert found(truth, Disruption(7.0, 7.0, frozenset({"t-0-without"}))) == (0, 1, 0)
    assert found(truth, Disruption(11.0, 12.0, frozenset({"t-0-with"}))) == (0, 1, 0)
    assert found(truth, Disruption(7.0, 7.0, frozenset(), hits_all=True)) == (0, 0, 0)


def test_a_finished_answer_that_is_gone_and_a_run_without_one_are_lost(truth: Truth) -> None:
    truth[1].attempts["lb-a"] = attempt("lb-a", "with", at=5.0)
    killed = Disruption(7.0, 7.0, frozenset({"t-0-with"}))
    assert found(truth, killed, stood=("lb-a",)) == (1, 0, 0)
    (truth[0].folder / "attempts/t-0-with/1/record.json").unlink()
    assert found(truth)[0] == 1


def test_figures_that_do_not_fit_count_as_wrong(truth: Truth) -> None:
    folder = truth[0].folder
    (folder / "spent.json").unlink()
    count_attempts(folder, 1)
    timing = folder / "runs" / "timing.csv"
    timing.write_text(timing.read_text().replace("t-0,with,10", "t-0,with,11"))
    assert found(truth) == (0, 0, 2)
