"""The account of error: what looks spend, and that a damaged one gives no verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json
from lensbench.scores.account import Draw, digests, draw, holm, note, number_of, read_ledger
from lensbench.scores.estimates import write_estimates
from lensbench.scores.sequential import FIRST, HIGHEST, boundaries, even_fractions, level_of
from lensbench.scores.verdict_of import DEFAULTS

Make = Callable[..., Any]


def pairs(count: int, first: int = 0) -> tuple[str, ...]:
    """The hashes of some pairs."""
    return digests((f"t{number}", 1, 0.1) for number in range(first, first + count))


def look(earlier: list[Draw], shown: tuple[str, ...], fraction: float = 1.0, among: int = 1, **gate: Any) -> Draw:
    """A further look, which is noted."""
    drawn = draw(earlier, "with", shown, {**DEFAULTS, **gate}, (len(shown), 1), fraction, among)
    earlier.append(drawn)
    return drawn


def test_the_planned_benchmark_spends_its_part_and_every_further_look_half_of_the_rest() -> None:
    ledger: list[Draw] = []
    spent = [look(ledger, pairs(count)).spent / 0.05 for count in (12, 24, 36, 48)]
    assert spent == pytest.approx([FIRST, FIRST + 0.075, FIRST + 0.1125, FIRST + 0.13125])
    assert level_of(ledger[0].boundary) == pytest.approx(1 - FIRST * 0.05, abs=1e-6)
    assert [number_of(each, ledger) for each in ledger] == [1, 2, 3, 4]
    assert ledger[1].boundary < 2.9  # less than the 2.90 of an error of 0.00375 alone: the looks share 12 pairs


def test_the_same_pairs_draw_nothing_whatever_the_settings_are_now() -> None:
    ledger: list[Draw] = []
    first = look(ledger, pairs(12))
    assert look(ledger, pairs(12)) == first
    raised = look(ledger, pairs(12), alpha=0.2, effect=1)
    assert (raised.boundary, raised.spent) == (first.boundary, first.spent)
    second = look(ledger, pairs(24), alpha=0.2)
    assert second.spent == pytest.approx(0.05 * (FIRST + 0.075))
    assert look(ledger, pairs(12)).boundary == first.boundary
    assert number_of(ledger[-1], ledger) == 1


def test_other_deltas_of_the_same_tasks_are_other_pairs() -> None:
    ledger: list[Draw] = []
    look(ledger, pairs(12))
    judged_anew = digests((f"t{number}", 1, 0.2) for number in range(12))
    assert look(ledger, judged_anew).boundary == pytest.approx(2.897, abs=0.01)


def test_planned_looks_spend_by_the_share_of_pairs_and_all_of_it_at_the_end() -> None:
    ledger: list[Draw] = []
    found = [look(ledger, pairs(count), count / 48, looks=4).boundary for count in (12, 24, 36, 48)]
    assert found == pytest.approx(boundaries(even_fractions(4), FIRST * 0.05), abs=0.005)
    assert ledger[-1].spent == pytest.approx(FIRST * 0.05)


def test_all_runs_after_a_stop_by_futility_spend_what_the_plan_had_left() -> None:
    ledger: list[Draw] = []
    look(ledger, pairs(12), 0.25, looks=4)
    assert look(ledger, pairs(48), looks=1).spent == pytest.approx(FIRST * 0.05)
    assert ledger[-1].boundary == pytest.approx(2.027, abs=0.005)


def test_pairs_that_are_still_due_leave_their_part_of_the_error() -> None:
    ledger: list[Draw] = []
    early = look(ledger, pairs(22), 22 / 24)
    whole = look(ledger, pairs(24))
    assert early.spent < whole.spent == FIRST * 0.05
    assert whole.boundary < early.boundary


def test_when_nothing_is_left_no_boundary_can_be_reached() -> None:
    ledger: list[Draw] = []
    look(ledger, pairs(12))
    assert look(ledger, pairs(24), alpha=0.01).boundary == HIGHEST


def test_comparisons_share_the_error_and_a_decided_one_leaves_its_part() -> None:
    def draw_for(name: str, among: int) -> Draw:
        return draw([], name, pairs(24), DEFAULTS, (24, 1), 1.0, among)

    z = {"strong": 4.0, "fair": 2.1, "weak": 0.3}
    found = holm(z, draw_for, lambda name, drawn: z[name] >= drawn.boundary)
    assert {name: drawn.among for name, drawn in found.items()} == {"strong": 3, "fair": 2, "weak": 2}
    z["fair"] = 2.4
    assert holm(z, draw_for, lambda name, drawn: z[name] >= drawn.boundary)["weak"].among == 1


def test_the_ledger_keeps_its_lines_in_order_and_writes_each_once(tmp_path: Path) -> None:
    ledger: list[Draw] = []
    first, second = look(ledger, pairs(12)), look(ledger, pairs(24))
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


def clear_go(bench: Make) -> Any:
    """Twelve tasks of which the treatment gains half."""
    made = bench(tasks=tuple(f"t{number:02}" for number in range(12)), changes={"agent": {"kind": "claude-code"}})
    for number in range(12):
        made.run(f"t{number:02}", "with", points=("1", "1" if number % 3 else "0"))
        made.run(f"t{number:02}", "without", points=("1", "0") if number % 2 else ("0", "0"))
    made.build()
    return made


def gate_of(made: Any) -> dict[str, Any]:
    """What the gate says of the treatment now."""
    found: dict[str, Any] = write_estimates(made.folder)["comparisons"]["with"]
    return found["gate"]


def test_a_start_notes_its_verdict_and_the_next_one_finds_it(bench: Make) -> None:
    made = clear_go(bench)
    assert gate_of(made)["verdict"] == "GO"
    (line,) = read_ledger(made.folder)
    assert (line.verdict, line.tasks, len(line.pairs)) == ("GO", 12, 12)
    before = RunFolder(made.folder).look_ledger.read_bytes()
    gate_of(made)
    assert RunFolder(made.folder).look_ledger.read_bytes() == before


@pytest.mark.parametrize("damage", ["damaged", "missing"])
def test_no_verdict_is_given_when_the_account_is_lost(bench: Make, damage: str) -> None:
    made = clear_go(bench)
    data = write_estimates(made.folder)
    write_json(made.folder / "results.json", {"estimates": data["comparisons"]})
    path = RunFolder(made.folder).look_ledger
    if damage == "missing":
        path.unlink()
    else:
        path.write_text(path.read_text().replace('"spent": 0.0425', '"spent": 0.0001'))
    found = gate_of(made)
    assert found["verdict"] == "INCONCLUSIVE"
    assert f"looks.jsonl{', line 1,' if damage == 'damaged' else ''} is {damage}" in found["sentence"]
    assert path.exists() == (damage == "damaged")
