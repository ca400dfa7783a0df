"""Writes a set of change tasks: the YAML, the reference patches next to it, and the report."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lensbench.changes.task import ChangeTask, Content, FromSource, content_bytes
from lensbench.core.system.files import write_atomic
from lensbench.core.tasks import Source
from lensbench.plan.freeze import source_name
from lensbench.repositories.prepare import source_key
from lensbench_tasks.changes.candidates import ChangeFate
from lensbench_tasks.files import plain_text, yaml_text

_KEYS = (
    "id",
    "kind",
    "category",
    "repository",
    "prompt",
    "told",
    "small",
    "environment",
    "tests",
    "reference",
)


def write_set(
    name: str, fates: Sequence[ChangeFate], output: Path, head: str, beside: Path | None = None
) -> None:
    """Writes the proven tasks to `output`, and each reference to `<task id>.diff` in the folder `beside`, by default
    one with the name of the set."""
    beside = beside or output.with_suffix("")
    tasks = [fate.task for fate in fates if fate.task]
    folder = beside.relative_to(output.parent).as_posix()
    sources = {}
    for task in tasks:
        for source in _sources(task):
            sources[source_key(source)] = source.model_dump(mode="json")
        for path, content in _beside(task, beside):
            write_atomic(path, content_bytes(content))
    value = {
        "name": name,
        "repositories": dict(sorted(sources.items())),
        "tasks": [_plain(task, folder) for task in tasks],
    }
    write_atomic(output, textwrap.indent(head, "# ") + "\n" + yaml_text(value))


def _sources(task: ChangeTask) -> Iterator[Source]:
    if task.repository:
        yield task.repository
    for content in task.tests.files.values():
        if isinstance(content, FromSource):
            yield content.source


def _beside(task: ChangeTask, beside: Path) -> Iterator[tuple[Path, Content]]:
    """The contents that are too long for the YAML: the reference, and hidden files without a pinned source."""
    yield beside / f"{task.id}.diff", task.reference
    for path, content in task.tests.files.items():
        if not isinstance(content, FromSource):
            yield beside / task.id / path, content


def _plain(task: ChangeTask, folder: str) -> dict[str, Any]:
    value = task.model_dump(mode="json", exclude_defaults=True)
    assert task.repository
    value["repository"] = source_key(task.repository)
    value["reference"] = {"file": f"{folder}/{task.id}.diff"}
    for path, content in task.tests.files.items():
        if isinstance(content, FromSource):
            place = {"source": source_key(content.source)}
        else:
            place = {"file": f"{folder}/{task.id}/{path}"}
        value["tests"]["files"][path] = place
    return {key: value[key] for key in _KEYS if key in value}


def render_report(head: str, fates: Sequence[ChangeFate]) -> str:
    """The outcomes of the changes as Markdown: proven, dropped with reasons, flaky, seconds."""
    successes = [fate for fate in fates if fate.task]
    lines = [
        head,
        "",
        f"{len(successes)} of {len(fates)} changes are proven tasks; {shares(successes)}",
        "",
        "| task | repository | failing tests | passing tests | flaky | seconds | MB |",
        "|---|---|--:|--:|--:|--:|--:|",
        *map(_row, successes),
    ]
    flaky = []
    notes = []
    drops = []
    for fate in fates:
        for name in fate.proof.flaky if fate.proof else ():
            flaky.append(f"- {fate.id}: {plain_text(name)}")
        if not fate.task:
            reasons = plain_text("; ".join(fate.reasons[:3]))
            drops.append(f"- **{fate.id}**, {plain_text(fate.what)}: {reasons}")
        elif fate.note:
            notes.append(f"- {fate.id}: {plain_text(fate.note)}")
    sections = {"Flaky tests, omitted:": flaky, "Prompts:": notes, "Dropped:": drops}
    for title, items in sections.items():
        if items:
            lines += ["", title, "", *items]
    return "\n".join(lines) + "\n"


def shares(fates: Iterable[ChangeFate]) -> str:
    """How many of the proven tasks are told or small, as a sentence."""
    tasks = [fate.task for fate in fates if fate.task]
    told = sum(task.told for task in tasks)
    small = sum(task.small for task in tasks)
    return f"{told} of {len(tasks)} are told how to fix it, {small} have a small reference."


def _row(fate: ChangeFate) -> str:
    task = fate.task
    proof = fate.proof
    assert task
    assert task.repository
    assert proof
    tests = f"{len(proof.fail_to_pass)} | {len(proof.pass_to_pass)} | {len(proof.flaky)}"
    about = plain_text(source_name(task.repository))
    return f"| {task.id} | {about} | {tests} | {proof.seconds:.1f} | {proof.memory_mb} |"
