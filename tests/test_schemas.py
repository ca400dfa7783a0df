import json
from pathlib import Path

from schemas import config_schema, record_schema, scenarios_schema, schemas, write_schemas

from lensbench.core.system.places import ROOT


def test_the_committed_schemas_are_those_of_the_models(tmp_path: Path) -> None:
    write_schemas(tmp_path)
    for name in schemas():
        assert (tmp_path / name).read_bytes() == (ROOT / "schemas" / name).read_bytes(), "tools/docs/schemas.py"


def test_schemas_describe_every_key_and_the_bounds_of_tasks_and_patterns() -> None:
    for schema in (config_schema(), scenarios_schema()):
        for model in (schema, *schema["$defs"].values()):
            for name, key in model.get("properties", {}).items():
                assert "$ref" in key or key.get("description"), name
    task = scenarios_schema()["$defs"]["Task"]["properties"]
    assert task["repository"]["anyOf"][0]["type"] == "string"
    assert (task["criteria"]["minItems"], task["criteria"]["maxItems"]) == (2, 5)
    pattern = scenarios_schema()["$defs"]["Criterion"]["properties"]["all_of"]
    assert {"type": "array"}.items() <= pattern["anyOf"][-1].items()
    assert len(pattern["anyOf"]) > 1
    assert "answer" not in record_schema()["$defs"]["Outcome"]["properties"]
    assert json.dumps(record_schema())
