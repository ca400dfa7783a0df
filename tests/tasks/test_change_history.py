"""Commits that touch source and tests are found in a history, and told in their authors' words."""

from pathlib import Path

import pytest

from lensbench_tasks.changes.history import clean_message, commits
from lensbench_tasks.changes.prompts import HiddenNeeds, needs, write_prompt
from stock import commit, git


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "shop")
    return tmp_path / "shop"


def test_only_commits_of_source_and_tests_are_taken(shop: Path) -> None:
    first = commit(
        shop, "start", {"cart.py": "a = 1\n", "tests/test_cart.py": "1\n", "old test.py": "x\n"}
    )
    commit(shop, "docs", {"README.md": "words\n"})
    parent = commit(shop, "source only", {"cart.py": "a = 2\n"})
    both = commit(
        shop, "Fix the sum\n\nIt was wrong.", {"cart.py": "a = 3\n", "tests/test_cart.py": "2\n"}
    )
    commit(shop, "tests only", {"tests/test_cart.py": "3\n"})
    commit(shop, "deletes tests", {"cart.py": "a = 4\n", "tests/test_cart.py": None})
    found = list(commits(shop, "HEAD"))
    assert [each.id for each in found] == [both]
    assert found[0][1:] == (
        parent,
        "Fix the sum\n\nIt was wrong.",
        ("cart.py",),
        ("tests/test_cart.py",),
    )
    assert first  # the first commit has no parent to be solved from


def test_a_merge_is_the_change_that_it_brought(shop: Path) -> None:
    parent = commit(shop, "start", {"cart.py": "a = 1\n"})
    git(shop, "checkout", "--quiet", "-b", "side")
    commit(shop, "part one", {"cart.py": "a = 2\n"})
    commit(shop, "part two", {"test/cart names.test.js": "1\n"})
    git(shop, "checkout", "--quiet", "main")
    git(
        shop,
        "merge",
        "--quiet",
        "--no-ff",
        "-m",
        "Merge pull request #7 from x/side\n\nAdd the second price",
        "side",
    )
    (found,) = commits(shop, "HEAD")
    assert (found.parent, found.message) == (parent, "Add the second price")
    assert (found.sources, found.tests) == (("cart.py",), ("test/cart names.test.js",))


def test_a_prompt_names_what_the_tests_need_and_the_project_lacks(shop: Path) -> None:
    commit(
        shop,
        "start",
        {"cart.py": "def total():\n    return 1\n", "old.py": "'the rate is below 0', 'shipped'\n"},
    )
    reference = "+++ b/cart.py\n+def total():\n+def with_tax(rate):\n+    LIMIT: int = 3\n+    self.rest = 2\n"
    reference += "+    raise ValueError('the rate is below 0', 'shipped')\n"
    tests = [
        "from cart import total, with_tax\nassert cart.rest == LIMIT\nmatch='the rate is below 0'\nx='shipped'\n"
    ]
    assert needs(reference, tests, shop) == HiddenNeeds(
        ("LIMIT", "rest", "with_tax(rate) from cart"), ("the rate is below 0",)
    )
    prompt = write_prompt("Add a tax", ["test_tax"], HiddenNeeds(("with_tax",), ("below 0",)))
    assert "names that are new: with_tax." in prompt
    assert prompt.endswith("with these texts:\n\n- `below 0`")
    assert clean_message(
        "Round up\n\nAdd tests.\nadded some unit tests for it\nAdd test data to the API"
    ) == ("Round up\n\nAdd test data to the API")


def test_a_text_that_a_message_must_contain_is_named_even_if_it_is_known(shop: Path) -> None:
    commit(shop, "start", {"cart.py": "below = 'below'\n"})
    added = "+++ b/cart.py\n+    raise ValueError(f'{rate} is below 0')  # short\n"
    assert needs(
        added, ["assert 'below' in str(error)\nassert 'short' in names"], shop
    ) == HiddenNeeds((), ("below",))


@pytest.mark.parametrize(
    ("added", "used", "named"),
    [
        (
            "export function keep<T>(input: string, fits: (key: string) => boolean = () => true, ...more: T[]): string {",
            "keep(a, b)",
            ("keep(input, fits=..., ...more)",),
        ),
        ("const keep = async ({ input = {} }, fits) => {", "keep(a)", ("keep(fits)",)),
        ("  keep(input) {", "cart.keep(1)", ("keep(input)",)),
        ("  if (options.strictly) keep(1)  # 'loud'", "{strictly: 1} // loud", ("strictly",)),
        (
            "    keep = options['keep']",
            "const { keep } = require('../cart')",
            ("keep from ../cart",),
        ),
        (
            "def total(keep=()):",
            "total(keep=[{'rate': 3}])",
            ("keep=[{'rate': 3}]", "total(keep=...)"),
        ),
        (
            "def keep(self, *, input: dict[str, int] = {}, **more) -> int:",
            "keep()",
            ("keep(self, *, input=..., **more)",),
        ),
        (
            "def keep(text, size=128, *, end: str='…', by=' '):",
            "keep('')",
            ("keep(text, size=128, *, end='…', by=...)",),
        ),
    ],
)
def test_a_new_function_is_named_with_its_parameters(
    shop: Path, added: str, used: str, named: tuple[str, ...]
) -> None:
    commit(shop, "start", {"cart.py": "a = 1\n"})
    assert needs(f"+++ b/cart.py\n+# loud\n+{added}\n", [f"// loud\n{used}"], shop).names == named


def test_chores_of_a_squashed_commit_trailers_and_numbers_of_issues_are_no_part_of_the_task() -> (
    None
):
    squashed = "Add a tax (#3)\n\n* Add a tax\n\n* Add the methods to API docs\n\n* Add PR#\n\n* Address review\n\n* Round it up\n"
    assert clean_message(squashed) == "Add a tax (#3)\n\n* Round it up"
    message = clean_message(
        "Fix rounding (#12)\n\nHalf a cent was lost.\n\nCloses #11\nSigned-off-by: A <a@example.invalid>\n"
    )
    assert message == "Fix rounding (#12)\n\nHalf a cent was lost."
    prompt = write_prompt(message, ["tests.test_cart::test_half"], HiddenNeeds())
    assert prompt.startswith("Fix rounding\n\nHalf a cent was lost.")
    assert "- tests.test_cart::test_half" in prompt
    assert "#1" not in prompt
