"""The account of error: what looks spend, and that a damaged one gives no verdict."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gate_settings import DEFAULTS
from handmade import file_discard
from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import plain, write_json
from lensbench.runs.reasons import DiscardReason
from lensbench.scores.account import (
    Draw,
    LookInput,
    SeenPair,
    draw,
    draw_all,
    note,
    number_of,
    read_ledger,
    shown_before,
)
from lensbench.scores.estimates import write_estimates
from lensbench.scores.sequential import HIGHEST, SHARE, boundaries, even_fractions, level_of

Make = Callable[..., Any]


Seen = dict[str, SeenPair]


def pairs(count: int, delta: str = "0.1", runs: str = "") -> Seen:
    """Some pairs, a task each."""
    return {f"t{number}/1": SeenPair(delta, (f"{runs}{number}",)) for number in range(count)}


def asked(seen: Seen, fraction: float = 1.0, **gate: Any) -> LookInput:
    """A question about a comparison."""
    return LookInput(seen, {**DEFAULTS, **gate}, fraction)


def look(
    earlier: list[Draw], seen: Seen, fraction: float = 1.0, among: int = 1, **gate: Any
) -> Draw:
    """A further look, which is noted."""
    drawn = draw(earlier, "with", asked(seen, fraction, **gate), among, ("with",))
    earlier.append(drawn)
    return drawn


def test_the_planned_benchmark_spends_its_part_and_every_further_look_as_much_of_the_rest() -> None:
    ledger: list[Draw] = []
    spent = [look(ledger, pairs(count)).spent / 0.05 for count in (12, 24, 36, 48)]
    assert spent == pytest.approx([1, 1.3, 1.39, 1.417])
    assert level_of(ledger[0].boundary) == pytest.approx(1 - 0.05, abs=1e-6)
    assert [number_of(each, ledger) for each in ledger] == [1, 2, 3, 4]
    assert (
        ledger[1].boundary < 2.42
    )  # less than the 2.43 of an error of 0.015 alone: the looks share 12 pairs


@pytest.mark.parametrize("alpha", [0.01, 0.02, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3])
def test_a_second_look_has_its_share_of_the_rest_at_every_alpha(alpha: float) -> None:
    ledger: list[Draw] = []
    look(ledger, pairs(12), alpha=alpha)
    assert look(ledger, pairs(24), alpha=alpha).spent == pytest.approx(alpha * 1.3)


def test_the_same_pairs_draw_nothing_whatever_the_settings_are_now() -> None:
    ledger: list[Draw] = []
    first = look(ledger, pairs(12))
    assert look(ledger, pairs(12)) == first
    raised = look(ledger, pairs(12), alpha=0.2, effect=1)
    assert (raised.boundary, raised.spent) == (first.boundary, first.spent)
    second = look(ledger, pairs(24), alpha=0.2)
    assert second.spent == pytest.approx(0.05 * 1.3)
    assert (look(ledger, pairs(12)).boundary, number_of(ledger[-1], ledger)) == (first.boundary, 1)


def test_pairs_keep_their_boundary_when_others_are_decided_and_other_verdicts_spend_nothing() -> (
    None
):
    """The later look was computed with it."""
    ledger: list[Draw] = []
    first, later = (look(ledger, pairs(count), among=2) for count in (12, 24))
    back = look(ledger, pairs(12), among=1)
    assert (back.boundary, back.spent) == (first.boundary, later.spent)
    ledger: list[Draw] = []
    first = look(ledger, pairs(12))
    assert look(ledger, pairs(12, delta="0.2")).boundary == first.boundary
    assert [number_of(each, ledger) for each in ledger] == [1, 1]
    assert look(ledger, pairs(12, runs="again")).boundary == pytest.approx(2.423, abs=0.01)


def test_looks_spend_by_the_share_of_pairs_and_all_that_is_left_with_the_last() -> None:
    ledger: list[Draw] = []
    found = [look(ledger, pairs(count), count / 48, looks=4).boundary for count in (12, 24, 36, 48)]
    assert found == pytest.approx(boundaries(even_fractions(4), 0.05), abs=0.005)
    assert ledger[-1].spent == pytest.approx(0.05)
    ledger: list[Draw] = []
    look(ledger, pairs(12), 0.25, looks=4)
    assert look(ledger, pairs(48), looks=1).spent == pytest.approx(0.05)
    assert ledger[-1].boundary == pytest.approx(1.96, abs=0.005)
    ledger: list[Draw] = []
    early = look(ledger, pairs(22), 22 / 24)
    whole = look(ledger, pairs(24))
    assert early.spent < whole.spent == pytest.approx(0.05)
    assert whole.boundary < early.boundary


def test_when_nothing_is_left_no_boundary_can_be_reached() -> None:
    ledger: list[Draw] = []
    look(ledger, pairs(12))
    assert look(ledger, pairs(24), alpha=0.01).boundary == HIGHEST


Z = dict[str, float]


def together(ledger: list[Draw], z: Z, count: int = 24, verdict: str = "") -> dict[str, Draw]:
    """A look at comparisons of which these are the normal deviates, which is noted."""
    drawn = draw_all(
        ledger,
        {name: asked(pairs(count, runs=name)) for name in z},
        lambda name, drawn: z[name] >= drawn.boundary,
    )
    ledger += [each.model_copy(update={"verdict": verdict}) for each in drawn.values()]
    return drawn


def test_comparisons_share_the_error_and_a_decided_one_leaves_its_part() -> None:
    found = together([], {"strong": 4.0, "fair": 2.1, "weak": 0.3})
    assert {name: drawn.among for name, drawn in found.items()} == {
        "strong": 3,
        "fair": 2,
        "weak": 2,
    }
    assert together([], {"strong": 4.0, "fair": 2.4, "weak": 0.3})["weak"].among == 1


def test_a_comparison_that_is_added_after_a_look_has_what_that_look_has_left() -> None:
    ledger: list[Draw] = []
    first = together(ledger, {"v1": 1.0})["v1"]
    second = together(ledger, {"v1": 1.0, "v2": 1.0})
    assert (second["v1"].boundary, second["v1"].spent) == (first.boundary, first.spent)
    assert second["v2"].spent == pytest.approx(0.05 * 1.3)
    assert level_of(second["v2"].boundary) == pytest.approx(1 - 0.3 * 0.05, abs=1e-6)
    assert number_of(second["v2"], ledger) == 2
    third = together(ledger, {"v1": 1.0, "v2": 1.0}, count=48)
    assert [drawn.spent for drawn in third.values()] == pytest.approx([0.05 * 1.39] * 2)
    assert {drawn.among for drawn in third.values()} == {2}


def test_all_that_are_added_spend_no_more_than_the_whole_error_and_none_gets_an_alpha_above_it() -> (
    None
):
    ledger: list[Draw] = []
    names = [f"v{number}" for number in range(8)]
    drawn = [
        together(ledger, dict.fromkeys(names[: number + 1], 0.0))[name]
        for number, name in enumerate(names)
    ]
    assert sum(1 - level_of(each.boundary) for each in drawn) <= 0.05 / SHARE
    ledger: list[Draw] = []
    look(ledger, pairs(12))
    new = draw(ledger, "new", asked(pairs(24), alpha=0.2), 1, ("new", "with"))
    assert 1 - level_of(new.boundary) <= 0.05 + 1e-6


def test_a_comparison_not_looked_at_or_taken_out_keeps_its_part_of_the_error() -> None:
    ledger: list[Draw] = []
    together(ledger, {"v1": 1.0, "v2": 0.0})
    del ledger[1]  # v2 had no pair, so it had no interval, and no line
    assert together(ledger, {"v1": 1.0, "v2": 1.0})["v2"].spent == pytest.approx(0.05)
    ledger: list[Draw] = []
    before = together(ledger, {"v1": 1.0, "v2": 1.0, "v3": 1.0})["v1"]
    assert together(ledger, {"v1": 1.0})["v1"].boundary == before.boundary
    decided: list[Draw] = []
    together(decided, {"v1": 1.0, "v2": 9.0}, verdict="GO")
    assert together(decided, {"v1": 1.0})["v1"].among == 1


def test_what_an_earlier_look_showed_otherwise_is_known() -> None:
    ledger: list[Draw] = []
    look(ledger, pairs(3))
    look(ledger, {**pairs(4, delta="0.2"), "t1/1": SeenPair("0.9", ("again",))})
    now = {**pairs(4, delta="0.2"), "t1/1": SeenPair("0.9", ("again",))}
    first = {f"t{number}/1": SeenPair("0.1", (str(number),)) for number in range(3)}
    assert shown_before(ledger, "with", now) == [first]
    del now["t3/1"]
    assert shown_before(ledger, "with", now) == [first, {"t3/1": SeenPair("0.2", ("3",))}]
    assert shown_before(ledger, "with", now, discards={"0", "1", "2", "3"}) == []
    assert shown_before(ledger, "other", now) == []


def test_the_ledger_keeps_its_lines_in_order_and_writes_each_once(tmp_path: Path) -> None:
    ledger: list[Draw] = []
    first = look(ledger, pairs(12))
    second = look(ledger, pairs(24))
    for drawn in (first, first, second, second):
        note(tmp_path, [drawn])
    assert read_ledger(tmp_path) == [first, second]


@pytest.mark.parametrize("damage", ["cut", "edited", "reordered", "first line gone", "nonsense"])
def test_a_damaged_ledger_is_found(tmp_path: Path, damage: str) -> None:
    ledger: list[Draw] = []
    for count in (12, 24, 36):
        note(tmp_path, [look(ledger, pairs(count))])
    path = RunFolder(tmp_path).look_ledger
    lines = path.read_text().splitlines()
    told = json.loads(lines[1])
    changed = {
        "cut": [*lines[:2], lines[2][:50]],
        "edited": [lines[0], json.dumps(told | {"spent": 0.001}, sort_keys=True), lines[2]],
        "reordered": [lines[1], lines[0], lines[2]],
        "first line gone": lines[1:],
        "nonsense": [*lines, "[]"],
    }[damage]
    path.write_text("\n".join(changed) + "\n")
    with pytest.raises(UserError, match=r"looks\.jsonl, line [0-9], is damaged"):
        read_ledger(tmp_path)


def clear_go(bench: Make, kind: str = "claude-code") -> Any:
    """Twelve tasks of which the treatment gains half."""
    made = bench(
        tasks=tuple(f"t{number:02}" for number in range(12)), changes={"agent": {"kind": kind}}
    )
    for number in range(12):
        made.run(f"t{number:02}", "with", points=("1", "1" if number % 3 else "0"))
        made.run(f"t{number:02}", "without", points=("1", "0") if number % 2 else ("0", "0"))
    made.build()
    return made


def gate_of(made: Any) -> dict[str, Any]:
    """What the gate says of the treatment now."""
    found: dict[str, Any] = plain(write_estimates(made.folder))["comparisons"]["with"]
    return found["gate"]


def test_a_start_notes_its_verdict_and_the_next_one_finds_it(bench: Make) -> None:
    made = clear_go(bench)
    assert gate_of(made)["verdict"] == "GO"
    (line,) = read_ledger(made.folder)
    assert (line.verdict, len(line.seen), len(line.pairs)) == ("GO", 12, 12)
    before = RunFolder(made.folder).look_ledger.read_bytes()
    gate_of(made)
    assert RunFolder(made.folder).look_ledger.read_bytes() == before


@pytest.mark.parametrize("damage", ["damaged", "missing"])
def test_no_verdict_is_given_when_the_account_is_lost(bench: Make, damage: str) -> None:
    made = clear_go(bench)
    data = plain(write_estimates(made.folder))
    write_json(made.folder / "results.json", {"estimates": data["comparisons"]})
    path = RunFolder(made.folder).look_ledger
    if damage == "missing":
        path.unlink()
    else:
        path.write_text(path.read_text().replace('"spent": 0.05', '"spent": 0.0001'))
    found = gate_of(made)
    assert found["verdict"] == "INCONCLUSIVE"
    assert (
        f"looks.jsonl{', line 1,' if damage == 'damaged' else ''} is {damage}" in found["notes"][0]
    )
    assert path.exists() == (damage == "damaged")


def test_a_ledger_that_was_deleted_is_restored_from_its_copy(bench: Make) -> None:
    made = clear_go(bench)
    path = RunFolder(made.folder).look_ledger
    path.unlink()
    (made.folder / "results.json").unlink()
    RunFolder(made.folder).checksums.touch()
    assert gate_of(made)["verdict"] == "GO"
    before = path.read_bytes()
    path.unlink()
    assert gate_of(made)["verdict"] == "GO"
    assert path.read_bytes() == before
    shutil.rmtree(RunFolder(made.folder).copies)
    path.unlink()
    assert "looks.jsonl is missing, though a verdict was shown" in gate_of(made)["notes"][0]


LOST = 6


def undecided(bench: Make) -> Any:
    """Twenty tasks of which the treatment gains half in nine, and loses half in six."""
    made = bench(
        tasks=tuple(f"t{number:02}" for number in range(20)),
        changes={"agent": {"kind": "claude-code"}},
    )
    for number in range(20):
        made.run(f"t{number:02}", "without", points=("1", "0"))
        made.run(
            f"t{number:02}",
            "with",
            points=("0", "0") if number < LOST else ("1", "1" if number < 15 else "0"),
        )
    return made


def again(
    made: Any, task: str, points: tuple[str, str], started: str = "2026-01-03T00:00:00.000Z"
) -> None:
    """The treatment's run of a task, made again with another result."""
    made.verdicts = [
        row for row in made.verdicts if (row["task"], row["condition"]) != (task, "with")
    ]
    made.run(task, "with", points=points, started=started)


@pytest.mark.parametrize(
    "how", ["deleted", "discarded by hand", "discarded because its server failed"]
)
def test_runs_that_were_chosen_by_their_scores_give_no_verdict(bench: Make, how: str) -> None:
    made = undecided(bench)
    assert made.build()["verdicts_on"]["with"] == "INCONCLUSIVE"
    for number in range(LOST):
        task = f"t{number:02}"
        if how != "deleted":
            reason = DiscardReason.MCP_FAILED
            if "hand" in how:
                reason = DiscardReason.BY_HAND
            file_discard(made.folder, RunId(task, "with"), reason, "it was bad", "0")
        again(made, task, ("1", "1"))
    data = made.build()
    gate = data["estimates"]["with"]["gate"]
    if "server" in how:  # these runs are repeated ones, at their worst: six against none
        assert [reason["kind"] for reason in gate["reasons"]] == ["lost runs"]
    else:
        assert [reason["kind"] for reason in gate["reasons"]] == ["shown before"]
        assert "What an earlier look showed of these runs gives no GO." in gate["sentence"]


def test_a_task_that_was_taken_out_after_a_look_still_counts_against_a_verdict(bench: Make) -> None:
    made = undecided(bench)
    made.build()
    made.tasks = made.tasks[LOST:]
    made.verdicts = [row for row in made.verdicts if row["task"] in made.tasks]
    made.reports = [row for row in made.reports if row["task"] in made.tasks]
    assert "What an earlier look showed" in made.build()["estimates"]["with"]["gate"]["sentence"]


def test_another_judge_of_the_same_runs_gives_no_verdict_that_the_first_one_does_not(
    bench: Make,
) -> None:
    made = undecided(bench)
    first = made.build()["estimates"]["with"]
    made.verdicts = [
        {**row, "points": "1", "verdict": "Met"}
        if row["condition"] == "with" and row["task"] < "t17"
        else row
        for row in made.verdicts
    ]
    found = made.build()["estimates"]["with"]
    assert (found["level"], found["gate"]["verdict"]) == (first["level"], "INCONCLUSIVE")
    assert [reason["kind"] for reason in found["gate"]["reasons"]] == ["shown before"]


def test_a_look_whose_runs_can_give_no_verdict_spends_nothing(bench: Make) -> None:
    made = clear_go(bench, "offline")
    assert made.build()["estimates"]["with"]["gate"]["reasons"][0]["kind"] == "offline agent"
    assert not RunFolder(made.folder).look_ledger.exists()
    assert made.build()["estimates"]["with"]["level"] == pytest.approx(0.95)
