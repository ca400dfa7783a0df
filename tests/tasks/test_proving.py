"""Proofs of criteria are looked up in the repository, and what does not hold is said."""

import sys
from pathlib import Path

import pytest

from lensbench.core.tasks import Proof
from lensbench_tasks.proofs import main, proof_problem

SOURCE = """\
LIMIT = 4


class Store:
    def fill(self, size=30,
             colour="red"):
        raise ValueError("no room")
"""
SET = """\
tasks:
- id: one
  category: Targeted
  repository: {path: repo}
  prompt: Which limit?
  criteria:
  - {text: names it, all_of: LIMIT, proofs: [{file: a.py, quote: LIMIT = 4}]}
  - {text: says how much, all_of: '4', proofs: [{file: a.py, quote: LIMIT = {value}}]}
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.py").write_text(SOURCE)
    (tmp_path / "repo" / "link.py").symlink_to("/etc/hosts")
    return tmp_path / "repo"


@pytest.mark.parametrize(
    ("proof", "problem"),
    [
        (Proof(file="a.py", quote="LIMIT = 4"), ""),
        (Proof(file="a.py", quote='size=30, colour="red"', within="Store.fill"), ""),
        (Proof(file="a.py", quote="size=30", within="fill"), ""),
        (Proof(file="a.py", quote="LIMIT = 4", within="Store"), "does not occur in Store"),
        (
            Proof(file="a.py", quote="size=30", within="Store.empty"),
            "Store.empty is not defined in a.py",
        ),
        (Proof(file="a.py", quote="LIMIT = 5"), "does not occur in a.py"),
        (Proof(file="b.py", quote="LIMIT = 4"), "there is no file b.py"),
        (Proof(file="/etc/passwd", quote="root"), "leaves the repository"),
        (Proof(file="../repo/a.py", quote="LIMIT"), "leaves the repository"),
        (Proof(file="link.py", quote="localhost"), "there is no file link.py"),
    ],
)
def test_a_proof_holds_or_it_is_said_why_not(tree: Path, proof: Proof, problem: str) -> None:
    found = proof_problem(proof, tree)
    assert problem in found
    assert bool(problem) == bool(found)


def test_it_checks_a_whole_set(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree.parent / "set.yaml").write_text(SET.replace("{value}", "4"))
    monkeypatch.setattr(sys, "argv", ["proving", "set.yaml", "--cache", "cache"])
    main()
    assert capsys.readouterr().out == "2 criteria of 1 tasks: all proofs are correct\n"
    (tree.parent / "set.yaml").write_text(SET.replace("{value}", "5"))
    with pytest.raises(Exception, match=r"one, criterion 2: 'LIMIT = 5' does not occur in a\.py"):
        main()
