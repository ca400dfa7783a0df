"""Parses and writes task sets in the protocol's Markdown format (`scenarios.md`).

    #### <id>
    - **Category**: Debug
    - **Prompt**:
      `one line, wrapped in backticks`
    - **Judge Criteria**:
      1. a verifiable fact

Text before the first heading, titles after an id, rules between tasks, unknown fields and the text below other headings
are ignored, since existing files have them. Additions to the protocol are written so that other parsers skip them: a
`Repository` field, and a `facts` bullet under a criterion with the judge's patterns as JSON.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from lensbench.core.system.yaml_places import DocumentError
from lensbench.core.tasks import Category, Task

_TASK = re.compile(
    r"\s{0,3}####\s+[*`]*(?P<id>[^*`\s:]+)[*`]*(?:\s*:\s.*|\s+[\u2013\u2014-]\s.*)?\s*#*\s*$"
)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_RULE = re.compile(r"\s{0,3}(-{3,}|\*{3,}|_{3,}|={3,})\s*$")
_FIELD = re.compile(
    r"\s{0,3}(?:[-*+]\s+)?\*{0,2}(?P<name>Category|Prompt|Judge Criteria|Criteria|Repository)"
    r"\*{0,2}\s*:\s*\*{0,2}\s*(?P<value>.*)$",
    re.IGNORECASE,
)
_OTHER_FIELD = re.compile(r"[-*+]\s+\*\*[^*`]{1,60}(?::\*\*|\*\*\s?:)")
_ITEM = re.compile(r"(?P<indent>\s*)(?:\d{1,3}[.)]|[-*+])\s+(?P<text>.+)$")
_FACTS = re.compile(r"\s*-\s+facts:\s*(?P<json>\{.*\})\s*$")
_FENCE = re.compile(r"\s*(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_CATEGORIES = {re.sub(r"\W", "", category.value).lower(): category.value for category in Category}


@dataclasses.dataclass
class ParsedTask:
    """A parsed task, not yet validated, and the 1-based line of its heading."""

    line: int
    value: dict[str, Any]
    field: str = ""
    """The current field; `closed` below a heading that does not belong to the task."""
    indent: int = 0
    """The indent of the criteria; deeper lines belong to the criterion above."""
    text: list[str] = dataclasses.field(default_factory=list)


def parse(text: str) -> list[ParsedTask]:
    """The tasks in `text`, with values as written; the caller validates them. Raises DocumentError for JSON that does
    not parse, and for a code fence that is not closed."""
    entries: list[ParsedTask] = []
    fence = ""
    start = 0
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        heading = _TASK.match(line)
        if fence:
            entries[-1].text.append(line)
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = entries[-1].field = ""
        elif heading:
            entries.append(ParsedTask(number, {"id": heading["id"], "criteria": []}))
        elif entries:
            fence = _read_line(entries[-1], line, number)
            start = number
    if fence:
        raise DocumentError(
            f"opens a code fence that is not closed; end the prompt with {fence}", start
        )
    for entry in entries:
        if entry.text:
            entry.value["prompt"] = _unwrap(entry.text)
    return entries


def _read_line(entry: ParsedTask, line: str, number: int) -> str:
    """Adds a line to the entry; returns the code fence that it opens, or ""."""
    field = _FIELD.match(line)
    if _HEADING.match(line):
        entry.field = "closed"
    elif entry.field == "closed":
        return ""
    elif _RULE.match(line):
        entry.field = ""
    elif field:
        return _start_field(entry, field["name"].lower(), field["value"].strip(), number)
    elif _OTHER_FIELD.match(line):
        entry.field = ""
    elif entry.field == "prompt":
        return _add_to_prompt(entry, line)
    elif entry.field == "criteria":
        _read_criterion(entry, line, number)
    return ""


def _start_field(entry: ParsedTask, name: str, value: str, line: int) -> str:
    entry.field = "criteria" if name.endswith("criteria") else name
    if name == "category":
        entry.value["category"] = _CATEGORIES.get(re.sub(r"\W", "", value).lower(), value)
    elif name == "repository":
        entry.value["repository"] = _json(value.strip("`"), line)
    elif name == "prompt":
        entry.text = []
        return _add_to_prompt(entry, value)
    return ""


def _add_to_prompt(entry: ParsedTask, line: str) -> str:
    """Adds a line to the prompt; returns the code fence that it opens, which must contain the whole prompt."""
    opening = None if any(entry.text) else _FENCE.match(line)
    if line or entry.text:
        entry.text.append(line)
    return opening["fence"] if opening else ""


def _read_criterion(entry: ParsedTask, line: str, number: int) -> None:
    criteria = entry.value["criteria"]
    item = _ITEM.match(line)
    facts = _FACTS.match(line)
    if facts and criteria:
        pieces = _json(facts["json"], number)
        if "text" in pieces:
            raise DocumentError(
                "has facts with the key 'text'; the criterion's text belongs above them", number
            )
        criteria[-1].update(pieces)
    elif item and (not criteria or len(item["indent"]) <= entry.indent):
        entry.indent = max(entry.indent, len(item["indent"]))
        criteria.append({"text": item["text"]})
    elif line.strip() and criteria:
        criteria[-1]["text"] += f" {line.strip()}"


def _json(text: str, line: int) -> Any:
    try:
        value = json.loads(text)
        # JSON allows lone surrogates, which cannot be written to a file
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"has JSON that does not parse: {error}", line) from None


def _unwrap(lines: list[str]) -> str:
    """The prompt without its fence and indent, or else without only the outer pair of backticks."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    if not lines:
        return ""
    opening = _FENCE.match(lines[0])
    if opening:
        indent = re.compile(rf"\s{{0,{opening.start('fence')}}}")
        return "\n".join(indent.sub("", line, count=1) for line in lines[1:-1])
    text = "\n".join(line.strip() for line in lines)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "`" else text


def render(tasks: Iterable[Task], title: str) -> str:
    """The set as Markdown; `parse` returns the same tasks."""
    lines = [f"# {title}", ""]
    for task in tasks:
        lines += _task_lines(task)
    return "\n".join(lines)


def _task_lines(task: Task) -> Iterator[str]:
    yield f"#### {task.id}"
    yield f"- **Category**: {task.category.value}"
    if task.repository is not None:
        yield f"- **Repository**: `{json.dumps(task.repository.model_dump(), ensure_ascii=False)}`"
    yield "- **Prompt**:"
    for line in _prompt_lines(task.prompt):
        yield f"  {line}"
    yield "- **Judge Criteria**:"
    for number, criterion in enumerate(task.criteria, 1):
        yield f"  {number}. {criterion.text}"
        facts = criterion.model_dump(mode="json", exclude={"text"}, exclude_defaults=True)
        if facts:
            yield f"     - facts: {json.dumps(facts, ensure_ascii=False)}"
    yield ""


def _prompt_lines(prompt: str) -> list[str]:
    if "\n" not in prompt and not prompt.startswith("`"):
        return [f"`{prompt}`"]
    longest = max(["``", *re.findall("`+", prompt)], key=len)
    fence = f"{longest}`"
    return [fence, *prompt.split("\n"), fence]
