"""Writes the JSON schemas of the config, task sets, and records.

They are generated from the models; editors use them to complete and check YAML files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, with_config

from lensbench.changes.task import TEST_CRITERIA
from lensbench.core.records import Record
from lensbench.core.system.files import write_json
from lensbench.core.system.program import Parser, run_program
from lensbench.core.tasks import MAX_CRITERIA, MIN_CRITERIA
from lensbench.plan.config import Config
from lensbench.plan.task_files import ScenarioFile

Schema = dict[str, Any]
"""A JSON schema."""


def config_schema() -> Schema:
    """The schema of config.yaml."""
    return Config.model_json_schema()


def scenarios_schema() -> Schema:
    """The schema of a task set in YAML.

    Unlike the model, it allows a task to name one of `repositories`, and limits the number of criteria: the reader
    handles both outside of the model.
    """
    schema = ScenarioFile.model_json_schema()
    question, change = (schema["$defs"][name]["properties"] for name in ("Task", "ChangeTask"))
    for task in (question, change):
        name_of_source = {"type": "string", "description": "One of the names under `repositories`."}
        task["repository"]["anyOf"].insert(0, name_of_source)
    question["criteria"] |= {"minItems": MIN_CRITERIA, "maxItems": MAX_CRITERIA}
    change["criteria"] |= {"maxItems": MAX_CRITERIA - len(TEST_CRITERIA)}
    file = {
        "type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"],
        "additionalProperties": False, "description": "A file beside the task set.",
    }  # fmt: skip
    hidden_file = schema["$defs"]["Tests"]["properties"]["files"]["additionalProperties"]
    for content in (change["reference"], hidden_file):
        content["anyOf"].append(file)
    return schema


def record_schema() -> Schema:
    """The schema of record.json in an attempt's folder."""
    record = with_config(ConfigDict(use_attribute_docstrings=True))(Record)
    schema = TypeAdapter(record).json_schema()
    del schema["$defs"]["Outcome"]["properties"]["answer"]  # it has its own file
    return schema


def schemas() -> dict[str, Schema]:
    """All schemas, by file name."""
    return {
        "config.schema.json": config_schema(),
        "scenarios.schema.json": scenarios_schema(),
        "record.schema.json": record_schema(),
    }


def write_schemas(folder: Path) -> None:
    """Writes every schema into `folder`."""
    for name, schema in schemas().items():
        write_json(folder / name, {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def main() -> None:
    """Write the JSON schemas of the config, task sets and records."""
    parser = Parser(prog="lensbench schemas", description=main.__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("schemas"), help="default: schemas, here")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    write_schemas(folder)


if __name__ == "__main__":
    run_program(main)
