"""The shipped change tasks: pinned, small, with hidden files that are named and not copied."""

import pytest

from lensbench.changes.task import ChangeTask, FromSource, content_bytes
from lensbench.core.system.places import ROOT
from lensbench.core.tasks import Npm, Pypi
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.changes.proof import given_away


def tasks(name: str) -> list[ChangeTask]:
    return [
        task
        for task in read_scenarios([str(ROOT / "scenarios" / name)]).tasks
        if isinstance(task, ChangeTask)
    ]


@pytest.mark.parametrize(("name", "fewest"), [("changes.yaml", 24), ("changes-demo.yaml", 6)])
def test_every_task_is_pinned_and_its_hidden_files_lie_in_a_later_release(
    name: str, fewest: int
) -> None:
    found = tasks(name)
    assert len(found) >= fewest
    for task in found:
        assert isinstance(task.repository, Pypi | Npm)
        assert task.tests.fail_to_pass
        assert task.tests.pass_to_pass
        assert all(
            isinstance(one, FromSource) and one.source != task.repository
            for one in task.tests.files.values()
        )


def test_the_set_holds_the_demo_speaks_two_languages_and_is_about_eight_projects() -> None:
    whole = {task.id: task for task in tasks("changes.yaml")}
    assert all(whole[task.id] == task for task in tasks("changes-demo.yaml"))
    sources = [task.repository for task in tasks("changes.yaml")]
    projects = {
        str(source.pypi if isinstance(source, Pypi) else source.npm)
        .strip("@")
        .partition("@")[0]
        .partition("==")[0]
        for source in sources
        if isinstance(source, Pypi | Npm)
    }
    assert len(projects) >= 8
    assert {type(source) for source in sources} == {Pypi, Npm}


def test_no_prompt_gives_away_its_reference_or_tests_even_with_a_line_separator() -> None:
    for task in tasks("changes.yaml"):
        assert given_away(task.prompt, content_bytes(task.reference)) == ""
        assert not any(name.rpartition("::")[2] in task.prompt for name in task.tests.fail_to_pass)
    line = "x = '\u2028one long line of the reference, which a prompt repeats'"
    assert given_away(f"Why not {line}?", f"+++ b/a.py\n+{line}\n".encode())
