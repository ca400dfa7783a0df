"""Runs of a patch that people made share a copy of the repository: nothing that one does to it is seen by the next."""

from pathlib import Path

import pytest
from calculator import SANDBOX, make_task, make_tree, needs_sandbox

from lensbench.changes.copies import NEW_COPIES, Copies
from lensbench.changes.environment import NO_ENVIRONMENT
from lensbench.changes.execute import runs_of_trusted
from lensbench.core.system.trees import hash_tree
from stock import write

LOOK = (
    "find . -type d -printf '%p %m\\n' | sort; cat calculator.py tests/*;"
    " find . ! -type d ! -path './tests/*' -printf '%p %m %n %T@ %l\\n' | sort"
)
HARMS = [
    "echo >> calculator.py",
    "touch -r pyproject.toml time; echo >> calculator.py; touch -r time calculator.py",
    "rm calculator.py",
    "mv calculator.py new; cp -p new calculator.py",
    "chmod +x calculator.py",
    "chmod 700 . tests",
    "ln calculator.py other; echo >> other; truncate -s -1 other",
    "ln -sf /etc/passwd calculator.py",
    "mkdir -p new/folder; touch new/folder/file tests/file",
    "rm pyproject.toml; mkdir pyproject.toml",
]


@needs_sandbox
def test_what_tests_do_to_their_copy_is_not_seen_by_the_next_and_not_done_to_the_tree(
    tmp_path: Path,
) -> None:
    tree = make_tree(tmp_path / "tree")
    before = hash_tree(str(tree))
    with runs_of_trusted(tree, SANDBOX, NO_ENVIRONMENT) as run:

        def said(script: str) -> str:
            command = ["sh", "-ec", script]
            task = make_task(
                b"",
                command=command,
                report="exit",
                fail_to_pass=["exit"],
            )
            done = run(b"", task.tests)
            assert done.exit_code == 0, (script, done)
            return done.output

        first = said(LOOK)
        for harm in HARMS:
            said(harm)
            assert said(LOOK) == first, harm
    assert hash_tree(str(tree)) == before


@pytest.mark.parametrize(
    ("is_kept", "changed", "made"),
    [(True, "new", 1), (True, "code.pyc", 1), (True, "code.py", 3), (False, "new", 3)],
)
def test_a_copy_is_made_once_unless_a_run_changes_what_was_there(
    tmp_path: Path, is_kept: bool, changed: str, made: int
) -> None:
    (tmp_path / "kept").mkdir()
    copies = Copies(tmp_path / "kept") if is_kept else NEW_COPIES
    places = []

    def make() -> None:
        places.append(write(place, {"code.py": "1", "code.pyc": "1"}))

    for run in ("first", "second", "third"):
        place = tmp_path / run
        with copies.at(place, "key", make):
            assert not (place / "new").exists()
            (place / changed).write_text(run)
    assert len(places) == made
