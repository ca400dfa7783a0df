"""The reference: config keys and file formats from the schemas, tables from the demo, every program from its --help."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from lensbench.__main__ import EXIT_CODES, all_verbs
from lensbench.plan.schemas import schemas

PAGES = {
    "config.schema.json": ("config", "Config keys", "The keys of `config.yaml` and `--config`."),
    "scenarios.schema.json": (
        "scenarios",
        "Task sets",
        "The keys of a task set in YAML ([how to write one](../scenarios.md)).",
    ),
    "record.schema.json": (
        "record",
        "Records",
        "The measured facts about a run: `bench/<run_id>/attempts/<task>-<condition>/<n>/record.json`.",
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
        (folder / f"{page}.md").write_text(schema_page(title, about, schema, f"schemas/{name}"), encoding="utf-8")
    (folder / "programs.md").write_text(programs_page(root), encoding="utf-8")


def schema_page(title: str, about: str, schema: dict[str, Any], file: str) -> str:
    """A table of the top-level keys, and one for each part."""
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
    """The --help of every program: the verbs, then the stages in the order of the workflow."""
    lines = [
        "# Programs",
        "",
        "Verbs are started as `lensbench <verb>` ([installing](../installing.md)).",
        "",
        EXIT_CODES,
    ]
    verbs = {f"lensbench {name}": verb.module for group in all_verbs().values() for name, verb in group.items()}
    of_workflow = {f"python -m {module}": module for module in stages(root) if module not in verbs.values()}
    for title, programs in {"Verbs": verbs, "Stages": of_workflow}.items():
        lines += ["", f"## {title}"]
        for name, module in programs.items():
            lines += ["", f"### {name}", "", "```", help_of(module), "```"]
    return "\n".join(lines) + "\n"


def stages(root: Path) -> list[str]:
    """The modules that the workflow starts, in the order of the included rules."""
    snakefile = (root / "Snakefile").read_text(encoding="utf-8")
    included = re.findall(r'^include: "(.+)"$', snakefile, re.MULTILINE)
    text = "".join([*((root / name).read_text(encoding="utf-8") for name in included), snakefile])
    return list(dict.fromkeys(re.findall(r"\{PYTHON\} (lensbench[\w.]+)", text)))


def help_of(module: str) -> str:
    """The output of a program with --help."""
    environment = {**os.environ, "COLUMNS": "110"}
    command = [sys.executable, "-P", "-m", module, "--help"]
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True).stdout.rstrip()
