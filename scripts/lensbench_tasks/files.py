"""A generated set, and its tasks as YAML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml

from lensbench.core.errors import UserError, printable
from lensbench.core.tasks import Source, Task
from lensbench.plan.freeze import source_name
from lensbench_tasks.rounds import CandidateResult, tasks_of
from lensbench_tasks.survey import Survey

_TEXT = "tag:yaml.org,2002:str"


class Made(NamedTuple):
    """A generated set and its origin."""

    name: str
    source: Source
    author: str
    """A description of the author of the tasks."""
    wanted: int
    fates: Sequence[CandidateResult]
    known: Survey
    """The survey of the repository."""
    warnings: Sequence[str] = ()

    @property
    def tasks(self) -> list[Task]:
        """The tasks of the set."""
        return tasks_of(self.fates)


def render_set(result: Made) -> str:
    """The task set as YAML."""
    head = [
        f"# Tasks about {printable(source_name(result.source))}, proposed by {printable(result.author)}.",
        f"# Each criterion has proofs: `lensbench prove` looks them up. Review: {result.name}.review.html",
    ]
    return "\n".join(head) + "\n" + yaml_text(set_value(result))


def with_more(text: str, result: Made) -> str:
    """The text of a set with new tasks at its end. Raises UserError where `tasks` is not its last key."""
    before = yaml.safe_load(text)
    source = result.source.model_dump(mode="json")
    repository = source
    for name, value in before.get("repositories", {}).items():
        if value == source:
            repository = name
    tasks = [task | {"repository": repository} for task in set_value(result)["tasks"]]
    indents = re.findall(r"^( *)- id:", text, re.MULTILINE) or [""]
    longer = f"{text.rstrip()}\n{textwrap.indent(yaml_text(tasks), indents[-1])}"
    try:
        if len(yaml.safe_load(longer)["tasks"]) == len(before["tasks"]) + len(tasks):
            return longer
    except yaml.YAMLError:
        pass
    raise UserError(
        f"{result.name}.yaml: no task can be added; make `tasks` its last key, with `- id:` lines"
    )


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(_TEXT, text, style="|" if "\n" in text else None),
)


def yaml_text(value: object) -> str:
    """As lensbench writes task sets."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def set_value(result: Made) -> dict[str, Any]:
    """The set as plain data."""
    tasks = []
    for task in result.tasks:
        value = task.model_dump(mode="json", exclude_defaults=True) | {"repository": result.name}
        tasks.append({key: value[key] for key in _TASK_KEYS})
    repositories = {result.name: result.source.model_dump(mode="json")}
    return {"name": result.name, "repositories": repositories, "tasks": tasks}


_TASK_KEYS = ("id", "category", "repository", "prompt", "criteria")


def plain_text(text: str) -> str:
    """Foreign text on one line, with Markdown markup removed."""
    line = " ".join(printable(text).split())[:300]
    return re.sub(r"[\\`*_\[\]<>#|!]", r"\\\g<0>", line)
