"""Starts the workflow in the current folder: `lensbench run`, with any of Snakemake's options."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, suppress
from itertools import pairwise
from pathlib import Path

import yaml

from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.run_folder import PLACES
from lensbench.core.system.places import ROOT
from lensbench.core.system.program import Parser, only_config, run_program
from lensbench.workflow.cells import run_cells, with_settings

_DEMO = ("config.yaml", "scenarios", ".claude/skills/benchmark")
"""The files of the demo, by their paths in a checkout."""
PLAIN = r"((-n|--dry-run|--verbose|--cores[ =]([1-9]\d*|all)|--configfile[ =][^ -]\S*)( |$))*"
"""Options that need no check."""
HELP = """\
usage: lensbench run [-n] [--cores N] [--configfile FILE] [--only TASK] [--matrix KEY=V,V ...]
                     [--config KEY=VALUE ...] [target ...]

Run what is missing of the benchmark in this folder, described by config.yaml or the only config.*.yaml. Without either,
the demo is copied here. All of Snakemake's options work; the most useful ones:

  -n, --dry-run          show what would run, and why
  --cores N              how many agents run at a time (default: the number of cores)
  --configfile FILE      use another config
  --matrix KEY=V,V ...   run it with each agent and model of the product, in folders of their own, and one table at the
                         end: --matrix agent=claude-code model=sonnet,opus --matrix agent=codex model=gpt-5
  --only TASK            make the runs of this task only, and results of what is there
  --config KEY=VALUE     override settings: run_id=second, fail_on=HARM, 'gate={looks: 3}'
  --workflow-profile P   run on a cluster (docs/clusters.md)
  --verbose              show Snakemake's own output instead of one line

targets: archive, judge_sheet (default: everything up to the results)
All options: python -m snakemake --help
"""


def copy_demo(folder: Path) -> None:
    """Copies the demo's config, task sets and MCP file into `folder`; existing files are not changed."""
    for part in _DEMO:
        for file in sorted([ROOT / part, *(ROOT / part).rglob("*")]):
            target = folder / file.relative_to(ROOT)
            if file.is_file() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)  # run.sh of the skill stays executable


def snakemake_options(folder: Path, options: Sequence[str]) -> list[str]:
    """The options for Snakemake. Copies the demo when there is no config. Raises UserError when there are several;
    exits when Snakemake does not know an option."""
    ours: list[str] = []
    if not _has(options, "--workflow-p"):
        ours += profile()
    # of several --cores, Snakemake takes the last one
    if not _has(options, "-j", "--job", "--profile", "--workflow-profile"):
        ours += ["--cores", "all"]
    if not re.fullmatch(PLAIN, " ".join(options)):
        _check(options)
    if _has(options, "--configf", "-d", "--dir", "-v", "--version"):
        return [*ours, *options]
    config = only_config(folder)
    if not (folder / config).exists():
        _check(options)
        copy_demo(folder)
        print("no config.yaml here: copied the demo's; `lensbench init` writes one for your server")
    if config == "config.yaml":
        return [*ours, *options]
    return [*ours, *options, "--configfile", config]


def _has(options: Sequence[str], *starts: str) -> bool:
    return any(option.startswith(starts) for option in options)


def profile() -> Iterator[str]:
    """Our profile as options: Snakemake would announce it, and prefer a folder `default` of the project."""
    file = ROOT / "profiles" / "default" / "config.yaml"
    for key, value in yaml.safe_load(file.read_text("utf-8")).items():
        if not value:
            continue
        yield f"--{key}"
        if isinstance(value, str):
            yield value
        elif value is not True:
            yield from value
    yield from ("--workflow-profile", "none")


def with_tasks(options: Sequence[str]) -> list[str]:
    """The options, with each `--only <task>` in the key `only` of the config."""
    parser = Parser(prog="lensbench run", add_help=False, allow_abbrev=False)
    parser.add_argument("--only", action="append", metavar="TASK")
    arguments, rest = parser.parse_known_args(options)
    if not arguments.only:
        return rest
    return with_settings(rest, [f"only=[{', '.join(arguments.only)}]"])


def matrix_of(options: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """The products of each `--matrix KEY=VALUE,VALUE ...`, and the other options."""
    products: list[list[str]] = []
    rest: list[str] = []
    is_open = False
    for option in options:
        if option == "--matrix":
            products.append([])
            is_open = True
        elif is_open and "=" in option and not option.startswith("-"):
            products[-1].append(option)
        else:
            is_open = False
            rest.append(option)
    if not all(products):
        raise UserError(
            "--matrix: write KEY=VALUE,VALUE after it, such as agent=claude-code model=sonnet,opus"
        )
    return products, rest


def _check(options: Sequence[str]) -> None:
    """Ends with one line for what makes Snakemake list all its options, show a traceback, or wait for ever."""
    # takes half a second, and few starts need it
    from snakemake.cli import get_argument_parser, parse_config

    try:
        with redirect_stderr(io.StringIO()) as usage:
            values = get_argument_parser().parse_args(options)
            parse_config(values.config)
        why = _problem(values)
    except SystemExit as end:
        if not end.code:
            raise
        why = usage.getvalue().rpartition("error: ")[2].strip()
    except Exception as error:  # each value has its reader
        why = f"an option cannot be read ({str(error).rstrip('.')})"
    if why:
        print(
            f"error: {why}; `lensbench run --help` shows the most useful options", file=sys.stderr
        )
        sys.exit(2)


def _problem(values: Namespace) -> str:
    """What is wrong with options that Snakemake can read; "" for nothing."""
    if any(count is not None and count <= 0 for count in (values.cores, values.jobs)):
        return "--cores: at least 1"
    if any(count.is_evaluable() for count in values.set_threads.values()):
        return "--set-threads: write a number, as in run=4"
    files = [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")]
    text = "".join(file.read_text("utf-8") for file in files)
    rules = dict(re.findall(r"(?ms)^(?:rule|checkpoint) (\w+):$(.*?)(?=^\w|\Z)", text))
    for target in values.targets:
        below = target.partition("bench/")[2].partition("/")[2]
        is_for_each = "wildcards." in rules.get(
            target, "wildcards."
        )  # a file for each run or judge
        if is_for_each and not below.startswith(PLACES):
            if Path(target).suffix in (".yaml", ".yml"):
                return f"{target}: is no target; write --configfile {target}"
            return f"{target}: is no target; name a benchmark by --config run_id=<run id>, a task by --only"
    for name in (
        *values.until,
        *values.omit_from,
        *values.forcerun,
        *values.set_threads,
        *values.set_resources,
    ):
        if name not in rules and not re.match("bench/.+[./]", name):
            return f"{name}: is no rule{did_you_mean(name, rules)}"
    return ""


def check_names(options: Sequence[str]) -> None:
    """Raises UserError for a config, folder or profile that is missing."""
    for option, following in pairwise((*options, "")):
        name = option.partition("=")[2] or following
        if option.startswith("--configf") and not Path(name).is_file():
            raise UserError(
                f"{name or '--configfile'}: there is no such config; `lensbench init` writes one"
            )
        if option.startswith("--dir") and not Path(name).is_dir():
            raise UserError(f"--directory {name}: there is no such folder")
        if option.startswith("--workflow-p") and name != "none":
            places = (Path(name), Path("profiles", name), ROOT / "profiles" / name)
            if not any(map(Path.exists, places)):
                raise UserError(
                    f"--workflow-profile {name}: there is no such folder (docs/clusters.md)"
                )


def move_caches(folder: Path) -> None:
    """Lets Snakemake keep its caches in `folder` where the home folder cannot be written."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    if not os.access(cache, os.W_OK):
        os.environ["XDG_CACHE_HOME"] = str(folder / ".snakemake" / "cache")


def main() -> None:
    """Replaces this process with Snakemake on the workflow of this package."""
    products, options = matrix_of(sys.argv[1:])
    if {"-h", "--help"} & set(options):
        print(HELP, end="")
        return
    check_names(options)
    if products:
        sys.exit(run_cells(products, options))
    options = with_tasks(options)
    move_caches(Path.cwd())
    argv = snakemake_options(Path.cwd(), options)
    sys.stdout.flush()
    os.execv(
        sys.executable,
        [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), *argv],
    )


if __name__ == "__main__":
    run_program(main)
