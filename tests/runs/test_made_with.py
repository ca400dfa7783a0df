"""Results are about the runs as they were made: their settings, the models that answered them, and how they ended."""

from typing import Any

from lensbench.core.records import Attempt, Outcome, Record
from lensbench.plan.config import Agent
from lensbench.runs.made_with import (
    as_made,
    endings,
    longer_reports,
    mixtures,
    notices,
    unequal_reports,
)


def agent(**settings: Any) -> dict[str, Any]:
    return Agent.model_validate({"kind": "claude-code", "model": "a", **settings}).model_dump(
        mode="json"
    )


def record(
    condition: str, made: dict[str, Any] | None = None, servers: str = "", **outcome: Any
) -> Record:
    return Record(
        "t",
        condition,
        1,
        "run",
        (Attempt(1, "", 1.0, 0.0, 0, False),),
        Outcome(**outcome),
        made_with={"agent": made or agent(), "condition": {"mcp_sha256": servers}},
    )


def plan_of(made: dict[str, Any]) -> dict[str, Any]:
    servers = {"without": [], "with": ["lens"]}
    conditions = {name: {"servers": names} for name, names in servers.items()}
    return {
        "agent": made,
        "model_mapping": "b=b",
        "conditions": conditions,
        "baseline": "without",
    }


def test_an_accepted_change_that_no_run_was_made_with_says_nothing_about_who_answered() -> None:
    runs = [record("with", agent()), record("without", agent())]
    shown = as_made(plan_of(agent(model="b")), runs)
    assert (shown["agent"]["model"], shown["model_mapping"]) == ("a", "a=a")
    assert list(notices(runs, shown)) == ["The config now has agent.model b; all runs used a."]
    assert list(mixtures(runs, plan_of(agent()))) == []


def test_runs_of_two_settings_profiles_or_models_are_no_matter_of_one_verdict() -> None:
    runs = [record("with", agent()), record("without", agent()), record("with", agent(model="b"))]
    shown = as_made(plan_of(agent(model="b")), runs)
    assert shown["agent"]["model"] == "b"
    assert list(mixtures(runs, plan_of(agent()))) == [
        "Runs used different settings: agent.model was a in 2; b in 1."
    ]
    strict, stock = (
        Agent.model_validate({"model": "a", **given}).settings
        for given in ({}, {"profile": "stock"})
    )
    assert "profile" not in strict
    runs = [record("with", dict(strict)), record("without", dict(stock))]
    assert list(mixtures(runs, plan_of(agent()))) == [
        "Runs used different settings: agent.profile was stock in 1; the default in 1."
    ]
    runs = [record("with", agent(), models=(name,)) for name in ("glm-5", "glm-5", "glm-6")]
    assert list(mixtures(runs, plan_of(agent()))) == [
        "Different models answered (glm-5 in 2; glm-6 in 1); one verdict cannot cover all of them."
    ]


def test_other_servers_in_one_condition_are_a_mixture_and_in_two_conditions_are_the_experiment() -> (
    None
):
    runs = [record("with", agent(), servers="1"), record("without", agent())]
    assert list(mixtures(runs, plan_of(agent()))) == []
    runs.append(record("with", agent(), servers="2"))
    assert list(mixtures(runs, plan_of(agent()))) == [
        "Runs with lens used different servers or commands."
    ]


def test_another_model_than_was_asked_for_and_answers_that_were_cut_off_are_headlines() -> None:
    def said(answered: str, **settings: Any) -> list[str]:
        made = agent(**settings)
        return list(
            notices(
                [record("with", made, models=(answered,), models_asked=("glm-5",))], plan_of(made)
            )
        )

    assert said("glm-5") == []
    assert "The answering model differs from the requested one (glm-4.5 in 1)" in said("glm-4.5")[0]
    assert said("glm-4.5", served="glm-4*") == []
    assert said("glm-4.5", models={"glm-5": "glm-4.5"}) == []
    runs = [
        record("with", agent(), ending=ending)
        for ending in ("finished", "limit", "refusal", "compaction", "")
    ]
    found = endings([*runs, record("without", agent(), ending="finished")])
    assert found["with"] == {
        "finished": 1,
        "limit": 1,
        "refusal": 1,
        "compaction": 1,
        "unknown": 0,
        "not shown": 1,
    }
    assert list(notices(runs, plan_of(agent()))) == [
        "Some runs did not finish their answer (lens: 1 by limit, 1 by refusal of 5)."
    ]


def test_runs_that_end_with_a_remark_are_counted_by_condition_and_told_where_these_differ() -> None:
    ends = {"with": (True, True, False, None), "without": (False, True, False)}
    runs = [record(name, longer_report=end) for name, both in ends.items() for end in both]
    found = longer_reports(runs)
    assert found == {"with": {"runs": 2, "of": 3}, "without": {"runs": 1, "of": 3}}
    assert unequal_reports(found, plan_of(agent())).endswith(
        "so that a remark was scored: lens 2 of 3, without a server 1 of 3."
    )


def test_nothing_is_told_where_the_share_of_remarks_is_the_same_or_shown_on_one_side() -> None:
    for ends in ((True, True), (False, False), (True, None)):
        both = zip(("with", "without"), ends, strict=True)
        found = longer_reports(record(name, longer_report=end) for name, end in both)
        assert unequal_reports(found, plan_of(agent())) == ""
