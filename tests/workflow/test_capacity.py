# ruff: noqa: F811 (`config` is a fixture)

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_schedule import config  # noqa: F401 (a fixture)

from handmade import store
from lensbench.core.errors import UserError
from lensbench.core.records import Attempt, Outcome, Record, RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json
from lensbench.plan.freeze import plan_mark, settings_text
from lensbench.workflow.read_schedule import read_schedule
from lensbench.workflow.schedule import Schedule

WITH, WITHOUT = RunId("t0", "with"), RunId("t0", "without")
AGENT = {"kind": "claude-code", "provider": "zai", "model": "sonnet", "token_env": "T"}
JUDGE = {"agent": {"kind": "claude-code", "provider": "zai", "model": "haiku"}}


def scheduled(config: dict[str, Any], **changes: Any) -> Schedule:
    servers = {"mcpServers": {"my-server": {"command": "true"}}}
    Path("mcp.json").write_text(json.dumps(servers), encoding="utf-8")
    return read_schedule({**config, "agent": AGENT, **changes}, [])


def test_without_limits_there_is_nothing_but_cores_and_they_are_not_of_the_experiment(
    config: dict[str, Any],
) -> None:
    schedule = scheduled(config, judges=[JUDGE])
    assert (
        schedule.resources,
        schedule.judging.limits.judges_at_a_time,
        schedule.gate_s(WITH, 8),
    ) == ({}, 4, 900)
    plain = scheduled(config)
    limited = scheduled(config, limits={"clients": {"my-server": 1}})
    assert (plain.plan, settings_text(plain.config)) == (
        limited.plan,
        settings_text(limited.config),
    )
    assert plan_mark(plain.config, [], plain.folder) == plan_mark(limited.config, [], plain.folder)


def test_a_server_for_one_client_is_claimed_and_runs_that_share_it_start_apart(
    config: dict[str, Any],
) -> None:
    schedule = scheduled(config, limits={"clients": {"my-server": 1}})
    assert schedule.resources == {"clients_my_server": 1, "beside_without": 1, "beside_with": 1}
    taken = {
        run.condition: [schedule.claim(name, run, 8) for name in schedule.resources]
        for run in (WITH, WITHOUT)
    }
    assert taken == {"with": [1, 0, 1], "without": [0, 1, 0]}
    assert schedule.gate_s(WITH, 8) == schedule.gate_s(WITHOUT, 8) == 900
    assert [schedule.claim(name, WITHOUT, 1) for name in schedule.resources] == [0, 0, 0]
    three = {**config["conditions"], "third": {"mcp": "mcp.json"}}
    schedule = scheduled(config, conditions=three, limits={"clients": {"my-server": 1}})
    assert (schedule.resources, schedule.gate_s(WITH, 8)) == ({"clients_my_server": 1}, 0)
    schedule = scheduled(config, conditions=three, limits={"clients": {"my-server": 4}})
    assert (schedule.resources["beside_without"], schedule.gate_s(WITH, 8)) == (2, 900)


def test_requests_a_minute_are_shared_out_by_what_an_agent_makes(config: dict[str, Any]) -> None:
    def claimed(a_minute: int) -> tuple[int, float]:
        schedule = scheduled(config, limits={"requests_per_minute": {"zai": a_minute}})
        return schedule.claim("requests_per_minute_zai", WITHOUT, 8), schedule.gate_s(WITHOUT, 8)

    assert [claimed(60), claimed(24), claimed(23)] == [(12, 900), (12, 900), (12, 0)]
    assert claimed(9) == (9, 0)
    for task, turns in (("other", 10), ("untold", None)):
        made = Record(
            task, "with", 1, "run", Attempt(1, "", 65.0, 0.0, 0, False), Outcome(turns=turns)
        )
        store(Path("bench/r"), made, "an answer").record.with_name("damaged.json").write_text("{")
    assert [claimed(60), claimed(20), claimed(19)] == [(10, 900), (10, 900), (10, 0)]


def test_judges_read_answers_at_the_limit_of_their_service(config: dict[str, Any]) -> None:
    schedule = scheduled(
        config, judges=["mechanical", JUDGE], limits={"requests_per_minute": {"zai": 30}}
    )
    assert [schedule.judging.threads(name) for name in ("mechanical", "claude-code-haiku")] == [
        1,
        2,
    ]
    claimed = schedule.judging.claims()["requests_per_minute_zai"]
    assert [
        claimed(SimpleNamespace(judge=name)) for name in ("mechanical", "claude-code-haiku")
    ] == [0, 24]
    saved = RunFolder(schedule.judging.folder).human / "anna.json"
    saved.parent.mkdir(parents=True)
    saved.write_text("{}")
    assert [schedule.judging.inputs(name) for name in ("human-1", "mechanical")] == [
        [str(saved)],
        [],
    ]
    few = scheduled(config, judges=[JUDGE], limits={"requests_per_minute": {"zai": 5}})
    assert few.judging.limits.judges_at_a_time == 1


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (
            {"clients": {"lens": 1}},
            "limits.clients has 'lens', which is not used; write one of my-server",
        ),
        (
            {"requests_per_minute": {"zia": 9}},
            "limits.requests_per_minute has 'zia', which is not used; write one of zai",
        ),
        (
            {"requests_per_minute": {"zai": 0}},
            "limits.requests_per_minute.zai should be greater than or equal to 1",
        ),
        (
            {"client": {}},
            "limits.client is not a key that lensbench knows; did you mean 'clients'?",
        ),
    ],
)
def test_a_limit_on_nothing_is_refused(
    config: dict[str, Any], limits: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        scheduled(config, limits=limits)
    assert message in str(caught.value)


@pytest.mark.parametrize(("rounds", "is_asked"), [(0, False), (1, True), (3, True), (4, False)])
def test_a_judge_is_asked_again_for_a_few_rounds(
    config: dict[str, Any], rounds: int, is_asked: bool
) -> None:
    judging = scheduled(config, judges=[JUDGE]).judging
    (name,) = [judge.shown_name for judge in judging.models]
    write_json(RunFolder(judging.folder).judging / f"{name}.json", {"rounds": rounds})
    assert judging.incomplete == [name] * is_asked
