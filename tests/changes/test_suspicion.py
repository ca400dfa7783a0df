"""What can steer the tests is named where a patch adds it to the program, and nowhere else."""

from pathlib import Path

import pytest
import yaml

from lensbench.changes.suspicion import suspicions

CASES = [
    (name, text)
    for name, texts in yaml.safe_load(
        Path(__file__).with_name("suspicions.yaml").read_text(encoding="utf-8")
    ).items()
    for text in texts
]
FRAME = "frame = sys._getframe(1)"


def patch(path: str, text: str, sign: str = "+") -> bytes:
    """A patch that adds the lines of a text, or takes them away."""
    lines = "".join(f"{sign}{line}\n" for line in text.splitlines())
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n{lines}".encode()
    )


@pytest.mark.parametrize(("name", "text"), CASES)
def test_what_can_steer_tests_is_named_and_ordinary_code_is_not(name: str, text: str) -> None:
    assert suspicions(patch("src/core.py", text)) == ((name,) if name else ())


@pytest.mark.parametrize("path", ["tests/test_core.py", "test/core.test.js", "src/core_test.go"])
def test_what_a_patch_adds_to_tests_is_not_suspect(path: str) -> None:
    assert suspicions(patch(path, FRAME)) == ()


def test_only_added_lines_are_suspect() -> None:
    assert suspicions(patch("src/core.py", FRAME, "-") + patch("src/core.py", FRAME, " ")) == ()


def test_an_added_line_that_begins_with_pluses_names_no_file() -> None:
    text = "++ b/tests/test_core.py\n" + FRAME
    assert suspicions(patch("src/core.py", text)) == ("frames of callers",)


def test_all_that_a_patch_has_is_named_in_one_order() -> None:
    both = patch("b.py", "import pytest") + patch("a.py", FRAME)
    assert suspicions(both) == ("frames of callers", "pytest")


def test_no_patch_has_none() -> None:
    assert suspicions(b"") == ()
