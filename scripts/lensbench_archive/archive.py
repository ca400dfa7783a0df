"""Packs a benchmark into one file that others can verify: bench/<run_id>.zip (docs/archives.md).

It is a BagIt bag. The same benchmark gives the same bytes. The archive contains nothing that
identifies the machine or its user, or that looks like a secret. Files that it omits can be rebuilt from its content.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from lensbench import __version__
from lensbench.agents import secret_names
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json
from lensbench.core.system.places import ROOT, commit
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.program import Parser, add_run_folder, run_folder, run_program
from lensbench.core.system.progress import Progress, say, step
from lensbench.plan.frozen import read_plan
from lensbench.results.results_file import Results
from lensbench_archive import PROJECT, REDACTIONS, RUN, VERSIONS_FILE
from lensbench_archive.bag import make_bag, write_zip
from lensbench_archive.code import code_hash
from lensbench_archive.leaks import find_leaks, may_be_rewritten, refuse, rewrite
from lensbench_archive.machine import Machine, outside, this_machine
from lensbench_archive.rebuilding import is_derived, rebuild
from lensbench_archive.redacting import check, redact, summary
from lensbench_archive.redaction import Redaction, read_lines
from lensbench_archive.secrets import secret_values
from lensbench_archive.unpacking import files_in

PROGRAM_FILES = ("Snakefile", "rules", "templates", "requirements.lock")
"""The files of the workflow; its programs are identified by their hash."""
LIBRARIES = ("snakemake", "numpy", "krippendorff")
"""Libraries, besides our own code, that affect figures."""
_UNTIMED = "1980-01-01T00:00:00Z"
"""The fixed date of an archive whose runs have no times."""


def make_archive(
    folder: Path,
    output: Path | None = None,
    exceptions: frozenset[str] = frozenset(),
    patterns: Path | None = None,
) -> str:
    """Archives the run folder, by default beside it; returns a line that describes the archive.

    `exceptions`: ids of findings that may be included; `patterns`: a file with texts to replace. Raises UserError with
    a list of findings that must not be included, and when the results do not follow from the runs.
    """
    lines = read_lines(patterns) if patterns else []
    plan, settings, results = _read(folder)
    machine = this_machine([settings, plan], Path.cwd()).allowing(exceptions)
    with private_folder() as temporary:
        bag = Path(temporary).resolve() / str(plan["run_id"])
        step(f"copying {folder}")
        _copy_run(folder, bag / RUN, machine)
        user_files = _copy_project(settings, bag / PROJECT, machine)
        own = [*(f"{RUN}/{name}" for name in files_in(bag / RUN)), *user_files]
        redaction = Redaction()
        if lines:
            names = [*files_in(bag)]
            _rebuild_as(folder, bag / RUN, machine)
            before = bag
            bag = bag.parent / "redacted" / bag.name
            redaction, counts = redact(before, names, bag, lines)
            for line in lines:
                if line.place not in redaction.places:
                    say(f"note: {line.place} finds nothing")
            own = [redaction(name) for name in own]
        refuse(find_leaks(bag, own, machine, _values(plan)), exceptions)
        if lines:
            check(bag / RUN, before / RUN, redaction, lines)
            write_json(bag / REDACTIONS, summary(redaction, lines, counts))
        else:
            _rebuild_as(folder, bag / RUN, machine)
        step("packing")
        write_json(bag / VERSIONS_FILE, versions())
        run_id = redaction(str(plan["run_id"]))
        bag = bag.rename(bag.with_name(run_id))
        make_bag(bag, run_id, (results["last_start"] or _UNTIMED)[:10])
        output = output or folder.with_name(f"{redaction(folder.name)}.zip")
        write_zip(bag, output)
        count = len(files_in(bag))
    return f"{output}: {count} files, sha256 {sha256(output.read_bytes())}"


def _read(folder: Path) -> tuple[Plan, dict[str, Any], Results[float]]:
    """The plan, the frozen config and the results."""
    try:
        settings = yaml.safe_load(RunFolder(folder).config.read_text(encoding="utf-8"))
        return (
            read_plan(folder),
            settings,
            json.loads(RunFolder(folder).results_json.read_text(encoding="utf-8")),
        )
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(
            f"{folder}: is not a finished benchmark ({error}); finish it first"
        ) from None


def _copy_run(folder: Path, target: Path, machine: Machine) -> None:
    """Copies everything that cannot be rebuilt, except links and hidden files (marks for Snakemake)."""
    for name in _kept(folder):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, target / name)
        if may_be_rewritten(name):
            rewrite(target / name, machine)
    # replies of a model judge are stored under a hash of its settings
    plan = read_plan(target)
    write_json(RunFolder(target).plan, plan | {"judges": read_plan(folder)["judges"]})


def _kept(folder: Path) -> Iterator[str]:
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(top, name)
            relative = path.relative_to(folder).as_posix()
            is_mark = name.startswith(".") and relative != RunFolder.stopped
            is_mark = is_mark or relative.startswith(
                f"{RunFolder.attempts}/plan-"
            )  # of these, plan.json is the last
            if not (
                is_mark
                or path.is_symlink()
                or is_derived(relative)
                or relative == RunFolder.archive_log
            ):
                yield relative


def _copy_project(settings: Mapping[str, Any], target: Path, machine: Machine) -> list[str]:
    """Copies the workflow and the user's files that the settings name; returns the archived names of the latter."""
    target.mkdir(parents=True)
    for part in PROGRAM_FILES:
        copy: Any = shutil.copytree if (ROOT / part).is_dir() else shutil.copyfile
        copy(ROOT / part, target / part)
    names = []
    for source in _user_files(settings):
        name = source if _is_inside(source) else outside(source)
        if (target / name).exists():
            raise UserError(
                f"{source}: another file with this name is already in the archive; rename one of them"
            )
        if not Path(source).is_file():
            raise UserError(
                f"{source}: is missing, but the config names it; run this in the project's folder"
            )
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target / name)
        rewrite(target / name, machine)
        names.append(f"{PROJECT}/{name}")
    return names


def foreign_parts(project: Path, settings: Mapping[str, Any]) -> Iterator[str]:
    """Files in an archive's `project` folder that belong neither to the workflow nor to the settings."""
    user_names = {os.path.basename(name) for name in _user_files(settings)}
    for name, path in files_in(project).items():
        if name.partition("/")[0] not in PROGRAM_FILES and path.name not in user_names:
            yield f"{PROJECT}/{name}: is not part of the workflow, and the config does not name it"


def _user_files(settings: Mapping[str, Any]) -> list[str]:
    """The task sets, MCP files and judge prompts, and the files that conditions bring. Skills are in the plan."""
    scenarios = settings["scenarios"]
    names = [scenarios] if isinstance(scenarios, str) else list(scenarios)
    for condition in settings["conditions"].values():
        names += [condition["mcp"], *condition.get("files", {}).values()]
    names += [judge["prompt"] for judge in settings["judges"] if isinstance(judge, dict)]
    files: dict[str, None] = {}
    for name in filter(None, names):
        file = os.path.relpath(name) if _is_inside(name) else name
        files[file] = None
    return [*files]


def _is_inside(name: str) -> bool:
    return not os.path.relpath(name).startswith("..")


def _values(plan: Plan) -> list[str]:
    agents = [plan["agent"], *(judge["agent"] for judge in plan["judges"] if "agent" in judge)]
    names = {name for agent in agents if "pass_env" in agent for name in secret_names(agent)}
    return secret_values(names, os.environ)


def _rebuild_as(folder: Path, target: Path, machine: Machine) -> None:
    """Rebuilds the files that were not copied, and compares them with the run folder."""
    step("rebuilding the figures and pages")
    problems = rebuild(target)
    for name in (RunFolder.results_json, RunFolder.results):
        if machine.rewritten((folder / name).read_text(encoding="utf-8")) != machine.rewritten(
            (target / name).read_text(encoding="utf-8")
        ):
            problems.append(
                f"{name} does not follow from the runs: it was edited, or written by other code"
            )
    if problems:
        listing = "\n".join(f"  {problem}" for problem in problems)
        raise UserError(
            f"{folder}: no archive was written:\n{listing}\nDelete them, start the benchmark, and archive again."
        )


def versions() -> dict[str, str]:
    """The versions of the code and libraries that computed the figures."""
    return {
        "lensbench": __version__,
        "commit": commit(),
        "code_sha256": code_hash(ROOT),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        **{name: version(name) for name in LIBRARIES},
    }


def main() -> None:
    """Pack a benchmark into an archive that others can verify."""
    parser = Parser(prog="lensbench archive", description=main.__doc__)
    add_run_folder(parser)
    parser.add_argument("--output", type=Path, help="the archive (default: bench/<run_id>.zip)")
    parser.add_argument(
        "--allow", nargs="*", default=[], help="ids of findings to include in the archive anyway"
    )
    parser.add_argument(
        "--redact", type=Path, metavar="PATTERNS", help="a file with texts to replace, one a line"
    )
    arguments = parser.parse_args()
    folder = run_folder(arguments)
    allowed = frozenset(arguments.allow)
    with Progress(f"packing {folder}"):
        said = make_archive(folder, arguments.output, allowed, arguments.redact)
    print(said)


if __name__ == "__main__":
    run_program(main)
