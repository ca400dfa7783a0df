"""What every rule must keep to: nothing that anybody chose reaches a shell unquoted."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lensbench.core.run_folder import PLACES
from lensbench.workflow import start

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "Snakefile", *sorted((ROOT / "rules").glob("*.smk"))]
HARMLESS = {
    "PYTHON",  # quoted where it is set
    "RUN",  # a part of a command line, which is checked as well
    "BENCH",  # bench/ and a run_id, which is letters, digits and "-"
    "threads",
    "resources.gate_s",
    "resources.grace_s",
    "params.trial",
    "params.wave",  # numbers
    "wildcards.task",
    "wildcards.condition",
    "wildcards.look",  # by wildcard_constraints
}
_SHELL = re.compile(r'\b(?:shell(?::\s*|\()|RUN = \(\s*)((?:f?"[^"\n]*"\s*)+)')


def commands(text: str) -> list[str]:
    """The command lines in a workflow file."""
    return ["".join(re.findall(r'"([^"\n]*)"', found)) for found in _SHELL.findall(text)]


def unquoted(command: str) -> list[str]:
    """What is put into the command line as it is, when the rule is read or when the job is."""
    return [name for name in re.findall(r"\{([^{}]+)\}", command) if not name.endswith(":q")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_command_line_is_quoted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = commands(text)
    assert len(found) == len(re.findall(r"\bshell\s*[:(]|\bRUN = ", text)), (
        "a form of shell that this test cannot read"
    )
    assert [name for command in found for name in unquoted(command) if name not in HARMLESS] == []


def test_snakemake_compares_no_parameters_of_the_rules_of_a_finished_benchmark() -> None:
    # It would import pandas for that, where it is installed. Functions of `output` it does not compare.
    entries = [
        (path.name, name.strip(), value)
        for path in FILES
        for block in re.findall(
            r"\n    params:\n((?:        .*\n)+)", path.read_text(encoding="utf-8")
        )
        for name, _, value in (line.partition("=") for line in block.splitlines() if "=" in line)
    ]
    assert len(entries) > 8
    compared = {
        entry[:2] for entry in entries if not entry[2].startswith("lambda wildcards, output: ")
    }
    assert compared == {
        ("archive.smk", "allow"),
        ("runs.smk", "cache"),
    }  # another target; only with change tasks


def test_names_in_paths_hold_nothing_that_a_shell_obeys() -> None:
    constraints = re.search(
        r"wildcard_constraints:\n((?:    .*\n)+)", (ROOT / "Snakefile").read_text()
    )
    assert constraints
    patterns = {**dict(re.findall(r'(\w+)=r"(.*)"', constraints[1])), "task": start.ANY_TASK}
    assert "task=start.ANY_TASK" in constraints[1]
    assert {"trial", "task", "judge", "look"} <= set(patterns)
    for bad in ("a;b", "a b", "$(a)", "a'b", "../a", "a/b", "a\nb", "{a}", "-"):
        assert not [name for name in ("task", "look") if re.fullmatch(patterns[name], bad)]
        assert bad == "-" or not re.fullmatch(patterns["judge"], bad)


def test_this_test_sees_what_is_not_quoted() -> None:
    (command,) = commands('    shell:\n        "a {b:q} {wildcards.x}"\n        " {c}"\n')
    assert unquoted(command) == ["wildcards.x", "c"]


@pytest.mark.parametrize("path", FILES[1:], ids=lambda path: path.name)
def test_a_file_of_rules_starts_programs_of_its_own_room_only(path: Path) -> None:
    started = " ".join(commands(path.read_text(encoding="utf-8")))
    assert set(re.findall(r"lensbench[._](\w+)", started)) == {path.stem}


def test_rooms_import_only_rooms_below_them_and_what_lies_in_a_run_folder_is_named_once() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "tools" / "rooms.py"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    assert ", 0 circles\n" in checked.stdout
    told = subprocess.run(
        [sys.executable, ROOT / "tools" / "rooms.py", "--paths"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    own = {f"workflow/{name}.py" for name in ("ask", "launch", "skill")}
    elsewhere = own | {
        "core/system/places.py",
        "core/system/program.py",
        "lensbench_archive/finished_runs.py",
        "lensbench_archive/verdict.py",
    }
    assert {
        line.partition(":")[0] for line in told[:-1]
    } <= elsewhere  # the docs, foreign files, users' configs


def test_rules_write_what_a_run_folder_has() -> None:
    text = "".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
    named = set(re.findall(r'f"\{BENCH\}/([^"]+)"', text))
    assert len(named) > 40
    assert {at for at in named if not at.startswith(tuple(PLACES))} == {
        ".passed/{'-'.join(SCHEDULE.config.fail_on)}"
    }
