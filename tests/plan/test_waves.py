from pathlib import Path
from typing import Any

from lensbench.core.records import RunId
from lensbench.core.store import run_files
from lensbench.core.system.files import write_atomic, write_json
from lensbench.plan.freeze import dealt_tasks
from lensbench.plan.waves import look_file, opened, restricted, waves

CATEGORIES = ("Debug", "Targeted")


def plan(tasks: int = 8, looks: int = 4, over: str = "tasks", trials: int = 1) -> dict[str, Any]:
    names = [f"t{number}" for number in range(tasks)]
    return {
        "order": names,
        "tasks": {name: {"category": CATEGORIES[index % 2]} for index, name in enumerate(names)},
        "trials": trials,
        "seed": 1,
        "conditions": {"without": {}, "with": {}},
        "gate": {"looks": looks, "over": over},
    }


def test_one_look_is_one_wave_and_another_is_open_if_every_earlier_look_continues(
    tmp_path: Path,
) -> None:
    (wave,) = waves(plan(looks=1, trials=3))
    assert (len(wave.tasks), wave.trials) == (8, (1, 2, 3))
    assert (opened(tmp_path, plan(looks=1)), opened(tmp_path, plan())) == (1, 1)
    write_json(look_file(tmp_path, 1), {"open": True})
    write_json(look_file(tmp_path, 2), {"open": False})
    write_json(look_file(tmp_path, 3), {"open": True})
    assert opened(tmp_path, plan()) == 2


def test_waves_hold_every_task_once_and_every_category_or_are_the_trials() -> None:
    found = waves(plan())
    assert sorted(task for wave in found for task in wave.tasks) == plan()["order"]
    for wave in found:
        assert {plan()["tasks"][task]["category"] for task in wave.tasks} == set(CATEGORIES)
    assert [wave.trials for wave in waves(plan(looks=3, over="trials", trials=3))] == [
        (1,),
        (2,),
        (3,),
    ]


def test_waves_keep_their_tasks_when_tasks_are_added() -> None:
    before = plan()
    longer = plan(tasks=12)
    assert dealt_tasks(before, before) == []
    after = longer | {"dealt": dealt_tasks(before, longer)}
    old = waves(before)
    new = waves(after)
    assert new[:-1] == old[:-1]
    assert new[-1].tasks == (*old[-1].tasks, "t8", "t9", "t10", "t11")
    assert dealt_tasks(after, plan(tasks=14)) == before["order"]  # and when tasks are added again
    assert restricted(after, 3)["look"]["share"] == 0.5


def test_a_wave_of_which_a_run_was_made_stays_open(tmp_path: Path) -> None:
    write_json(look_file(tmp_path, 1), {"open": False})
    task = waves(plan())[1].tasks[0]
    write_atomic(run_files(tmp_path, RunId(task, "with")).answer, "")
    assert opened(tmp_path, plan()) == 2


def test_the_restricted_plan_has_the_tasks_and_trials_of_its_waves_only() -> None:
    part = restricted(plan(), 2)
    assert len(part["order"]) == len(part["tasks"]) == 4
    assert part["look"] == {"taken": 2, "of": 4, "share": 0.5}
    assert restricted(plan(looks=3, over="trials", trials=3), 2)["trials"] == 2
