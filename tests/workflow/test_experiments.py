"""What the controls plant: scores that are known before any judge has read an answer."""

from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from lensbench.judging.judges import Verdict, mechanical
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import read_scenarios
from lensbench_demo.controls import CONTROLS, Control, Planted, make_project, statement

LIFT, SAME = CONTROLS["lift"], CONTROLS["a-a"]


def differences(control: Control, planted: Planted) -> dict[str, Fraction]:
    tasks = {task for task, _ in planted}
    return {
        task: planted[task, control.treatment] - planted[task, control.baseline] for task in tasks
    }


@pytest.mark.parametrize("control", CONTROLS.values(), ids=lambda control: control.name)
def test_a_project_is_valid_and_the_same(
    control: Control, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_project(control, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert make_project(control, tmp_path) == first
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    monkeypatch.chdir(tmp_path)
    config = load_config(yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8")))
    assert len(read_scenarios(config.scenario_files, config.repository).tasks) == control.tasks
    assert len(first) == 2 * control.tasks


def test_null_states_nothing_the_oracle_everything_and_the_same_twice_differs_by_chance(
    tmp_path: Path,
) -> None:
    assert set(make_project(CONTROLS["null"], tmp_path / "null").values()) == {Fraction(0)}
    assert set(make_project(CONTROLS["oracle"], tmp_path / "oracle").values()) == {Fraction(1)}
    found = differences(SAME, make_project(SAME, tmp_path))
    assert set(found.values()) == {Fraction(-1, 5), Fraction(0), Fraction(1, 5)}
    assert SAME.delta == 0


def test_the_lift_is_10_points_over_all_and_a_statement_meets_its_own_criterion_alone(
    tmp_path: Path,
) -> None:
    found = differences(LIFT, make_project(LIFT, tmp_path))
    lifted = {task: value for task, value in found.items() if int(task[-2:]) % 2 == 0}
    others = {task: value for task, value in found.items() if task not in lifted}
    assert set(lifted.values()) == {Fraction(0), Fraction(1, 5), Fraction(2, 5)}
    assert set(others.values()) == {Fraction(-1, 5), Fraction(0), Fraction(1, 5)}
    assert LIFT.delta == Fraction(1, 10)
    make_project(LIFT, tmp_path)
    tasks = read_scenarios([str(tmp_path / "tasks.yaml")], imported=True).tasks
    criteria = [criterion for task in tasks for criterion in task.criteria]
    for stated in criteria:
        text = normalise(statement(stated))
        met = [
            criterion
            for criterion in criteria
            if mechanical.judge(criterion, text).verdict is not Verdict.MISSED
        ]
        assert met == [stated]
