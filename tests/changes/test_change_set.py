"""The shipped change tasks: pinned, small, with hidden files that are named and not copied."""

import re
from pathlib import Path, PurePosixPath

import pytest
from calculator import SANDBOX, needs_sandbox

from lensbench.changes.task import ChangeTask, FromSource, changes_of, content_bytes
from lensbench.core.system.places import ROOT
from lensbench.core.tasks import Npm, Pypi
from lensbench.plan.config import DEFAULT_CACHE
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare
from lensbench_tasks.changes.candidates import Prover
from lensbench_tasks.changes.nearness import LARGE, changed_files, tree_files
from lensbench_tasks.changes.proof import given_away


def tasks(name: str) -> list[ChangeTask]:
    return changes_of(read_scenarios([str(ROOT / "scenarios" / name)]).tasks)


def projects(name: str) -> set[str]:
    """The names of the packages that a set is about."""
    return {
        str(source.pypi if isinstance(source, Pypi) else source.npm)
        .strip("@")
        .partition("@")[0]
        .partition("==")[0]
        for source in (task.repository for task in tasks(name))
        if isinstance(source, Pypi | Npm)
    }


@pytest.mark.parametrize(
    ("name", "fewest"),
    [("changes.yaml", 24), ("changes-demo.yaml", 6), ("deep.yaml", 30), ("deep-demo.yaml", 3)],
)
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
    assert len(projects("changes.yaml")) >= 8
    assert {type(task.repository) for task in whole.values()} == {Pypi, Npm}


def test_a_deep_task_changes_files_in_different_folders_and_is_neither_told_nor_small() -> None:
    text = (ROOT / "scenarios" / "deep" / "proofs.md").read_text(encoding="utf-8")
    page = text.partition("its files")[2]
    whole = {task.id: task for task in tasks("deep.yaml")}
    assert all(whole[task.id] == task for task in tasks("deep-demo.yaml"))
    assert len(projects("deep.yaml")) >= 6
    for task in whole.values():
        files = changed_files(content_bytes(task.reference).decode())
        assert 2 <= len(files) <= 6
        assert len({PurePosixPath(path).parent for path in files}) >= 2
        assert not any(PurePosixPath(path).name in task.prompt for path in files)
        assert not task.told
        assert not task.small
        (size,) = re.findall(rf"^\| {task.id} \| [^|]+ \| (\d+) \|", page, re.MULTILINE)
        assert int(size) >= LARGE


@pytest.mark.slow
@pytest.mark.timeout(1200)
@needs_sandbox
@pytest.mark.parametrize("task", tasks("deep-demo.yaml"), ids=lambda task: task.id)
def test_a_deep_task_of_the_demo_is_proven_in_a_repository_of_a_thousand_files(
    task: ChangeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert task.repository
    tree = prepare(task.repository, Path(DEFAULT_CACHE)).tree
    assert sum(1 for _ in tree_files(tree)) >= LARGE
    fate = Prover(SANDBOX, Path(DEFAULT_CACHE)).proven(task)
    assert fate.task == task, fate.sentence
    assert fate.proof
    assert fate.proof.own


@pytest.mark.parametrize("name", ["changes.yaml", "deep.yaml"])
def test_no_prompt_gives_away_its_reference_or_tests_even_with_a_line_separator(name: str) -> None:
    for task in tasks(name):
        assert given_away(task.prompt, content_bytes(task.reference)) == ""
        assert not any(name.rpartition("::")[2] in task.prompt for name in task.tests.fail_to_pass)
    line = "x = '\u2028one long line of the reference, which a prompt repeats'"
    assert given_away(f"Why not {line}?", f"+++ b/a.py\n+{line}\n".encode())
