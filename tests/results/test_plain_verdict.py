"""The verdict in plain words, on the page and on the terminal."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from statsmodels.stats.oneway import anova_oneway

from lensbench.core.conditions import display_name
from lensbench.judging.trust.belief import Belief
from lensbench.results.plain_verdict import are_unlike, plain_verdict
from lensbench.scores.gate import GateVerdict
from lensbench.scores.intervals import Estimate
from lensbench.workflow.finish import lines

ROWS = yaml.safe_load(Path(__file__).with_name("plain_verdict.yaml").read_text(encoding="utf-8"))


def results(
    verdict: str = "INCONCLUSIVE", low: float | None = -0.05, **more: Any
) -> dict[str, Any]:
    """Results of twelve tasks: two better, one worse; eight times without a server."""
    overall = {
        "n": 12,
        "wins": 2,
        "losses": 1,
        "ties": 9,
        "delta": 0.0416667,
        "scope": "",
        "low": -0.05,
        "high": 0.1,
    }
    sentence = (
        "INCONCLUSIVE: no verdict is given. No model."
        if more.get("kind") == "offline"
        else f"{verdict}: numbers"
    )
    measures = {
        "duration_s": {
            "overall": Estimate(**more.get("time", {"delta": 7.0, "low": 5.5, "high": 9.0}))
        },
        "cost_usd": {"overall": Estimate(**more.get("cost", {}))},
        "tokens_weighted": {"overall": Estimate(**more.get("tokens", {}))},
    }
    conditions: dict[str, Any] = {
        "without": {"servers": []},
        "with": {"servers": more.get("servers", ["lens"])},
        "other": {"servers": more.get("others", ["graph", "grep"])},
    }
    own: Any = {"baseline": "without", "conditions": conditions}
    return {
        **own,
        "alpha": 0.05,
        "agent": {"kind": more.get("kind", "claude-code")},
        "names": {name: display_name(own, name) for name in conditions},
        "given_up": [],
        "estimated_costs": more.get("estimated", {}),
        "judge_reliability": {"judges": {}},
        "stopped": more.get("stopped", ""),
        "discards": {
            "timed_out": Counter({"with": 2}),
            "mcp_failed": Counter({"with": 3, "without": 1}),
        },
        "counts": {
            "scored": 24 - more.get("gone", 0),
            "unjudged": 0,
            "discarded": more.get("gone", 0),
            "missing": 0,
        },
        "estimates": {
            "with": {
                "treatment": "with",
                "baseline": "without",
                "score": {
                    "overall": Estimate(**overall | more.get("overall", {})),
                    "categories": {},
                },
                "gate": GateVerdict(
                    verdict,
                    sentence,
                    "About 14 more tasks." if verdict == "INCONCLUSIVE" else "",
                    low,
                    0.1,
                ),
                "corrected": Estimate(**more["corrected"]) if "corrected" in more else None,
                "measures": measures,
                "too_few_calls": "",
            }
        },
    }


@pytest.mark.parametrize(
    ("verdict", "low", "lead", "then"),
    [
        ("INCONCLUSIVE", -0.05, "We cannot tell yet.", "About 14 more tasks."),
        ("GO", 0.01, "lens helps.", "Use it, for this model and questions like these; read"),
        ("NO-GO", -0.05, "lens does not help.", "Leave it out"),
        ("NO-GO", 0.01, "lens helps too little to matter.", "Leave it out"),
        ("HARM", -0.2, "lens makes the answers worse.", "Do not use it"),
    ],
)
def test_each_verdict_has_its_words_and_what_to_do(
    verdict: str, low: float, lead: str, then: str
) -> None:
    plain = plain_verdict(results(verdict, low), "with")
    assert plain["lead"] == lead
    assert plain["next"].startswith(then)
    took = "it took 8.0 times as long (6.5 to 10)."
    assert plain["facts"] == f"2 tasks better, 1 worse, 9 the same (+4.2 points on average); {took}"
    assert plain["sentence"] == f"{verdict}: numbers"


@pytest.mark.parametrize("verdict", ["GO", "HARM", "NO-GO"])
def test_advice_names_the_repositories_for_which_it_holds(verdict: str) -> None:
    data = results(verdict, overall={"scope": "these repositories only"})
    assert ", on these repositories only" in plain_verdict(data, "with")["next"]


@pytest.mark.parametrize(
    ("servers", "name"), [(["lens"], "lens"), (["lens", "other"], "with"), ([], "with")]
)
def test_a_condition_is_called_by_its_server_where_it_has_one(
    servers: list[str], name: str
) -> None:
    assert plain_verdict(results("GO", 0.01, servers=servers), "with")["lead"] == f"{name} helps."


def test_a_difference_that_people_correct_is_the_one_that_is_shown() -> None:
    corrected = {"delta": 0.036, "low": 0.01, "high": 0.06}
    assert (
        "(+3.6 points on average)" in plain_verdict(results(corrected=corrected), "with")["facts"]
    )


@pytest.mark.parametrize(("time", "cost", "said"), ROWS["effort"])
def test_time_and_price_stand_beside_the_score_when_their_interval_excludes_no_difference(
    time: list[float | None], cost: list[float | None], said: str
) -> None:
    took, paid = (dict(zip(("delta", "low", "high"), each, strict=True)) for each in (time, cost))
    assert plain_verdict(results(time=took, cost=paid), "with")["facts"].endswith(said)
    estimated = plain_verdict(results(time=took, cost=paid, estimated={"glm-5": 2}), "with")[
        "facts"
    ]
    assert ("less (estimated)" in estimated) == ("cost 50% less" in said)


@pytest.mark.parametrize(
    ("others", "names"),
    [
        (["graph"], ["lens", "graph"]),
        (["graph", "grep"], ["lens", "other"]),
        ([], ["lens", "other"]),
        (["lens"], ["with", "other"]),
    ],
)
def test_of_several_treatments_each_is_named_in_its_first_words(
    others: list[str], names: list[str]
) -> None:
    first, second = names
    data = results(others=others)
    uncalled = f"None of 24 runs with {second} called its tools."
    go = GateVerdict("GO", "GO: numbers", "", 0.01, 0.1)
    estimates = data["estimates"]
    unclear = {**estimates["with"], "treatment": "other"}
    leads = {
        f"{second}: We cannot tell yet.": unclear,
        f"{second} helps.": {**unclear, "gate": go},
        f"{second}: {uncalled}": {**unclear, "too_few_calls": uncalled},
    }
    for lead, comparison in leads.items():
        estimates["other"] = comparison
        assert plain_verdict(data, "other")["lead"] == lead
        assert plain_verdict(data, "with")["lead"] == f"{first}: We cannot tell yet."
    name = "other against with"
    estimates[name] = {**unclear, "baseline": "with", "gate": go}
    lead = plain_verdict(data, name)["lead"]
    assert lead == f"{second} against {first}: {second} is better than {first}."


def test_a_search_program_has_one_status_everywhere() -> None:
    plain = plain_verdict({**results(kind="offline"), "run_id": "demo"}, "with")
    assert (
        plain["lead"]
        == "The pipeline works. No verdict: a search program answered, not a language model."
    )
    assert plain["facts"].startswith("With lens: 2 tasks better, 1 worse, 9 the same")
    assert plain["sentence"] == f"{plain['lead']} {plain['facts']}"
    wanted = "Ask a language model: `lensbench init` writes a config for your server, then `lensbench run`."
    assert plain["next"] == wanted
    own = plain_verdict({**results(kind="offline"), "run_id": "mine-smoke"}, "with")
    assert (
        own["next"]
        == "Ask a language model: `lensbench run` with an `agent` that has one (`lensbench docs agents`)."
    )


@pytest.mark.parametrize(("found", "said"), ROWS["categories"])
def test_categories_differ_where_a_test_shows_it_and_not_where_one_alone_has_a_small_p_value(
    found: dict[str, list[float | None]], said: str
) -> None:
    data = results(overall={"se": 0.1, "df": 11.0})
    data["estimates"]["with"]["score"]["categories"] = {
        name: Estimate(delta=delta, p_holm=p, se=se, df=se and 11.0, n=12)
        for name, (delta, p, se) in found.items()
    }
    assert plain_verdict(data, "with")["facts"].endswith(f"as long (6.5 to 10).{said}")


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.2, 0.3])
def test_categories_are_unlike_where_welchs_test_says_so(shift: float) -> None:
    rng = np.random.default_rng(3)
    groups = [rng.normal(shift * k, 0.2 + 0.1 * k, 8 + 3 * k) for k in range(3)]
    p = anova_oneway(groups, use_var="unequal").pvalue
    told = [
        Estimate(delta=d.mean(), se=d.std(ddof=1) / len(d) ** 0.5, df=len(d) - 1.0, n=len(d))
        for d in groups
    ]
    assert (are_unlike(told, Estimate(), p * 1.0001), are_unlike(told, Estimate(), p * 0.9999)) == (
        True,
        False,
    )


def test_runs_without_a_score_are_counted() -> None:
    assert plain_verdict(results(gone=3), "with")["facts"].endswith(
        "as long (6.5 to 10). 3 of 24 runs have no score."
    )
    nothing = plain_verdict(results(gone=24, overall={"n": 0}), "with")
    assert nothing["lead"] == "Nothing can be compared yet."
    assert (
        nothing["next"]
        == "Most discards are mcp_failed: fix the cause (Discards in results.md), then start again."
    )
    given_up = results(gone=24, overall={"n": 0}) | {"given_up": [{}]}
    assert plain_verdict(given_up, "with")["next"].endswith(
        "start again, with a higher `discards.max_rounds`."
    )


@pytest.mark.parametrize(
    ("unjudged", "kind", "said"),
    [
        (4, "none", "Nobody has judged these answers. Add a model"),
        (0, "none", "made elsewhere"),
        (1, "codex", "Nobody"),
    ],
)
def test_what_to_do_where_nothing_can_be_compared_is_what_helps(
    unjudged: int, kind: str, said: str
) -> None:
    data = results(gone=24, overall={"n": 0}, kind=kind)
    data["counts"]["unjudged"] = unjudged
    assert said in plain_verdict(data, "with")["next"]


def test_next_names_a_judge_that_failed_or_what_lets_a_stopped_benchmark_go_on() -> None:
    data = results(gone=24, overall={"n": 0}, kind="none")
    data["counts"]["unjudged"] = 4
    data["judge_reliability"]["judges"] = {
        "claude": {"failures": {"crashed": {"with": 3, "without": 1}}}
    }
    said = plain_verdict(data, "with")["next"]
    assert said.startswith(
        "The judges gave no verdict: claude: the judge's agent failed (verdicts: 4)."
    )
    why = "the budget is spent (1.00 of 1 US dollars); raise budget.max_usd to continue"
    for gone in (0, 24):
        data = results(overall={"n": 0}, stopped=why, gone=gone)
        assert plain_verdict(data, "with")["next"] == f"{why}."


def test_the_terminal_says_the_same(tmp_path: Any) -> None:
    data = results()
    data |= {"plain": {"with": plain_verdict(data, "with")}, "headlines": ["figures"]}
    data |= {"judge_reliability": {"belief": Belief({}, {}, "", {}, [])}}
    said = list(lines(tmp_path, data))
    assert said[0].startswith("We cannot tell yet. 2 tasks better, 1 worse, 9 the same")
    assert said[1] == "Next: About 14 more tasks."
    assert said[-1] == f"open {tmp_path / 'report.html'} or {tmp_path / 'results.md'}"


@pytest.mark.parametrize(
    ("kind", "then"),
    [
        ("codex", "Start again: `lensbench run` runs what is missing."),
        ("none", "About 14 more tasks."),
    ],
)
def test_no_further_tasks_are_asked_for_while_runs_are_missing(kind: str, then: str) -> None:
    data = results(kind=kind)
    data["counts"]["missing"] = 18
    assert plain_verdict(data, "with")["next"] == then
    data["stopped"] = why = (
        "the budget is spent (6.00 of 6 attempts); raise budget.max_runs to continue"
    )
    assert plain_verdict(data, "with")["next"] == (f"{why}." if kind == "codex" else then)
