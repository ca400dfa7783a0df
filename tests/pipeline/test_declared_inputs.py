"""What a stage opens in the run folder, compared with what its rule, and the rules before it, declare."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from small_benchmark import CHECKOUT, Project

WATCHER = """
import os, sys
LOG, BENCH = os.environ["OPENED"], os.environ["WATCHED"] + os.sep
def note(event, arguments):
    if event != "open" or not isinstance(arguments[0], (str, bytes)):
        return
    path, mode, flags = arguments
    path = os.path.abspath(os.fsdecode(path))
    if path.startswith(BENCH) and not flags & (os.O_WRONLY | os.O_RDWR):
        arguments = sys.orig_argv
        module = arguments[arguments.index("-m") + 1] if "-m" in arguments else arguments[0]
        out = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(out, f"{module}\\t{path[len(BENCH):]}\\n".encode())
        os.close(out)
sys.addaudithook(note)
"""

BESIDE = {
    "spent.json": "what was spent so far, which every attempt adds to",
    "preflight.json (run)": "the tools that the servers listed, written before the first job of a start",
    "looks.jsonl": "the account of error: a look reads what looks before it have drawn, and appends to it",
    "requests/": "what `lensbench check --requests` measured: an input where it is there",
    "results.json (scores)": "whether a verdict was shown, when that account is missing; made from estimates.json",
    "attempts/": "the store, which no rule owns: its journal is declared, and a new answer is a line in it",
    "judging/mechanical.json": "how often this judge was asked again, by its own hand",
}
"""What is read and is no rule's output, and why."""


def jobs(project: Project) -> Iterator[tuple[str, dict[str, Any]]]:
    """The outputs that Snakemake keeps records of, by their names in the project."""
    for record in (project.folder / ".snakemake" / "metadata").iterdir():
        yield base64.urlsafe_b64decode(record.name).decode(), json.loads(record.read_text())


def test_every_file_that_a_stage_reads_is_declared_by_its_rule_or_by_one_before_it(
    project: Project,
) -> None:
    watcher = project.control / "watcher"
    opened = project.control / "opened"
    watcher.mkdir()
    (watcher / "sitecustomize.py").write_text(WATCHER)
    paths = f"{watcher}{os.pathsep}{CHECKOUT / 'scripts'}"
    project.behave(bert_with="empty")
    project.configure(discards={"max_rounds": 1}, judges=["mechanical", "human"])
    watched = {"PYTHONPATH": paths, "OPENED": str(opened), "WATCHED": str(project.bench)}
    project.start(env=watched)
    project.start(env=watched)  # the second round reads discards and what the first one left

    made = dict(jobs(project))
    program = {
        job["shellcmd"].split(" -m ")[1].split()[0]: job["rule"]
        for job in made.values()
        if job["shellcmd"]
    }
    assert len(program) >= 10
    inputs: dict[str, set[str]] = {}
    together: dict[tuple[str, ...], list[str]] = {}  # the outputs of one job
    for output, job in made.items():
        inputs.setdefault(job["rule"], set()).update([output, *job["input"]])
        together.setdefault(tuple(job["log"]), []).append(output)

    def declared(rule: str) -> set[str]:
        known = set[str]()
        waiting = list(inputs[rule])
        for name in waiting:  # grows while it is walked
            if name not in known:
                known.add(name)
                waiting += (
                    [*made[name]["input"], *together[tuple(made[name]["log"])]]
                    if name in made
                    else []
                )
        return known

    undeclared = set()
    prefix = project.bench.relative_to(project.folder).as_posix()
    for line in opened.read_text().splitlines():
        module, name = line.split("\t")
        path = f"{prefix}/{name}"
        if module not in program or any(part.startswith(".") for part in Path(name).parts):
            continue
        if {name, f"{name.split('/')[0]}/", f"{name} ({program[module]})"} & BESIDE.keys():
            continue
        known = declared(program[module])
        if path not in known and not any(path.startswith(f"{each}/") for each in known):
            undeclared.add(f"{program[module]}: {name}")
    assert not undeclared, "\n".join(sorted(undeclared))
