"""The reference: config keys and file formats from the schemas, tables from the demo, every program from its --help."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

from lensbench.__main__ import programs, stages
from lensbench.schemas import schemas

PAGES = {
    "config.schema.json": ("config", "Config keys", "What may stand in `config.yaml`, and in `--config`."),
    "scenarios.schema.json": (
        "scenarios",
        "Task sets",
        "What may stand in a task set in YAML ([how to write one](../scenarios.md)).",
    ),
    "record.schema.json": (
        "record",
        "Records",
        "What the machine saw of a run: `bench/<run_id>/records/<task>-<condition>.json`.",
    ),
}
BOUNDS = {
    "ge": "≥",
    "minimum": "≥",
    "gt": ">",
    "exclusiveMinimum": ">",
    "le": "≤",
    "maximum": "≤",
    "lt": "<",
    "exclusiveMaximum": "<",
}


def write_reference(folder: Path, root: Path) -> None:
    """Writes one page per schema, and one with all programs."""
    folder.mkdir()
    for name, schema in schemas().items():
        page, title, about = PAGES[name]
        (folder / f"{page}.md").write_text(schema_page(title, about, schema, f"schemas/{name}"))
    (folder / "programs.md").write_text(programs_page(root))


def schema_page(title: str, about: str, schema: dict[str, Any], file: str) -> str:
    """A table of keys for the whole, and one for each part that it names."""
    lines = [
        f"# {title}",
        "",
        f"{about} Editors check and complete it with `{file}`.",
        "",
        *_table(schema, schema["$defs"]),
    ]
    for name, part in schema["$defs"].items():
        lines += ["", f"## {name}", "", part.get("description", "")]
        lines += ["", *(_table(part, schema["$defs"]) if "properties" in part else [_type(part)])]
    return "\n".join(lines) + "\n"


def _table(model: dict[str, Any], parts: dict[str, Any]) -> list[str]:
    required = model.get("required", [])
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for name, key in model["properties"].items():
        default = "(needed)" if name in required else _default(key)
        part = parts.get(key.get("$ref", "").rpartition("/")[2], {})
        meaning = key.get("description") or part.get("description", "")
        rows.append(f"| `{name}` | {_cell(_type(key))} | {_cell(default)} | {_cell(meaning)} |")
    return rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _default(key: dict[str, Any]) -> str:
    value = key.get("default")
    if "default" not in key or value in ("", [], {}, None):
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
        inner = next(iter(key.get("patternProperties", {}).values()), key.get("additionalProperties"))
        return f"mapping to {_type(inner)}" if isinstance(inner, dict) else "mapping"
    bounds = " ".join(f"{sign} {key[name]}" for name, sign in BOUNDS.items() if name in key)
    pattern = f"`{key['pattern']}`" if "pattern" in key else ""
    return " ".join(part for part in (key.get("type", "anything"), bounds, pattern) if part)


def programs_page(root: Path) -> str:
    """What every program says with --help, those that people start first."""
    found, of_workflow = programs(), stages()
    lines = [
        "# Programs",
        "",
        "`lensbench <program>` is `python -m lensbench.<program>` ([installing](../installing.md)).",
    ]
    groups = {
        "What you start": [name for name in found if name not in of_workflow],
        "What the workflow starts": of_workflow,
    }
    for title, names in groups.items():
        lines += ["", f"## {title}"]
        for name in names:
            lines += ["", f"### {name}", "", "```", help_of(name, found[name]), "```"]
    return "\n".join(lines) + "\n"


def help_of(name: str, source: Path) -> str:
    """What `lensbench <name> --help` prints; of programs without options, what they say about themselves."""
    text = source.read_text()
    if not re.search(r"ArgumentParser|run_stage", text):
        return str(compile(text, source, "exec").co_consts[0])
    os.environ["COLUMNS"] = "110"
    printed, before = io.StringIO(), sys.argv
    sys.argv = [name, "--help"]
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # runpy: other programs have imported this module already
            runpy.run_module(f"lensbench.{name}", run_name="__main__")
    finally:
        sys.argv = before
    return re.sub(r"^usage: .*?(?= \[|\n)", f"usage: lensbench {name}", printed.getvalue().rstrip(), count=1)
