"""Reads and writes task sets in all formats, and reports errors with their lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, ValidationError

from lensbench.agents import programs
from lensbench.changes.task import ChangeTask, inline_files
from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.handed_over import decoded
from lensbench.core.system.yaml_places import (
    MAX_YAML_BYTES,
    Document,
    DocumentError,
    KeyPath,
    parse_document,
)
from lensbench.core.tasks import (
    MAX_CRITERIA,
    MIN_CRITERIA,
    Folder,
    Git,
    Many,
    OneLine,
    Source,
    Strict,
    Task,
)
from lensbench.plan import task_markdown
from lensbench.plan.validation import explain
from lensbench.repositories.sources import folder, git


def _kind_of_task(value: Any) -> str:
    is_change = isinstance(value, ChangeTask)
    if isinstance(value, dict):
        is_change = value.get("kind") == "change"
    return "task change" if is_change else "task question"


AnyTask = Annotated[
    Annotated[Task, Tag("task question")] | Annotated[ChangeTask, Tag("task change")],
    Discriminator(_kind_of_task),
]


class ScenarioFile(Strict):
    """A task set as YAML."""

    name: OneLine = ""
    """The name of the set."""
    repositories: dict[str, Source] = Field(default={})
    """Named sources; a task refers to one of them, or has its own."""
    tasks: Many[AnyTask]
    """The tasks."""


def source_problem(source: Source | None) -> str:
    """What is wrong with a local source; "" when nothing is, and for sources that must be downloaded."""
    match source:
        case Folder(path=path):
            place = folder.location(path)
            if not os.path.isdir(place):
                return f"there is no folder {place}; correct the path, {_FROM_HERE}"
            if not set(os.listdir(place)) - {".git"}:
                return f"the folder {place} is empty; put code there, or correct the path, {_FROM_HERE}"
        case Git(git=address):
            place = git.location(address)
            if place.startswith("/") and not os.path.isdir(place):
                return f"there is no git repository at {place}; correct the path, {_FROM_HERE}"
    return ""


_FROM_HERE = "which is relative to the folder where lensbench runs"


@dataclass(frozen=True)
class ScenarioSet:
    """All tasks of a run, and the rule violations that were accepted (imported sets only)."""

    tasks: tuple[Task, ...]
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Files with references and hidden tests that the task sets name."""


_LONGEST = 128 * 1024 - 4096
"""Bytes of a prompt in an argument: Linux takes 128 KiB, and the suffix needs some."""


def _prompt_problem(prompt: str, kind: str) -> str:
    """Why an agent of this kind would not get the prompt as it is; "" when it does."""
    program = programs().get(kind)
    if program is None:
        return ""
    first = prompt.lstrip()[:1]
    if first in tuple(program.commands):
        return (
            f"its prompt begins with {first!r}, which {kind} takes for a command; begin with a word"
        )
    size = len(prompt.encode())
    if size > _LONGEST:
        return f"its prompt has {size} bytes, and {kind} takes at most {_LONGEST}; put the long part into a file"
    return ""


def read_scenarios(
    files: Iterable[str], default: Source | None = None, imported: bool = False, kind: str = ""
) -> ScenarioSet:
    """The tasks of all files, in order. `default`: the repository of tasks that name none; `kind`: the agent's. In an
    imported set a wrong number of criteria is a warning. Raises UserError with a line per problem."""
    problems: list[str] = []
    warnings: list[str] = []
    named: list[str] = []
    entries: list[tuple[Task, str]] = []
    for name in files:
        try:
            entries += _read_file(name, _content(Path(name)), named)
        except OSError as error:
            problems.append(f"{error.filename or name}: cannot be read: {error.strerror}")
        except UserError as error:
            problems.append(str(error))
    for task, place in entries:
        count = len(task.criteria)
        # the tests of a change task decide; facts are extra
        fewest = 1 if isinstance(task, ChangeTask) else MIN_CRITERIA
        if not fewest <= count <= MAX_CRITERIA:
            criteria = "1 criterion" if count == 1 else f"{count} criteria"
            advice = "Split the task or drop facts."
            if count < MIN_CRITERIA:
                advice = "Add another verifiable fact."
            text = f"task {task.id!r} has {criteria}; the protocol wants {MIN_CRITERIA} to {MAX_CRITERIA}."
            if imported and count:
                warnings.append(f"{place}: {text}")
            else:
                problems.append(f"{place}: {text} {advice}")
        if task.repository is None and default is None and not imported:
            problems.append(
                f"{place}: task {task.id!r} names no repository; add one, or set it in the config"
            )
        of_source = "" if imported else source_problem(task.repository)
        for problem in filter(None, (of_source, _prompt_problem(task.prompt, kind))):
            problems.append(f"{place}: task {task.id!r}: {problem}")
    places: dict[str, str] = {}
    tasks: list[Task] = []
    for task, place in entries:
        if task.id in places:
            problems.append(
                f"{place}: task {task.id!r} already exists ({places[task.id]}); rename one of them"
            )
        places.setdefault(task.id, place)
        if task.repository is None:
            task = task.model_copy(update={"repository": default})
        tasks.append(task)
    if problems:
        raise UserError("\n".join(problems))
    return ScenarioSet(tuple(tasks), tuple(warnings), tuple(named))


def _content(path: Path) -> bytes:
    """The bytes of a task set. Raises OSError, and UserError when it is larger than allowed."""
    with path.open("rb") as file:
        content = file.read(MAX_YAML_BYTES + 1)
    if len(content) > MAX_YAML_BYTES:
        raise UserError(
            f"{path}: is larger than {MAX_YAML_BYTES} bytes; split it into several files"
        )
    return content


def _read_file(name: str, source: bytes, named: list[str]) -> list[tuple[Task, str]]:
    try:
        if name.endswith((".md", ".markdown")):
            entries = task_markdown.parse(decoded(source))
            value: Any = {"tasks": [entry.value for entry in entries]}
            document = Document(value, {})
            for index, entry in enumerate(entries):
                document.lines["tasks", index] = entry.line
        else:
            document = parse_document(source)
            value = document.value
            if not isinstance(value, dict) or "conditions" in value:
                raise DocumentError("must be a task set, a mapping with the key 'tasks'")
            _put_named_repositories(value, document.lines)
            tasks = value.get("tasks")
            if isinstance(tasks, list):
                value["tasks"] = [inline_files(task, Path(name).parent, named) for task in tasks]
    except UnicodeDecodeError as error:
        line = source[: error.start].count(10) + 1
        raise UserError(f"{name}:{line}: is not UTF-8 text") from None
    except DocumentError as error:
        raise UserError(f"{name}:{error.line}: {error}") from None

    def place(path: KeyPath) -> str:
        return f"{name}:{document.line(path)}"

    try:
        file = ScenarioFile.model_validate(value)
    except ValidationError as error:
        raise UserError("\n".join(explain(error, ScenarioFile, value, place))) from None
    if not file.tasks:
        raise UserError(
            f"{name}:1: has no task; in a Markdown set each one starts with '#### <id>'"
        )
    return [(task, place(("tasks", index))) for index, task in enumerate(file.tasks)]


def _put_named_repositories(value: dict[str, Any], lines: dict[KeyPath, int]) -> None:
    tasks = value.get("tasks")
    if not isinstance(tasks, list):
        return
    sources = value.get("repositories")
    if not isinstance(sources, dict):
        sources = {}
    for holder, key, path in _naming_a_repository(tasks):
        name = holder.get(key)
        if isinstance(name, str):
            if name not in sources:
                names = ", ".join(sources) or "none"
                hint = did_you_mean(name, sources)
                raise DocumentError(
                    f"repository {name!r} is not under 'repositories' ({names} there){hint}",
                    lines[path],
                )
            holder[key] = sources[name]


def _naming_a_repository(tasks: list[Any]) -> Iterator[tuple[dict[str, Any], str, KeyPath]]:
    """The places that may name a repository (tasks and their hidden files): mapping, key in it, and its path."""
    for index, task in enumerate(tasks):
        if isinstance(task, dict):
            yield task, "repository", ("tasks", index, "repository")
            tests = task.get("tests")
            files = tests.get("files") if isinstance(tests, dict) else None
            for path, content in files.items() if isinstance(files, dict) else ():
                if isinstance(content, dict):
                    yield content, "source", ("tasks", index, "tests", "files", path, "source")
