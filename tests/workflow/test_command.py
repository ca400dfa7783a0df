"""The `lensbench` command: every program by its name."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from lensbench import __version__
from lensbench.__main__ import EXIT_CODES, HIDDEN, all_verbs, module_of, overview
from lensbench.core.errors import UserError
from lensbench.core.system.places import ROOT
from lensbench.core.system.program import benchmark, only_benchmark
from lensbench.workflow.launch import (
    check_names,
    copy_demo,
    main,
    move_caches,
    profile,
    snakemake_options,
    with_tasks,
)
from lensbench_demo import docs
from programs import refusal, run_module

ROWS = yaml.safe_load(Path(__file__).with_name("run_options.yaml").read_text(encoding="utf-8"))


CORES = "an option cannot be read (Error parsing number of cores (--cores, -c): must be integer or 'all')"
UNREAD = "Invalid config definition: Config entries have to be defined as name=value pairs."
TARGET = "is no target; name a benchmark by --config run_id=<run id>, a task by --only"
VERBS = [name for title, group in all_verbs().items() if title != HIDDEN for name in group]
FOR_PROGRAMS = all_verbs()[HIDDEN]


def lensbench(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return run_module("lensbench", *arguments, cwd=folder)


def tree(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_the_overview_has_a_line_for_every_verb_which_no_hidden_program_hides_and_the_exit_codes() -> (
    None
):
    lines = overview().splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == VERBS
    assert all(len(line.split()) > 3 and len(line) < 100 for line in lines if line.startswith("  "))
    assert lines[-1] == EXIT_CODES
    assert not FOR_PROGRAMS.keys() & set(VERBS)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["check", *FOR_PROGRAMS])
def test_help_names_the_verb_and_does_nothing(verb: str, tmp_path: Path) -> None:
    """`test_documentation` starts the help of every verb."""
    shown = lensbench(verb, "--help", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith(f"usage: lensbench {verb}" if verb in VERBS else "usage: ")
    assert tree(tmp_path) == []


def test_a_reader_that_has_gone_is_no_error() -> None:
    for option in ("--help", "--version"):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-P", "-m", "lensbench", option]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_help_of_every_verb_begins_with_its_name() -> None:
    page = (ROOT / "docs" / "reference" / "verbs.md").read_text(encoding="utf-8")
    assert [
        verb
        for verb in VERBS
        if f"\n### lensbench {verb}\n\n```text\nusage: lensbench {verb}" not in page
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "library", "extra"),
    [
        ("archive", "bagit", "archive"),
        ("archive", "detect_secrets", "archive"),
        ("verify", "bagit", "archive"),
        ("generate", "tree_sitter", "tasks"),
        ("prove", "tree_sitter", "tasks"),
        ("lens", "tree_sitter", "tasks"),
    ],
)
def test_a_verb_without_its_extra_names_it_in_one_line(verb: str, library: str, extra: str) -> None:
    code = f"import runpy, sys; sys.modules[{library!r}] = None; runpy.run_module({module_of(verb)!r}, run_name='__main__')"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 2
    assert re.fullmatch(
        rf"error: {library}\S* is not installed; pip install 'lensbench\[{extra}\]'\n", ended.stderr
    )


@pytest.mark.slow
def test_a_program_gets_its_arguments_and_gives_its_exit_code() -> None:
    wrong = lensbench("compare", "--no-such-option")
    why = "the following arguments are required: runs"
    assert (wrong.returncode, wrong.stderr) == (
        2,
        f"error: {why}; `lensbench compare --help` shows the options\n",
    )


def test_wrong_names_of_verbs_benchmarks_and_profiles_are_one_line(tmp_path: Path) -> None:
    wrong = lensbench("compair")
    assert wrong.returncode == 2
    assert wrong.stderr == "error: there is no verb 'compair'; did you mean 'compare'?\n"
    with pytest.raises(UserError, match=r"^there is no verb 'xyzzy'; lensbench --help lists them$"):
        module_of("xyzzy")
    ended = lensbench("status", "mine", folder=tmp_path)
    assert ended.returncode == 2
    assert (
        ended.stderr
        == "error: mine: there is no such benchmark; name a run id, or bench/<run_id>\n"
    )


def test_a_benchmark_is_named_by_its_run_id_or_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench" / "mine").mkdir(parents=True)
    assert {benchmark("mine"), benchmark("bench/mine")} == {Path("bench/mine")}
    assert benchmark("gone") == Path("gone")


def test_the_only_benchmark_of_a_folder_needs_no_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no benchmark in"):
        only_benchmark(tmp_path)
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.json").touch()
        (tmp_path / f"{name}.zip").touch()
        if name == "b":
            assert only_benchmark(tmp_path) == tmp_path / "b"
    with pytest.raises(UserError, match=r"has 2 benchmarks; name one of .*/a, .*/b$"):
        only_benchmark(tmp_path)


def test_nothing_but_help_is_help() -> None:
    assert lensbench().stdout == lensbench("--help").stdout == f"{overview()}\n"


@pytest.mark.parametrize(("here", "options", "told"), ROWS)
def test_run_takes_config_and_all_cores(
    tmp_path: Path, here: list[str], options: list[str], told: list[str]
) -> None:
    for name in here:
        (tmp_path / name).touch()
    ours = [] if "--workflow-profile" in options else [*profile()]
    assert snakemake_options(tmp_path, options) == [*ours, *told]
    assert sorted(path.name for path in tree(tmp_path)) == sorted(here)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--nosuch"], "unrecognized arguments: --nosuch"),
        (["-n", "--cores"], "argument --cores/-c: expected one argument"),
        (["--cores", "x", "--nosuch"], CORES),
        (
            ["--config", "run_id=a", "nosuch"],
            f"an option cannot be read ({UNREAD} (Unparsable value: 'nosuch'))",
        ),
        (["--cores", "0"], "--cores: at least 1"),
        (["--jobs", "0"], "--cores: at least 1"),
        (["--set-threads", "run=x"], "--set-threads: write a number, as in run=4"),
        (["x.yaml"], "x.yaml: is no target; write --configfile x.yaml"),
        (["run"], f"run: {TARGET}"),
        (["bench/a/b.md"], f"bench/a/b.md: {TARGET}"),
        (["-n", "--until", "archiv"], "archiv: is no rule; did you mean 'archive'?"),
        (["--set-threads", "nosuch=2"], "nosuch: is no rule"),
        (
            ["--resources", "mem=x"],
            "an option cannot be read (Resource 'mem' was given value 'x', which is not an integer)",
        ),
    ],
)
def test_an_option_that_snakemake_does_not_know_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], why: str
) -> None:
    with pytest.raises(SystemExit) as end:
        snakemake_options(tmp_path, options)
    assert end.value.code == 2
    assert (
        capsys.readouterr().err
        == f"error: {why}; `lensbench run --help` shows the most useful options\n"
    )
    assert tree(tmp_path) == []


def test_our_profile_is_given_as_options_that_no_folder_of_a_project_replaces() -> None:
    assert "--keep-going --rerun-triggers mtime params software-env --rerun-incomplete" in " ".join(
        profile()
    )
    assert [*profile()][-2:] == ["--workflow-profile", "none"]


@pytest.mark.slow
def test_an_error_of_the_config_stands_alone_even_beside_a_folder_default(tmp_path: Path) -> None:
    (tmp_path / "default").mkdir()
    (tmp_path / "config.yaml").write_text("run_id: shop\n")
    ended = lensbench("run", folder=tmp_path)
    assert ended.stderr.startswith("error: config.yaml: ")


def test_a_task_alone_is_a_key_of_the_config() -> None:
    assert with_tasks(["-n", "--cores", "2"]) == ["-n", "--cores", "2"]
    assert with_tasks(["--only", "cart", "-n", "--only=shop"]) == [
        "-n",
        "--config",
        "only=[cart, shop]",
    ]
    assert with_tasks(["--config", "seed=2", "--only", "cart"]) == [
        "--config",
        "only=[cart]",
        "seed=2",
    ]


def test_several_configs_are_named(tmp_path: Path) -> None:
    for name in ("config.a.yaml", "config.b.yaml"):
        (tmp_path / name).touch()
    with pytest.raises(
        UserError, match=r"name one: --configfile config\.a\.yaml or config\.b\.yaml"
    ):
        snakemake_options(tmp_path, [])


def test_a_start_with_a_wrong_option_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--coers" in refusal(main, "--coers", "2")
    assert tree(tmp_path) == []


def test_copying_the_demo_leaves_what_is_there(tmp_path: Path) -> None:
    mine = tmp_path / "scenarios" / "demo.yaml"
    mine.parent.mkdir()
    mine.write_text("mine")
    copy_demo(tmp_path)
    assert mine.read_text() == "mine"
    for name in (
        "config.yaml",
        "scenarios/standard.yaml",
        ".claude/skills/benchmark/lens-mcp.json",
    ):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()


def test_the_version_is_the_same_wherever_it_stands() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["version"] == project["version"] == __version__
    assert citation["license"] == project["license"] == "MIT"


def test_what_the_user_has_no_right_to_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()  # that it may not be started is so for root, too
    code = "import subprocess; from lensbench.core.system.program import run_program; run_program(lambda: subprocess.run(['./plain']))"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ./plain: Permission denied; fix that, then start again")


@pytest.mark.parametrize(
    "options", [["--configfile", "mine.yaml"], ["-n", "--configfile=mine.yaml"], ["--configfile"]]
)
def test_a_config_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal(main, *options).endswith(
        ": there is no such config; `lensbench init` writes one"
    )
    (tmp_path / "mine.yaml").touch()
    check_names(["--configfile", str(tmp_path / "mine.yaml"), "-n"])
    check_names(["--workflow-profile", "default", "--workflow-profile=none"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-n", "--directory", "gone"], "--directory gone: there is no such folder"),
        (["--directory=gone"], "--directory gone: there is no such folder"),
        (["--workflow-profile", "nosuch"], "--workflow-profile nosuch: there is no such folder"),
    ],
)
def test_no_folder_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        check_names(options)
    check_names(["archive", "-n", "--directory", "."])


@pytest.mark.parametrize("home", ["/proc", "/dev/null"])
def test_where_the_home_folder_cannot_be_written_caches_are_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    move_caches(tmp_path / "project")
    assert "XDG_CACHE_HOME" not in os.environ
    monkeypatch.setenv("HOME", home)
    move_caches(tmp_path / "project")
    assert os.environ["XDG_CACHE_HOME"] == str(tmp_path / "project" / ".snakemake" / "cache")
    monkeypatch.delenv("XDG_CACHE_HOME")


def test_a_page_by_its_name_the_list_of_all_and_an_unknown_page_in_one_line() -> None:
    text = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    assert (
        docs.page("gate")
        == docs.page("docs/gate.md")
        == text
        == lensbench("docs", "gate").stdout[:-1]
    )
    assert docs.page("reference/verbs").startswith("# Verbs")
    assert docs.page("examples").startswith("# Examples")
    names = [line.split()[0] for line in docs.overview().splitlines() if line]
    assert {"gate", "tutorial", "reference/config", "examples"} <= set(names)
    assert f"cp -r {ROOT / 'examples'} ." in docs.overview()
    with pytest.raises(UserError, match="no page 'gat'; did you mean 'gate'"):
        docs.page("gat")
