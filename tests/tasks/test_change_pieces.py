"""A large change is taken apart into pieces; which of them a test needs is found by leaving out."""

import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

from lensbench_tasks.changes.kinds import FileKind, kind_of
from lensbench_tasks.changes.pieces import apply, differences, own_names, patch
from lensbench_tasks.changes.prompts import entry_of
from lensbench_tasks.changes.reducing import Separate, separate
from lensbench_tasks.changes.releases import changes_between
from stock import write


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/shop/cart.py", FileKind.SOURCE),
        ("index.js", FileKind.SOURCE),
        ("lib/parse.ts", FileKind.SOURCE),
        ("tests/test_cart.py", FileKind.TEST),
        ("tests/data/a.json", FileKind.TEST),
        ("conftest.py", FileKind.TEST),
        ("src/parse.spec.ts", FileKind.TEST),
        ("test/basic.ts", FileKind.TEST),
        ("cart_test.go", FileKind.TEST),
        ("src/__tests__/a.tsx", FileKind.TEST),
        ("docs/conf.py", FileKind.OTHER),
        ("README.md", FileKind.OTHER),
        ("setup.py", FileKind.OTHER),
        ("bench/run.js", FileKind.OTHER),
        ("vitest.config.ts", FileKind.OTHER),
        ("src/latest.py", FileKind.SOURCE),
        ("src/contest.py", FileKind.SOURCE),
    ],
)
def test_a_file_is_source_test_or_neither(path: str, kind: FileKind) -> None:
    assert kind_of(path) is kind


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    before = tmp_path / "before"
    after = tmp_path / "after"
    lines = [f"line {number}\n" for number in range(40)]
    write(
        before,
        {
            "src/a.py": "".join(lines),
            "src/same.py": "same\n",
            "gone.py": "old\n",
            "data.bin": b"\0old",
        },
    )
    lines[3], lines[30] = "third\n", "thirtieth\nand more\n"
    write(
        after,
        {
            "src/a.py": "".join(lines),
            "src/same.py": "same\n",
            "new.py": "größer\n",
            "data.bin": b"\0new",
        },
    )
    return before, after


def test_pieces_together_give_the_later_tree(trees: tuple[Path, Path]) -> None:
    before, after = trees
    pieces = differences(before, after, lambda path: True)
    assert [piece.path for piece in pieces] == [
        "data.bin",
        "gone.py",
        "new.py",
        "src/a.py",
        "src/a.py",
    ]
    text = patch(pieces, before)
    subprocess.run(["git", "apply", "-"], cwd=before, input=text.encode(), check=True)
    assert differences(before, after, lambda path: True) == []


def test_a_piece_alone_changes_its_place_only(trees: tuple[Path, Path]) -> None:
    before, after = trees
    last = differences(before, after, lambda path: path == "src/a.py")[1]
    apply([last], before)
    assert (before / "src" / "a.py").read_text().splitlines()[2:5] == ["line 2", "line 3", "line 4"]
    assert "thirtieth\nand more\n" in (before / "src" / "a.py").read_text()


def test_what_overlaps_is_one_change_and_the_rest_are_others() -> None:
    needs = {"a": {0}, "b": {0, 1}, "c": {5}}
    asked: list[frozenset[int]] = []

    def passing(chosen: frozenset[int]) -> frozenset[str]:
        asked.append(chosen)
        return frozenset(test for test, pieces in needs.items() if pieces <= chosen)

    assert separate(8, needs, passing) == [
        Separate(frozenset({0, 1}), frozenset({"a", "b"})),
        Separate(frozenset({5}), frozenset({"c"})),
    ]
    assert len(asked) == len(set(asked)) < 15


def test_pieces_that_stand_in_for_each_other_make_no_task() -> None:
    def passing(chosen: frozenset[int]) -> frozenset[str]:
        either = {0, 1} & chosen
        return frozenset({"a"} if either and 2 in chosen else ()) | frozenset(
            {"b"} if 3 in chosen else ()
        )

    assert separate(4, {"a", "b"}, passing) == [Separate(frozenset({3}), frozenset({"b"}))]


def test_a_change_gets_the_pieces_without_which_it_breaks_what_passed() -> None:
    def passing(chosen: frozenset[int]) -> frozenset[str]:
        return frozenset({"a"} if 2 in chosen else ())

    def intact(chosen: frozenset[int]) -> bool:
        return 2 not in chosen or ({5, 7} <= chosen and (8 not in chosen or 0 in chosen))

    assert separate(9, {"a"}, passing, intact) == [Separate(frozenset({2, 5, 7}), frozenset({"a"}))]


def test_names_of_unchanged_lines_are_not_a_piece_s_own(tmp_path: Path) -> None:
    before = tmp_path / "before"
    after = tmp_path / "after"
    gap = "same = other\n" * 9
    for tree, name in ((before, "my_size"), (after, "self.size")):
        write(tree, {"a.py": f"{name} = other\n{gap}print({name})\n{gap}def new(): {tree.name}\n"})
    first, second, third = own_names(differences(before, after, lambda path: True), before)
    assert first == {b"my_size", b"self.size"}
    assert second == first
    assert not third & first


def test_what_no_test_needs_goes_with_the_change_that_uses_its_names(tmp_path: Path) -> None:
    gap = "same = other\n" * 9
    trees = []
    for name, texts in (
        ("before", ("a = 1", "b = 1", "c = 1")),
        ("after", ("my_new = 1", "b = 2", "c = my_new")),
    ):
        source = gap.join(f"{text}\n" for text in texts)
        trees.append(
            write(
                tmp_path / name, {"tests/test_c.py": name, "tests/helper.py": name, "a.py": source}
            )
        )

    def run(tree: Path, programs: Sequence[str], only: Collection[str]) -> Mapping[str, bool]:
        return {"test_c": "c = my_new" in (tree / "a.py").read_text()}

    (change,) = changes_between(*trees, run)
    assert [piece.lines for piece in change.pieces] == [(b"my_new = 1\n",), (b"c = my_new\n",)]
    assert change.tests == ("tests/test_c.py", "tests/helper.py")


def test_an_entry_of_the_change_log_is_a_prompt_only_if_it_shares_a_name() -> None:
    entries = ["Carts are emptied.", "Fix total_of for carts."]
    assert entry_of(entries, ["def total_of(x):"]) == entries[1]
    assert entry_of(entries, ["other"]).startswith("Something that this project should do")
