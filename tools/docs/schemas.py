"""Writes schemas/, the JSON schemas of config, task sets and records: `python tools/docs/schemas.py`. A test compares.

They are generated from the models; editors use them to complete and check YAML files.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, with_config

from lensbench.core.records import Record
from lensbench.core.system.files import write_json
from lensbench.core.tasks import MAX_CRITERIA, MIN_CRITERIA, Strict
from lensbench.plan.config import Config
from lensbench.plan.task_files import ScenarioFile
from lensbench.results.results_file import RESULTS_SCHEMA, Results

ROOT = Path(__file__).parents[2]
Schema = dict[str, Any]
"""A JSON schema."""


def described(model: type[Strict]) -> Schema:
    """The schema of a model, with the docstrings of its keys. pydantic would read them at each import of a model."""
    schema = model.model_json_schema()
    models = {each.__name__: each for each in subclasses(Strict)}
    for name, part in {model.__name__: schema, **schema["$defs"]}.items():
        for base in reversed(models[name].__mro__ if name in models else ()):
            for key, meaning in meanings(base):
                part["properties"][key]["description"] = meaning
    return schema


def subclasses(model: type[Strict]) -> Iterator[type[Strict]]:
    """All classes below one."""
    for below in model.__subclasses__():
        yield from (below, *subclasses(below))


def meanings(model: type) -> Iterator[tuple[str, str]]:
    """The keys of a model that have a docstring, with it."""
    if not issubclass(model, Strict):
        return
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    yield from (
        (key, inspect.cleandoc(meaning)) for key, _, meaning in fields(definition) if meaning
    )


def fields(definition: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Each field of a class: its name, type and docstring ("" without one)."""
    for field, following in zip(definition.body, [*definition.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            said = following.value if isinstance(following, ast.Expr) else None
            meaning = str(said.value) if isinstance(said, ast.Constant) else ""
            yield field.target.id, ast.unparse(field.annotation), meaning


def config_schema() -> Schema:
    """The schema of config.yaml."""
    return described(Config)


def scenarios_schema() -> Schema:
    """The schema of a task set in YAML.

    Unlike the model, it allows a task to name one of `repositories`, and limits the number of criteria: the reader
    handles both outside of the model.
    """
    schema = described(ScenarioFile)
    question, change = (schema["$defs"][name]["properties"] for name in ("Task", "ChangeTask"))
    for task in (question, change):
        name_of_source = {"type": "string", "description": "One of the names under `repositories`."}
        task["repository"]["anyOf"].insert(0, name_of_source)
    question["criteria"] |= {"minItems": MIN_CRITERIA, "maxItems": MAX_CRITERIA}
    change["criteria"] |= {"maxItems": MAX_CRITERIA - 1}  # the tests are one
    file = {
        "type": "object",
        "properties": {"file": {"type": "string"}},
        "required": ["file"],
        "additionalProperties": False,
        "description": "A file beside the task set.",
    }
    hidden_file = schema["$defs"]["Tests"]["properties"]["files"]["additionalProperties"]
    for content in (change["reference"], hidden_file):
        content["anyOf"].append(file)
    return schema


def record_schema() -> Schema:
    """The schema of record.json in an attempt's folder."""
    record = with_config(ConfigDict(use_attribute_docstrings=True))(Record)
    schema = TypeAdapter(record).json_schema()
    del schema["$defs"]["Outcome"]["properties"]["answer"]  # it has its own file
    known = classes()
    for name, part in schema["$defs"].items():
        inherited = key_meanings(known, name)
        for key, value in part["properties"].items():
            if key in inherited:
                value.setdefault("description", inherited[key])
    return schema


SETTINGS = {"AgentSettings": "Agent", "PlannedCondition": "Condition"}
"""Types of the plan, and the models of the config whose keys they have."""
PASS_RATES = {
    "pass^k": "All k are complete: a share of 1.",
    "pass@k": "One or more are: a share of 1.",
}


def results_schema() -> Schema:
    """The schema of results.json, with the meaning of every key."""
    with warnings.catch_warnings(action="ignore"):  # keys that are only read are no problem
        schema = TypeAdapter(Results[float]).json_schema()
    schema = json.loads(json.dumps(schema).replace("_float_", ""))
    known = classes()
    for name, part in {"Results": schema, **schema["$defs"]}.items():
        if "prefixItems" in part:
            schema["$defs"][name] = part = as_object(known[name], part)
        meanings_of_keys = {
            **PASS_RATES,
            **key_meanings(known, SETTINGS.get(name, "")),
            **key_meanings(known, name),
        }
        for key, value in part.get("properties", {}).items():
            value["description"] = meanings_of_keys[key]
    schema["properties"]["schema"]["const"] = RESULTS_SCHEMA
    return schema


def classes() -> dict[str, ast.ClassDef]:
    """All classes of the engine by name."""
    found = {}
    for path in sorted((ROOT / "scripts" / "lensbench").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = node
    return found


def key_meanings(known: Mapping[str, ast.ClassDef], name: str) -> dict[str, str]:
    """The docstrings of the keys of a class, and of those below which it stands."""
    if name not in known:
        return {}
    own: dict[str, str] = {}
    for base in known[name].bases:
        own |= key_meanings(known, ast.unparse(base).partition("[")[0])
    for key, _, meaning in fields(known[name]):
        if meaning:
            own[key] = inspect.cleandoc(meaning)
    return own


def as_object(definition: ast.ClassDef, part: Schema) -> Schema:
    """The schema of a named tuple, which is written as an object."""
    names = [name for name, *_ in fields(definition)]
    properties = dict(zip(names, part["prefixItems"], strict=True))
    return {
        "type": "object",
        "description": ast.get_docstring(definition) or definition.name,
        "properties": properties,
        "required": names,
    }


def schemas() -> dict[str, Schema]:
    """All schemas, by file name."""
    return {
        "results.schema.json": results_schema(),
        "config.schema.json": config_schema(),
        "scenarios.schema.json": scenarios_schema(),
        "record.schema.json": record_schema(),
    }


def write_schemas(folder: Path) -> None:
    """Writes every schema into `folder`."""
    for name, schema in schemas().items():
        write_json(
            folder / name, {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
        )


if __name__ == "__main__":
    write_schemas(ROOT / "schemas")
