"""Sets of change tasks from a history and SWE-bench lines: proven, written, read again, or refused."""

import json
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from chosen_fixes import ChosenFix, chosen_task
from lensbench.agents.sandbox import Sandbox, find_sandbox
from lensbench.changes.environment import NO_ENVIRONMENT, Environment
from lensbench.changes.execute import TestRun
from lensbench.changes.hidden_files import with_files
from lensbench.changes.reports import TestResult
from lensbench.changes.task import PRINTED, ChangeTask, FromSource, content_bytes, read_task
from lensbench.core.errors import UserError
from lensbench.core.tasks import Folder
from lensbench.plan import freeze
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.changes.candidates import ChangeFate, Prover
from lensbench_tasks.changes.from_history import tasks_from_history
from lensbench_tasks.changes.from_releases import Releases, _news, tasks_between
from lensbench_tasks.changes.nearness import changed_files, nearest_tests
from lensbench_tasks.changes.proof import prove
from lensbench_tasks.changes.suites import UNKNOWN_MOMENT, Moment, Suite, form_of, suite_of
from lensbench_tasks.changes.swebench import Refused, _short, forms_of, read_instance
from lensbench_tasks.changes.writing import render_report
from lensbench_tasks.generate import main
from lensbench_tasks.pin import pin
from programs import refusal, run_here
from stock import commit, git, write

SANDBOX = find_sandbox({"mode": "auto", "visible": [], "hidden": []})
needs_sandbox = pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap")

CART = "def total(prices):\n    return sum(prices) - 1\n"
TESTS = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_number():\n    assert total([1]) is not None\n"
DOCUMENT = "A total is a sum.\nA sum is exact.\n"
PYTEST = (
    f"{sys.executable} -m pytest --disable-plugin-autoload -q -o pythonpath=. -p no:cacheprovider"
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose second commit repairs a defect, and whose third one is a repair without a failing test."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(
        folder,
        "start",
        {"cart.py": CART, "tests/test_old.py": "def test_old():\n    pass\n", "pyproject.toml": ""},
    )
    fixed = {
        "cart.py": CART.replace(" - 1", ""),
        "tests/test_cart.py": TESTS,
        "README.md": DOCUMENT,
    }
    commit(folder, "Fix the total: it was one too small (#3)", fixed)
    unnoticed = {"cart.py": "# Carts.\n" + fixed["cart.py"], "tests/test_cart.py": TESTS + "\n"}
    commit(folder, "Fix what nobody noticed", unnoticed)
    return folder


def generate(*arguments: str) -> str:
    with patch("lensbench_tasks.changes.candidates.prove", partial(prove, rounds=1)):
        return run_here(
            main, "--kind", "change", "--command", PYTEST, "--environment", ":", *arguments
        )


@pytest.mark.slow
@needs_sandbox
def test_commits_become_proven_tasks_that_name_hidden_files_by_their_commit(shop: Path) -> None:
    generate("--repo", "shop", "--count", "4", "--output", "sets/shop.yaml")
    (task,) = read_scenarios(["sets/shop.yaml"]).tasks
    assert isinstance(task, ChangeTask)
    assert task.tests.fail_to_pass == ("tests/test_cart.py::test_total",)
    assert task.tests.pass_to_pass == ("tests/test_cart.py::test_number",)
    assert task.prompt.startswith(
        f"Fix the total: it was one too small\n\nIts documents will say:\n\n{DOCUMENT}\n"
    )
    assert "def test_total" not in Path("sets/shop.yaml").read_text(encoding="utf-8")
    assert with_files(task, Path(".cache")).tests.files == {"tests/test_cart.py": TESTS}
    assert "-    return sum(prices) - 1" in str(task.reference)
    report = Path("sets/shop.report.md").read_text(encoding="utf-8")
    assert "1 of 2 changes are proven tasks" in report
    assert "no test fails before the commit and passes after it" in report


def test_the_version_of_a_commit_is_that_of_the_last_tag_before_it(shop: Path) -> None:
    class Bench(Prover):
        def suite(self, tree: Path, moment: Moment = UNKNOWN_MOMENT) -> Suite:
            raise UserError(moment.version)

    git(shop, "tag", "release-1.2rc3", "HEAD~1")
    fates = list(tasks_from_history("shop", pin("shop"), Bench(SANDBOX, Path("cache"))))
    assert [fate.reasons for fate in fates] == [("1.2rc3",), ("0",)]
    assert "\n\nDropped:\n\n- **shop-" in render_report("", fates)


def test_a_hidden_file_that_its_source_lacks_is_an_error(shop: Path) -> None:
    source = {"git": "shop", "revision": git(shop, "rev-parse", "HEAD")}
    task = ChangeTask.model_validate(
        {
            "id": "a",
            "kind": "change",
            "category": "Debug",
            "repository": source,
            "prompt": "Mend it.",
            "tests": {
                "files": {"tests/a.py": "", "tests/none.py": {"source": source}},
                "command": ["pytest"],
                "fail_to_pass": ["x"],
            },
        }
    )
    assert isinstance(task.tests.files["tests/none.py"], FromSource)
    with pytest.raises(
        UserError, match=r"task .a.: tests\.files: its source has no file tests/none.py"
    ) as caught:
        with_files(task, Path(".cache"))
    with pytest.raises(UserError, match="a hidden file was not fetched from its source"):
        content_bytes(task.tests.files["tests/none.py"])
    fate = Prover(Sandbox(program="bwrap"), Path(".cache")).proven(task)
    assert (fate.task, fate.reasons) == (None, (str(caught.value),))
    with pytest.raises(
        UserError, match="the tests cannot be started: tests of changes need a sandbox"
    ):
        Prover(Sandbox(), Path(".cache")).run(shop, b"", task.tests, Environment())


def test_an_unknown_name_of_a_source_is_named_with_its_line(tmp_path: Path) -> None:
    text = (
        "repositories: {shop: {path: .}}\ntasks:\n- id: a\n  kind: change\n  category: Debug\n  repository: shop\n"
        "  prompt: Mend it.\n  tests:\n    files:\n      tests/a.py: {source: shopp}\n    command: [pytest]\n"
        "    fail_to_pass: [a]\n"
    )
    (tmp_path / "set.yaml").write_text(text)
    with pytest.raises(
        UserError, match=r"set.yaml:10: repository 'shopp' is not under 'repositories'"
    ):
        read_scenarios([str(tmp_path / "set.yaml")])


def instance(shop: Path, **changed: Any) -> dict[str, Any]:
    diff = ("diff", "HEAD~2", "HEAD~1", "--")
    return {
        "instance_id": "acme__shop-3",
        "repo": "acme/shop",
        "base_commit": git(shop, "rev-parse", "HEAD~2"),
        "problem_statement": "The total is one too small.",
        "patch": git(shop, *diff, "cart.py") + "\n",
        "test_patch": git(shop, *diff, "tests") + "\n",
        "FAIL_TO_PASS": json.dumps(["tests/test_cart.py::test_total"]),
        "PASS_TO_PASS": ["tests/test_cart.py::test_number"],
        "version": "1",
        "hints_text": "",
        **changed,
    }


@pytest.mark.slow
@needs_sandbox
def test_swebench_lines_become_tasks_and_what_cannot_be_honoured_is_named(shop: Path) -> None:
    lines = [
        instance(shop),
        instance(
            shop,
            instance_id="none",
            repo="acme/other",
            problem_statement="One line.\u2028Another,\x85a third.",
        ),
        instance(shop, instance_id="wrong", FAIL_TO_PASS=["tests/test_cart.py::test_number"]),
        instance(
            shop,
            instance_id="unfit",
            patch=instance(shop)["patch"].replace("+    return", "+    return sums +"),
        ),
        instance(shop, instance_id="absent", FAIL_TO_PASS=["test_total (cart.Tests)"]),
        instance(
            shop,
            instance_id="cut",
            FAIL_TO_PASS=["test_total"],
            PASS_TO_PASS=["tests/test_cart.py::gone", "tests/test_cart.py::test_number"],
            image_assets="{}",
            log_parser="parse_log_x",
        ),
    ]
    Path("bench.jsonl").write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines) + "not json\n",
        encoding="utf-8",
    )
    (Path("mirrors") / "acme").mkdir(parents=True)
    git(shop, "clone", "--quiet", "--bare", str(shop), "../mirrors/acme/shop.git")
    generate("--swebench", "bench.jsonl", "--mirrors", "mirrors", "--output", "sets/swe.yaml")
    task, cut = read_scenarios(["sets/swe.yaml"]).tasks
    assert isinstance(task, ChangeTask)
    assert isinstance(cut, ChangeTask)
    assert cut.tests.fail_to_pass == ("tests/test_cart.py::test_total",)
    assert cut.tests.pass_to_pass == ("tests/test_cart.py::test_number",)
    assert (task.id, task.prompt) == ("acme-shop-3", "The total is one too small.")
    assert task.tests.files == {"tests/test_cart.py": TESTS}
    report = Path("sets/swe.report.md").read_text(encoding="utf-8")
    for said in (
        "there is no clone of acme/other",
        "with the patch: NameError: name 'sums' is not defined",
        "passes without a change",
        "is not among the 2 tests that ran",
        "is not JSON",
        "1 of 2 ids of PASS\\_TO\\_PASS do not pass here",
    ):
        assert said in report
    assert report.count("is not JSON") == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"image_assets": {"a": "b"}}, "image_assets: the issue needs pictures"),
        ({"patch": ""}, "patch: missing"),
        ({"FAIL_TO_PASS": "[]"}, "FAIL_TO_PASS: missing or empty"),
        ({"PASS_TO_PASS": "{"}, "PASS_TO_PASS is not a list"),
    ],
)
def test_what_a_swebench_line_asks_beyond_is_refused_by_name(
    shop: Path, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused, match=said):
        read_instance(json.dumps(instance(shop, **changed)))


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        (
            "test/a.test.js::api > of one > works",
            {
                "test/a.test.js::api > of one > works",
                "test/a.test.js > api > of one > works",
                "api > of one > works",
                "api of one works",
                "works",
            },
        ),
        (
            "tests/test_sums.py::Sums::test_add",
            {
                "tests/test_sums.py::Sums::test_add",
                "Sums::test_add",
                "tests.test_sums.Sums.test_add",
                "test_add (tests.test_sums.Sums)",
            },
        ),
        (
            r"a.py::test[\xe9 \u2013]",
            {r"a.py::test[\xe9 \u2013]", "a.py::test[\u00e9 \u2013]"},
        ),  # pytest's escapes
    ],
    ids=["javascript", "unittest", "letters"],
)
def test_the_names_that_data_sets_give_tests_are_known(name: str, forms: set[str]) -> None:
    assert forms <= {*forms_of(name)}


def test_only_the_change_log_of_both_releases_says_what_is_new(tmp_path: Path) -> None:
    old = {"CHANGES.md": "- It had a class for carts.\n", "README.md": "x"}
    new = "- It has a class for shops now.\n"
    write(tmp_path / "old", {**old, "news/1.md": "x"})
    write(
        tmp_path / "new",
        {"CHANGES.md": old["CHANGES.md"] + new, "README.md": new, "HISTORY": new, "news/1.md": new},
    )
    assert _news(tmp_path / "old", tmp_path / "new") == ["It has a class for shops now."]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("a.py::test_one", "a.py::test_one"),
        ("a.py::test_one - KeyError", "a.py::test_one"),
        ("a.py::test_one[/home/me/b.txt]", "a.py::test_one[/b.txt]"),
        ("a.py::test_one[//b/c]", "a.py::test_one[//b/c]"),
        ("test_one (a.Sums.test_one)", "test_one (a.Sums)"),
        ("It adds two numbers", "It adds two numbers"),
    ],
)
def test_the_name_of_a_test_is_compared_in_the_short_form_of_lines(name: str, short: str) -> None:
    assert _short(name) == short


@pytest.mark.parametrize("nothing", [None, "", float("nan"), "[]", []])
def test_a_line_may_have_no_tests_that_pass_before_and_a_patch_without_its_last_end(
    shop: Path, nothing: Any
) -> None:
    read = read_instance(
        json.dumps(instance(shop, PASS_TO_PASS=nothing, patch="--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b"))
    )
    assert (read.pass_to_pass, read.patch[-3:], read.moment) == ((), "+b\n", Moment("1", None))


def test_an_empty_line_at_the_end_of_a_patch_is_a_part_of_it(shop: Path) -> None:
    patch = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\n+b\n \n"
    read = read_instance(json.dumps(instance(shop, patch=patch, test_patch=patch)))
    assert (read.patch, read.test_patch) == (patch, patch)


def test_other_spellings_of_swebench_keys_are_read(shop: Path) -> None:
    other = instance(
        shop,
        fail_to_pass="['one[\\'a\\']', \"two\"]",
        created_at=1677954981000.0,
        version=float("nan"),
    )
    read = read_instance(
        json.dumps({key: value for key, value in other.items() if key != "FAIL_TO_PASS"})
    )
    assert read.fail_to_pass == ("one['a']", "two")
    assert read.moment == Moment("0", datetime(2023, 3, 4, 18, 36, 21, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\ufeff%s\r\n%s\r\n", "2 x repo: there is no clone of acme/shop"),
        ("[%s,\n%s]", "occurs twice"),
    ],
)
@needs_sandbox
def test_a_file_of_swebench_lines_may_have_a_mark_or_be_an_array(
    shop: Path, text: str, said: str
) -> None:
    line = json.dumps(instance(shop))
    other = line if said == "occurs twice" else line.replace("acme__shop-3", "acme__shop-4")
    Path("bench.json").write_text(text % (line, other), encoding="utf-8", newline="")
    with pytest.raises(UserError, match=said):
        generate("--swebench", "bench.json", "--mirrors", "none", "--output", "swe.yaml")


@needs_sandbox
def test_the_source_of_change_tasks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "need --repo, --releases or --swebench" in refusal(
        main, "--kind=change", "--output=swe.yaml"
    )
    said = refusal(main, "--kind=change", "--output=swe.yaml", "--releases=shop@1..2")
    assert "--releases shop@1..2: write pypi:" in said


@pytest.mark.parametrize(
    ("size", "said"), [(200, ()), (201, ("it changes 201 lines, more than 200",))]
)
def test_a_change_between_releases_is_a_task_unless_it_is_large(
    tmp_path: Path, size: int, said: tuple[str]
) -> None:
    """Tests are stood in for: they pass with the later release's value."""

    class Bench(Prover):
        def environment(self, *given: Any) -> Environment:
            return NO_ENVIRONMENT

        def run(self, tree: Path, *given: Any) -> TestRun:
            passes = "value = 2" in (tree / "shop.py").read_text(encoding="utf-8")
            return TestRun(
                {"tests/test_shop.py::test": TestResult.PASSED if passes else TestResult.FAILED}
            )

        def judged(self, task: ChangeTask, what: str, *given: Any) -> ChangeFate:
            return ChangeFate(task.id, what, task)

    trees = [tmp_path / "one", tmp_path / "two"]
    write(trees[0], {"shop.py": "value = 1\n", "tests/test_shop.py": "old"})
    write(
        trees[1],
        {"shop.py": "value = 2\n" + "more = 3\n" * (size - 2), "tests/test_shop.py": "new"},
    )
    releases = Releases("shop", *(Folder(path=str(tree)) for tree in trees), ("1.0", "2.0"))
    (fate,) = tasks_between(releases, Bench(SANDBOX, tmp_path / "cache", command=PYTEST))
    assert (fate.id, fate.what, fate.reasons) == ("shop-2-0-01", f"shop.py: {size} lines", said)
    assert (fate.task and fate.task.tests.fail_to_pass) == (
        None if said else ("tests/test_shop.py::test",)
    )


EARLIER = {
    "pyproject.toml": "",
    "shop/cart.py": "def total(prices):\n    return sum(prices) - 1\n\n\ndef most():\n    return 1\n",
    "shop/text/bill.py": "from shop.cart import total\n\n\ndef bill(prices):\n    return f'{total(prices)}'\n",
    "tests/test_cart.py": "from shop.cart import most\n\n\ndef test_most():\n    assert most()\n",
    "tests/test_kept.py": "from shop.text.bill import bill\n\n\ndef test_kept():\n    assert bill([9])\n",
}
LATER = {
    **EARLIER,
    "shop/cart.py": EARLIER["shop/cart.py"].replace(" - 1", "").replace("return 1", "return 2"),
    "shop/text/bill.py": EARLIER["shop/text/bill.py"].replace("'{", "'sum: {"),
    "tests/test_bill.py": (
        "from shop.text.bill import bill\n\n\ndef test_bill():\n    assert bill([1, 2]) == 'sum: 3'\n"
    ),
}


@needs_sandbox
@pytest.mark.parametrize(
    ("words", "failing"),
    [("sum", ("tests/test_bill.py::test_bill",)), (r"return \d", ())],
)
def test_a_chosen_fix_has_the_pieces_with_its_words_and_the_tests_that_are_named(
    tmp_path: Path, words: str, failing: tuple[str, ...]
) -> None:
    trees = [tmp_path / name for name in ("1.0", "2.0")]
    for tree, files in zip(trees, (EARLIER, LATER), strict=True):
        tree.mkdir()
        write(tree, files)
    releases = Releases("shop", *(Folder(path=str(tree)) for tree in trees), ("1.0", "2.0"))
    paths = ("shop", "tests/test_bill.py", "tests/test_kept.py")
    fix = ChosenFix("bill", "The sum on a bill is too small, and has no word.", paths, words)
    bench = Prover(SANDBOX, tmp_path / "cache", (":",), PYTEST)
    fate = chosen_task(fix, releases, bench)
    if not failing:
        assert fate.reasons == ("no test fails without it",)
        return
    assert fate.task, fate.reasons
    assert changed_files(content_bytes(fate.task.reference).decode()) == [
        "shop/cart.py",
        "shop/text/bill.py",
    ]
    assert "return 2" not in content_bytes(fate.task.reference).decode()
    assert fate.task.tests.fail_to_pass == failing
    assert fate.task.tests.pass_to_pass == ("tests/test_kept.py::test_kept",)
    assert (fate.task.told, fate.task.small) == (False, False)


def test_the_tests_nearest_to_a_change_name_its_files_and_those_that_it_replaces_come_first(
    tmp_path: Path,
) -> None:
    places = ["a/core/tests/test_number.py", "a/core/tests/test_other.py", "a/b/tests/test_far.py"]
    write(tmp_path, dict.fromkeys(places, "import os\n"))
    write(tmp_path, {"a/b/tests/test_user.py": "from a.core.number import Number\n"})
    patch_text = "--- a/a/core/number.py\n+++ b/a/core/number.py\n@@ -1 +1 @@\n-1\n+2\n"
    hidden = ["a/b/tests/test_far.py", "a/core/tests/test_new.py"]
    assert nearest_tests(tmp_path, patch_text, hidden, 9) == (
        "a/b/tests/test_far.py",
        "a/core/tests/test_number.py",
        "a/b/tests/test_user.py",
        "a/core/tests/test_other.py",
    )
    assert len(nearest_tests(tmp_path, patch_text, hidden, 2)) == 2


def test_the_tests_of_a_go_package_lie_beside_its_files(tmp_path: Path) -> None:
    write(
        tmp_path, dict.fromkeys(["net/mail/mail_test.go", "net/smtp/smtp_test.go"], "package x\n")
    )
    patch_text = "--- a/net/mail/message.go\n+++ b/net/mail/message.go\n@@ -1 +1 @@\n-1\n+2\n"
    assert nearest_tests(tmp_path, patch_text, (), 9) == ("net/mail/mail_test.go",)


@pytest.mark.parametrize(
    ("command", "report"),
    [
        ("pytest -q", "pytest"),
        ("node --test", "node"),
        ("npx vitest --outputFile={report}", "junit"),
        ("go test -json", "printed"),
    ],
)
def test_the_form_of_a_report_follows_from_the_command(
    tmp_path: Path, command: str, report: str
) -> None:
    assert suite_of(tmp_path, (), command).report == report


def test_a_command_of_go_names_folders_and_prints_its_results(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, (), "env GOROOT=/repo /env/go/bin/go test -json")
    assert suite.report == PRINTED
    assert suite.argument("net/mail/mail_test.go") == "./net/mail"
    assert form_of(("python", "tests/runtests.py")) == "{label}"
    assert form_of(("go", "vet", "test")) == "{path}"


def test_a_language_without_a_runner_and_a_runner_without_a_report_are_refused_by_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "pom.xml").write_text("<project/>")
    match = r"no test runner is known for it: it has none of pyproject\.toml,.* Cargo\.toml; give"
    with pytest.raises(UserError, match=match):
        suite_of(tmp_path, (), "")
    (tmp_path / "package.json").write_text('{"scripts": {"test": "karma start"}}')
    match = r"no script has a known runner \(vitest, jest, mocha, ava, tap.*\); give --command"
    with pytest.raises(UserError, match=match):
        suite_of(tmp_path, (), "")
    assert suite_of(tmp_path, (), "karma start --once").command == ("karma", "start", "--once")
    (tmp_path / "package.json").write_text(
        '{"scripts": {"test": "xo && node --import=tsx/esm --test test/*.ts"}}'
    )
    assert suite_of(tmp_path, (), "").command[:3] == ("node", "--import=tsx/esm", "--test")


@pytest.mark.parametrize(
    "build",
    [
        "setuptools-scm",
        "setuptools_scm",
        "hatch-vcs",
        "flit_scm",
        "versioningit",
        "pbr",
        "pdm.version",
    ],
)
def test_a_python_project_with_a_package_json_for_its_scripts_is_one_of_python(
    tmp_path: Path, build: str
) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"test": "karma start"}}')
    (tmp_path / "pyproject.toml").write_text(
        '[project.optional-dependencies]\ntests = ["a"]\n[tool.pytest.ini_options]\naddopts = [\n  "-p", "pytester",\n]\n'
        '[build-system]\nrequires = ["BUILD"]\n[dependency-groups]\ntest = ["b", {include-group = "more"}]\nmore = ["c"]\n'.replace(
            "BUILD", build
        )
    )
    (tmp_path / "tox.ini").write_text("[testenv]\nextras = more\ndeps =\n    d>=1\n    py38: e\n")
    suite = suite_of(tmp_path, (), "", Moment("7.2", datetime(2036, 1, 1, tzinfo=UTC)))
    assert suite.command[-2:] == ("-p", "pytester")
    dated, _, newest, least = (commands[-1] for commands in suite.environments)
    assert (
        newest
        == (
            "SETUPTOOLS_SCM_PRETEND_VERSION=7.2 PBR_VERSION=7.2 PDM_BUILD_SCM_VERSION=7.2 "
            "/env/bin/pip install -q -e '.[more,test,tests]' pytest 'd>=1' b c"  # pip only warns of an extra that is none
        )
    )
    assert "pip install -q pytest $(" in least
    assert "--uploaded-prior-to 2036-01-08T00:00:00Z" in suite.environments[0][-2]
    before_this_python = suite_of(tmp_path, (), "", Moment("7.2", datetime(2019, 1, 1, tzinfo=UTC)))
    wanted = f"--uploaded-prior-to {2011 + sys.version_info.minor}-11-15T00:00:00Z"
    assert wanted in before_this_python.environments[0][-2]
    assert dated.endswith("--no-deps -e .")
    (tmp_path / "test-requirements.txt").write_text("f")  # tox may name another version of the same
    assert (
        suite_of(tmp_path, (), "")
        .environments[0][-1]
        .endswith("pytest b c -r test-requirements.txt")
    )


def test_the_plan_freezes_the_content_of_hidden_files(shop: Path) -> None:
    before, after = (git(shop, "rev-parse", each) for each in ("HEAD~2", "HEAD~1"))
    Path("set.yaml").write_text(
        f"repositories:\n  before: {{git: shop, revision: {before}}}\n  after: {{git: shop, revision: {after}}}\n"
        "tasks:\n- id: a\n  kind: change\n  category: Debug\n  repository: before\n  prompt: Mend it.\n  tests:\n"
        "    files:\n      tests/test_cart.py: {source: after}\n    command: [pytest]\n    fail_to_pass: [a]\n",
        encoding="utf-8",
    )
    conditions = {"without": {}, "with": {"files": {"A.md": "set.yaml"}}}
    settings = json.dumps({"run_id": "r", "scenarios": "set.yaml", "conditions": conditions})
    run_here(freeze.main, "--folder", "bench/r", "--settings", settings)
    assert read_task(Path("bench", "r"), "a").tests.files == {"tests/test_cart.py": TESTS}


@pytest.mark.parametrize(
    ("script", "started", "passed_over"),
    [
        (
            "xo && node --import=tsx/esm --test test/*.ts && del-cli dist",
            "test/basic.ts",
            "test/helpers/wait.ts",
        ),
        ("node --test 'test/**/*.js'", "test/unit/a.js", "test/unit/a.json"),
        ("node --test", "test/unit/a.mjs", "tests/unit/a.mjs"),
        ("node --test tests/", "tests/a/b.js", "spec/b.js"),
        ("node --test ./{a,b}/?.js; echo", "b/x.js", "c/x.js"),
        ("vitest run", "src/a.test.ts", "test/a.ts"),
    ],
)
def test_the_script_says_which_files_are_started(
    tmp_path: Path, script: str, started: str, passed_over: str
) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"test": script}}))
    suite = suite_of(tmp_path, [], "")
    assert (suite.starts(started), suite.starts(passed_over)) == (True, False)
    assert (suite.report == "node") is ("node" in script)
