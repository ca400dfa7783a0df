import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import example
from hypothesis import given as forall
from hypothesis import strategies as st
from pydantic import BaseModel
from snakemake.cli import parse_config

from lensbench.core.errors import UserError
from lensbench.core.system.places import ROOT
from lensbench.plan.config import Agent, Config
from lensbench.plan.reading import load_config

DATA = yaml.safe_load((Path(__file__).parent / "config_mistakes.yaml").read_text(encoding="utf-8"))

Given = dict[str, Any]
WRITTEN = """\
run_id: r
scenarios: set.yaml
conditions:
  without: {}
  with: {mcp: lens.json}
"""
WRITTEN_BY_OTHERS = {"imported", "warnings"}
"""Keys that only the importer writes."""


def refused(given: Given, *files: str) -> str:
    with pytest.raises(UserError) as caught:
        load_config(given, files)
    return str(caught.value)


def test_what_is_left_out_has_its_default(project: Path, given: Given) -> None:
    config = load_config(given)
    assert (config.baseline, config.trials, config.agent, config.judges) == (
        "without",
        1,
        Agent(),
        ("mechanical",),
    )
    assert (config.treatments, config.scenario_files) == (("with",), ("set.yaml",))
    assert (config.discards.max_rounds, config.accept_changes) == (3, False)


@pytest.mark.parametrize(
    ("added", "message"),
    [
        *DATA["added"],
        *(
            (f"agent: {{{key}: {value}}}", f"2: agent.{key} is given, but agent.kind is")
            for key, value in {
                "model": "sonnet",
                "models": "{a: b}",
                "served": "x",
                "version": "'1'",
                "provider": "zai",
                "base_url": "'http://x'",
                "token_env": "T",
                "pass_env": "[T]",
                "command": "[x]",
            }.items()
        ),
        *(
            (
                place.format(f"{{kind: {kind}, base_url: 'http://x', model: m}}"),
                f"2: {key} is not read without agent.provider{more}",
            )
            for kind in ("claude-code", "codex", "gemini", "opencode")
            for place, key, more in (
                ("agent: {}", "agent.base_url", "; write provider: custom"),
                ("judges: [{{agent: {}}}]", "judges: agent.base_url", ""),
            )
        ),
    ],
)
def test_every_mistake_in_a_further_key_is_named_with_its_line(
    project: Path, added: str, message: str
) -> None:
    text = WRITTEN.replace("run_id: r", f"run_id: r\n{added}", 1)
    Path("c.yaml").write_text(text, encoding="utf-8")
    assert f"c.yaml:{message}" in refused(yaml.safe_load(text), "c.yaml")


@pytest.mark.parametrize(("old", "new", "message"), DATA["changed"])
def test_every_mistake_is_named_with_its_file_and_line(
    project: Path, old: str, new: str, message: str
) -> None:
    text = WRITTEN.replace(old, new, 1)
    Path("c.yaml").write_text(text, encoding="utf-8")
    assert message in refused(yaml.safe_load(text), "c.yaml")


def test_all_mistakes_are_reported_at_once(project: Path) -> None:
    text = "run_id: 7\ntrials: x\n" + WRITTEN.partition("\n")[2]
    Path("c.yaml").write_text(text, encoding="utf-8")
    assert [line[:8] for line in refused(yaml.safe_load(text), "c.yaml").splitlines()] == [
        "c.yaml:1",
        "c.yaml:2",
    ]


@pytest.mark.parametrize(
    "word",
    [
        "run_id=007",
        "run_id=7",
        "run_id=1e3",
        "run_id=a_b",
        "run_id=",
        "trials=x",
        "agent={model: [1]}",
    ],
)
def test_a_mistake_on_the_command_line_is_said_to_be_there(project: Path, word: str) -> None:
    Path("c.yaml").write_text(WRITTEN, encoding="utf-8")
    message = refused(yaml.safe_load(WRITTEN) | parse_config([word]), "c.yaml")
    assert message.startswith(f"--config: {word.split('=')[0]}")


def test_the_command_line_and_the_last_file_with_a_key_win(project: Path, given: Given) -> None:
    words = [
        "accept_changes=true",
        "trials=3",
        "discards={max_rounds: 1}",
        "agent={timeout_s: 1.5, retries: 2}",
    ]
    config = load_config(given | parse_config(words))
    assert (config.accept_changes, config.trials, config.discards.max_rounds) == (True, 3, 1)
    assert (config.agent.timeout_s, config.agent.retries) == (1.5, 2)
    assert load_config(given | parse_config(["accept_changes=False"])).accept_changes is False
    Path("a.yaml").write_text(WRITTEN + "trials: 0\nseed: -1\n", encoding="utf-8")
    Path("b.yaml").write_text("trials: 100\n", encoding="utf-8")
    message = refused(yaml.safe_load(WRITTEN) | {"trials": 100, "seed": -1}, "a.yaml", "b.yaml")
    assert [line.split(": ")[0] for line in message.splitlines()] == ["b.yaml:1", "a.yaml:7"]


def test_a_price_that_changes_is_refused_with_what_to_write(project: Path, given: Given) -> None:
    price = {"input": 1, "cache_read": 0, "cache_write": 1, "output": 2}
    prices = {"glm-5": {**price, "changes": {"2027-01-01": price}}}
    what = "is not a key of a price any more; write today's price, and the next one on its day"
    assert refused({**given, "prices": prices}).endswith(f"prices.glm-5.changes {what}")


def test_a_config_that_is_not_there_is_named_and_a_remote_repository_not_asked_for(
    project: Path, given: Given
) -> None:
    assert "gone.yaml: cannot be read: No such file or directory; `lensbench init` w" in refused(
        given, "gone.yaml"
    )
    assert load_config(
        given | {"repository": {"git": "https://example.invalid/r.git", "revision": "main"}}
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *DATA["mcp_file"],
        ("[" * 100_000, "is not an MCP file"),
    ],
)
def test_a_server_that_would_be_missing_is_refused(
    project: Path, given: Given, content: str, message: str
) -> None:
    Path("lens.json").write_bytes(content.encode(errors="surrogateescape"))
    problem = refused(given)
    assert problem.startswith("--config: conditions.with.mcp: lens.json ")
    assert message in problem


def test_a_server_by_url_and_a_folder_to_show_are_taken(project: Path, given: Given) -> None:
    Path("lens.json").write_text(
        '{"mcpServers": {"a": {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {}}}}',
        encoding="utf-8",
    )
    assert load_config(given | {"sandbox_visible": ["repo"]}).sandbox_visible == ("repo",)


def keys(model: type[BaseModel]) -> set[str]:
    inner = [field.annotation for field in model.model_fields.values()]
    models = [item for item in inner if isinstance(item, type) and issubclass(item, BaseModel)]
    return set(model.model_fields).union(*map(keys, models))


def test_the_config_of_the_project_is_valid_and_explains_every_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    text = Path("config.yaml").read_text("utf-8")
    assert load_config(yaml.safe_load(text), ["config.yaml"]).run_id == "demo"
    there = set(re.findall(r"^\s*(?:# )?([a-z_]+):", text, re.MULTILINE))
    assert keys(Config) - WRITTEN_BY_OTHERS <= there
    for match in re.finditer(r"(?m)^( *)([a-z_]+):", text):
        before = text[: match.start()].splitlines()
        assert match[2] in ("without", "with", "mcp") or before[-1].strip().startswith("#"), match[
            2
        ]


NAMES = st.sampled_from(
    ["mcp", "with", "without", "kind", "retries", "path", "git", "x", "run_id", "max_rounds"]
)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.text(max_size=5)
VALUES = st.recursive(
    PLAIN | st.sampled_from(["1", "true"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@example({"agent": {"kind": []}, "ladder": {}}, False)
@example({"agent": {"tools": None}, "ladder": {"only": True}}, False)
@forall(
    st.dictionaries(st.sampled_from([*Config.model_fields, "x"]), VALUES, max_size=6), st.booleans()
)
def test_any_values_give_a_config_or_a_user_error(changes: Given, written: bool) -> None:
    with TemporaryDirectory() as folder:
        given = {
            "run_id": "r",
            "scenarios": "s",
            "conditions": {"without": {}, "with": {}},
        } | changes
        path = Path(folder, "c.yaml")
        path.write_text(yaml.safe_dump(given), encoding="utf-8")
        try:
            json.dumps(
                load_config(given, [str(path)] if written else []).model_dump(mode="json"),
                allow_nan=False,
            )
        except UserError as error:
            assert str(error)  # noqa: PT017


def test_the_models_of_a_known_provider_head_timing_csv(project: Path, given: Given) -> None:
    given["agent"] = {"kind": "claude-code", "model": "sonnet", "provider": "zai", "token_env": "T"}
    assert load_config(given).agent.mapping == {
        "sonnet": "glm-5",
        "haiku": "glm-5",
        "opus": "glm-5",
    }
    given["agent"]["models"] = {"sonnet": "glm-6"}
    assert load_config(given).agent.mapping == {"sonnet": "glm-6"}


def test_keys_of_a_rung_are_added_to_it() -> None:
    rung = {"server": {"writes": [".x/"]}}
    ladder = {"mcp": "a.json", "words": "w.md"}
    config = Config.model_validate(
        {"run_id": "r", "scenarios": "s", "ladder": ladder, "conditions": rung}
    )
    assert [(name, one.mcp, one.writes) for name, one in config.conditions.items()] == [
        ("without", None, ()),
        ("server", "a.json", (".x",)),
        ("words", None, ()),
        ("both", "a.json", ()),
    ]
