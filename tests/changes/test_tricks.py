"""What makes tests pass without the right change gains nothing; what is right, however odd, gains all."""

import os
from pathlib import Path

import pytest
from calculator import SANDBOX, needs_sandbox
from tricks import ASIDE, NULL, ORACLE, RUST_HOME, Project, projects_here, try_changes

from lensbench.agents.sandbox import find_sandbox

pytestmark = [pytest.mark.slow, needs_sandbox]


TRICKS, ODD = projects_here("tricks.yaml", "assertions.yaml"), projects_here("odd.yaml")


@pytest.mark.parametrize("project", TRICKS, ids=lambda project: project.name)
def test_no_trick_scores_more_than_no_change_and_the_reference_scores_all(
    project: Project, environments: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{RUST_HOME}/bin", prepend=os.pathsep)
    sandbox = find_sandbox(
        {"mode": "auto", "visible": [RUST_HOME] if RUST_HOME else [], "hidden": []}
    )
    tried = {each.change: each for each in try_changes(project, sandbox, environments.parent)}
    assert tried[ORACLE].score == 1, tried[ORACLE].said
    assert {
        each.change: each.said for each in tried.values() if each.score and each.change != ORACLE
    } == {}
    aside = [path for each in tried.values() if each.change == ASIDE for path in each.applied]
    assert [path for path in aside if not path.startswith(("cheat.", "quiet"))] == []
    assert (len(tried), tried[NULL].score) == (len(project.changes) + 2, 0)


@pytest.mark.parametrize("project", ODD, ids=lambda project: project.name)
def test_an_odd_but_right_patch_scores_all(project: Project, environments: Path) -> None:
    tried = list(try_changes(project, SANDBOX, environments.parent))
    assert {each.change: each.said for each in tried if each.score < 1} == {NULL: tried[0].said}
    assert len(tried) == len(project.changes) + 2
