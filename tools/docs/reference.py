"""Writes docs/reference/ from the code: `python tools/docs/reference.py`. A test compares the two.

Config keys and task sets come from the models, verbs from their --help, discards from REASONS, columns and files from
core/rows.py and core/run_folder.py, sets from scenarios/, endings and messages from the tests that try them.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from schemas import fields, schemas

from lensbench.__main__ import EXIT_CODES, HIDDEN, all_verbs
from lensbench.core.system.places import PROTOCOL
from lensbench.runs.reasons import REASONS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("", "support", "agents", "workflow")]
FOLDER = ROOT / "docs" / "reference"
ENGINE = ROOT / "scripts" / "lensbench"
CORE = ENGINE / "core"
JSON_FILES = {
    "estimates.json": (ENGINE / "scores" / "estimates_file.py", ENGINE / "scores" / "intervals.py"),
    "results.json": (ENGINE / "results" / "results_file.py",),
    "judge_reliability.json": (ENGINE / "judging" / "trust" / "__init__.py",),
    "comparison.json": (ROOT / "scripts" / "lensbench_archive" / "compare.py",),
}
"""Files of a run folder and the modules with their types."""
SCHEMAS = {
    "scenarios": (
        "Task sets",
        "The keys of a task set in YAML ([how to write one](../scenarios.md)).",
    ),
    "record": (
        "Records",
        "The measured facts about an attempt: `attempts/<task>-<condition>/<n>/record.json`.",
    ),
}
BOUNDS = {
    "minimum": "≥",
    "exclusiveMinimum": ">",
    "maximum": "≤",
    "exclusiveMaximum": "<",
}


class Group(NamedTuple):
    """A class or a heading of a source file, and its names with their comments."""

    title: str
    about: str
    rows: tuple[tuple[str, str], ...]


def pages() -> dict[str, str]:
    """The text of each page of the reference, by its name without the suffix."""
    known = schemas()
    made = {name: schema_page(*SCHEMAS[name], known[f"{name}.schema.json"]) for name in SCHEMAS}
    return made | {
        "config": config_page(known["config.schema.json"]),
        "verbs": verbs_page(),
        "discards": discards_page(),
        "columns": columns_page(),
        "files": files_page(),
        "json": json_page(),
        "sets": sets_page(),
        "endings": endings_page(),
        "messages": messages_page(),
    }


def table(*rows: tuple[str, ...]) -> str:
    """A Markdown table; the first row is its head."""
    head, *body = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def schema_page(title: str, about: str, schema: dict[str, Any]) -> str:
    """A table of the top-level keys, and one for each part."""
    lines = [f"# {title}", "", about, "", _keys(schema, schema["$defs"])]
    for name, part in schema["$defs"].items():
        lines += ["", f"## {name}", "", part.get("description", "")]
        lines += ["", _keys(part, schema["$defs"]) if "properties" in part else _type(part)]
    return "\n".join(lines)


SECTIONS = {
    "Condition": "conditions.NAME",
    "Override": "conditions.NAME.agent",
    "PartOfTools": "conditions.NAME.tools",
    "Price": "prices.MODEL",
    "ModelJudge": "judges",
    "Ablation": "ablate",
    "Pypi": "repository",
    "Npm": "repository",
    "Git": "repository",
    "Folder": "repository",
}
"""Where a part of the config stands that is not called as its key; NAME, MODEL and DATE are yours."""
UNREAD = ("conditions.NAME.errors",)
"""Examples that no test reads: they need a server of yours, or dates as keys."""


def config_page(schema: dict[str, Any]) -> str:
    """Every key with its meaning, type, default, an example, and an anchor of its own."""
    examples = yaml.safe_load((HERE / "examples.yaml").read_text(encoding="utf-8"))
    lines = [
        "# Config keys",
        "",
        "What `config.yaml` and `--config` may have. Each key has an example to copy.",
    ]
    lines += ["", "## All keys at the top", ""]
    lines += _entries(schema, "", schema["$defs"], examples)
    for name, part in schema["$defs"].items():
        prefix = SECTIONS.get(name, name.lower())
        lines += [f"## {name}", "", f"`{prefix}`. {part.get('description', '')}".strip(), ""]
        if prefix == "repository":  # as in a task set, with examples there
            lines += [_keys(part, schema["$defs"]), ""]
        else:
            lines += _entries(part, f"{prefix}.", schema["$defs"], examples)
    return "\n".join(lines)


def _entries(
    model: dict[str, Any], prefix: str, parts: dict[str, Any], examples: dict[str, str]
) -> list[str]:
    lines = []
    for name, key in model["properties"].items():
        path = f"{prefix}{name}"
        part = parts.get(key.get("$ref", "").rpartition("/")[2], {})
        default = _default(key)
        said = "needed" if name in model.get("required", []) else f"default {default}"
        if default in ("", "as below"):
            said = said.removesuffix(f"default {default}") or "optional"
        lines += [f"### {path}", "", key.get("description") or part.get("description", ""), ""]
        lines += [f"*Type:* {_type(key)}; {said}.", ""]
        if example := examples.get(path) or _example(path, key):
            kind = "text" if path in UNREAD else "yaml"
            lines += [f"```{kind}", example, "```", ""]
    return lines


def _example(path: str, key: dict[str, Any]) -> str:
    """The default as it would stand in a config; "" where that says nothing."""
    if "default" not in key or key["default"] in ("", [], {}, None) or "NAME" in path:
        return ""
    value: Any = key["default"]
    for name in reversed(path.split(".")):
        value = {name: value}
    if path.startswith("agent."):
        value["agent"] = {"kind": "claude-code", **value["agent"]}
    shown: str = yaml.safe_dump(value, default_flow_style=None, sort_keys=False, width=200)
    return shown.strip()


def _keys(model: dict[str, Any], parts: dict[str, Any]) -> str:
    required = model.get("required", [])
    rows = [("key", "value", "default", "meaning")]
    for name, key in model["properties"].items():
        default = "(needed)" if name in required else _default(key)
        part = parts.get(key.get("$ref", "").rpartition("/")[2], {})
        rows.append(
            (
                f"`{name}`",
                _type(key),
                default,
                key.get("description") or part.get("description", ""),
            )
        )
    return table(*rows)


def _default(key: dict[str, Any]) -> str:
    value = key.get("default")
    if value in ("", [], {}, None):
        return ""
    return "as below" if isinstance(value, dict) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _type(key: dict[str, Any]) -> str:
    """A JSON schema in words."""
    if "$ref" in key:
        name = key["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if choices := key.get("anyOf") or key.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(choice) for choice in choices))
    if "enum" in key:
        return ", ".join(f"`{json.dumps(value)}`" for value in key["enum"])
    if "const" in key:
        return f"`{json.dumps(key['const'])}`"
    if key.get("type") == "array":
        return f"list of {_type(key['items'])}" if "items" in key else "list"
    if key.get("type") == "object":
        inner = next(
            iter(key.get("patternProperties", {}).values()), key.get("additionalProperties")
        )
        return f"mapping to {_type(inner)}" if isinstance(inner, dict) else "mapping"
    bounds = " ".join(f"{sign} {key[name]}" for name, sign in BOUNDS.items() if name in key)
    return " ".join(part for part in (key.get("type", "anything"), bounds) if part)


def verbs_page() -> str:
    """Every verb with its --help, and the exit codes."""
    lines = ["# Verbs", "", EXIT_CODES]
    modules = [verb.module for verbs in all_verbs().values() for verb in verbs.values()]
    with ThreadPoolExecutor() as pool:  # each is a start of Python
        shown = dict(zip(modules, pool.map(help_of, modules), strict=True))
    for group, verbs in all_verbs().items():
        if group == HIDDEN:
            continue
        lines += ["", f"## {group}"]
        for name, verb in verbs.items():
            lines += ["", f"### lensbench {name}", "", "```text", shown[verb.module], "```"]
    return "\n".join(lines)


def help_of(module: str) -> str:
    """The output of a program with --help; of `run`, only its own part, as the rest is Snakemake's."""
    command = [sys.executable, "-P", "-m", module, "--help"]
    environment = {**os.environ, "COLUMNS": "110"}
    shown = subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", check=True
    ).stdout
    return shown.rstrip()


def discards_page() -> str:
    """Why a run may not count."""
    when = {"again": "another attempt at once", "later": "the next start"}
    rows = [
        (f"`{name}`", reason.meaning, when[reason.policy], reason.look_at)
        for name, reason in REASONS.items()
    ]
    return "\n".join(
        [
            "# Discards",
            "",
            "Why a run does not count, what repeats it, and what to look at.",
            "",
            table(("reason", "meaning", "repeated by", "look at"), *rows),
        ]
    )


def protocol() -> str:
    """The protocol, with its table of discards made from REASONS."""
    rows = [
        (f"`{name}`", reason.meaning, "yes" if reason.policy == "again" else "no")
        for name, reason in REASONS.items()
    ]
    made = table(("Reason", "When", "Another attempt at once?"), *rows)
    return re.sub(
        r"(?<=<!-- discards -->\n).*?(?=\n<!-- end -->)",
        lambda _: made,
        PROTOCOL.read_text("utf-8"),
        flags=re.DOTALL,
    )


def groups(source: Path, head: str, row: str) -> list[Group]:
    """The parts of a source file: a line that matches `head` begins one, lines that match `row` are its names."""
    found: list[Group] = []
    lines = source.read_text(encoding="utf-8").splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if begun := re.match(head, line):
            found.append(Group(begun[1], following.strip().strip('"'), ()))
        elif (named := re.match(row, line)) and found:
            meaning = named[2] or following.strip().strip('"')
            found[-1] = found[-1]._replace(rows=(*found[-1].rows, (f"`{named[1]}`", meaning)))
    return found


def columns_page() -> str:
    """The columns of the tables, with the comments of core/rows.py."""
    lines = [
        "# Columns",
        "",
        "Lists are joined with `;`, times are in seconds, shares between 0 and 1. An empty cell is missing.",
    ]
    common, *tables = groups(
        CORE / "rows.py",
        r"class (\w+)\((?!StrEnum).*\):",
        r"    (\w+): ReadOnly\[str\](?:  # (.*))?$",
    )
    runs = re.findall(r"class (\w+)\(RunRow\)", (CORE / "rows.py").read_text(encoding="utf-8"))
    for part in tables:
        name, _, about = part.about.partition(": ")
        rows = (*common.rows, *part.rows) if part.title in runs else part.rows
        lines += [
            "",
            f"## {name}",
            "",
            f"{about[0].upper()}{about[1:]}",
            "",
            table(("column", "meaning"), *rows),
        ]
    return "\n".join(lines)


def files_page() -> str:
    """The files of a run folder, with the comments of core/run_folder.py."""
    lines = [
        "# Files of a run folder",
        "",
        "`bench/<run_id>/`, in the order in which they are made.",
    ]
    for part in groups(
        CORE / "run_folder.py", r"    # (.*)$", r'    \w+ = _Place\("(.+)"\)(?:  # (.*))?$'
    ):
        lines += [
            "",
            f"## {part.title[0].upper()}{part.title[1:]}",
            "",
            table(("file", "content"), *part.rows),
        ]
    return "\n".join(lines)


def json_page() -> str:
    """The keys of the JSON files, with the docstrings of their types."""
    lines = [
        "# Keys of the JSON files",
        "",
        "Each type with its keys. Shares are between 0 and 1 (0.05 is 5 points), times in seconds, costs in dollars.",
    ]
    for name, modules in JSON_FILES.items():
        lines += ["", f"## {name}"]
        for module in modules:
            for node in ast.parse(module.read_text(encoding="utf-8")).body:
                is_shown = (
                    isinstance(node, ast.ClassDef)
                    and node.name not in INTERNAL
                    and not node.name.endswith("View")
                )
                if is_shown and (
                    keys := [
                        (f"`{key}`", in_json(kind), " ".join(meaning.split()))
                        for key, kind, meaning in fields(node)
                    ]
                ):
                    base = "".join(
                        f" The keys of {ast.unparse(base)}, and:"
                        for base in node.bases
                        if isinstance(base, ast.Name) and base.id not in ("TypedDict", "NamedTuple")
                    )
                    lines += ["", f"### {node.name}", "", f"{ast.get_docstring(node) or ''}{base}"]
                    lines += [""]
                    lines += [table(("key", "type", "meaning"), *keys)]
    return "\n".join(lines)


INTERNAL = {"Room", "Rooms", "StandardErrors", "Shared"}
"""Types of the modules that no file has."""
IN_JSON = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "N": "number",
    "bool": "true or false",
    "None": "null",
    "Any": "anything",
}


def in_json(annotation: str) -> str:
    """A type of Python in JSON's words, such as `string or null` or `object of number`."""
    return _in_json(ast.parse(annotation, mode="eval").body)


def _in_json(node: ast.expr) -> str:
    match node:
        case ast.BinOp(left=left, right=right):
            return f"{_in_json(left)} or {_in_json(right)}"
        case ast.Constant(value=value):
            return "null" if value is None else f"`{json.dumps(value)}`"
        case ast.Name(id=name):
            return IN_JSON.get(name, name)
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return _subscript(name, inner)
    return ast.unparse(node)


def _subscript(name: str, inner: ast.expr) -> str:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        return ", ".join(_in_json(part) for part in parts)
    if name in ("Mapping", "dict", "Counter"):
        return f"object of {_in_json(parts[-1])}" if len(parts) == 2 else "object of integer"
    if name in ("Sequence", "list", "tuple", "frozenset", "set"):
        return f"list of {_in_json(parts[0])}"
    if name == "NotRequired":
        return f"{_in_json(parts[0])}; may be missing"
    return _in_json(parts[0]) if name in ("ReadOnly", "Required") else name


def sets_page() -> str:
    """The task sets that come with lensbench: how many tasks about what."""
    lines = ["# Task sets that come with lensbench"]
    for file in sorted((ROOT / "scenarios").glob("*.yaml")):
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
        asked = Counter(task["repository"] for task in found["tasks"])
        kinds = Counter(task["category"] for task in found["tasks"])
        rows = [
            (name, _pinned(found["repositories"][name]), str(count))
            for name, count in asked.items()
        ]
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        lines += ["", f"## {file.name}", "", f"{len(found['tasks'])} tasks: {counts}.", ""]
        lines += [table(("repository", "pinned", "tasks"), *rows)]
        proofs = file.with_suffix("") / "proofs.md"
        if proofs.exists():
            lines += ["", proofs.read_text(encoding="utf-8").rstrip()]
    return "\n".join(lines)


def _pinned(source: dict[str, str]) -> str:
    return next(
        f"{kind} {source[kind]}" for kind in ("pypi", "npm", "git", "path") if kind in source
    )


def endings_page() -> str:
    """How attempts of the real programs end, by the table with which they are tried."""
    from endings_table import table as endings

    words = (
        ("counts", "a valid run"),
        ("failed", "a failed answer of the model: counts, with the text so far"),
        ("stops", "everything stops, with the reason"),
        ("again", "retried, with growing pauses; then discarded"),
        (
            "pause",
            "all agents and judges of that service pause, then it is retried; then discarded",
        ),
        ("discarded", "not retried at once: the next start repeats the run"),
    )
    return "\n".join(
        [
            "# How attempts end",
            "",
            "Tried with the real programs on scripted services by `tests/agents/test_endings_live.py`.",
            "",
            table(("", "what becomes of the attempt"), *words),
            "",
            endings(),
        ]
    )


def messages_page() -> str:
    """Mistakes, each really made, with the line that answers it."""
    from test_mistakes import rows

    made = rows(lambda: Path(tempfile.mkdtemp()))
    return "\n".join(
        [
            "# Messages",
            "",
            "Typical mistakes, and the line that each is answered with.",
            "",
            "| mistake | answer |",
            "|---|---|",
            *made,
        ]
    )


def main() -> None:
    """Writes all pages."""
    FOLDER.mkdir(exist_ok=True)
    PROTOCOL.write_text(protocol(), encoding="utf-8")
    for name, text in pages().items():
        (FOLDER / f"{name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
