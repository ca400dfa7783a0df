"""The verdict in plain words, on the page and on the terminal."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.oneway import anova_oneway

from lensbench.judging.belief import Belief
from lensbench.results.plain_verdict import _are_unlike, plain_verdict
from lensbench.scores.gate import GateVerdict
from lensbench.scores.intervals import Estimate
from lensbench.workflow.finish import lines


def results(verdict: str = "INCONCLUSIVE", low: float | None = -0.05, **more: Any) -> dict[str, Any]:
    """Results of twelve tasks: two better, one worse; eight times as long."""
    overall = {"n": 12, "wins": 2, "losses": 1, "ties": 9, "delta": 0.0416667}
    sentence = (
        "INCONCLUSIVE: no verdict is given. No model." if more.get("kind") == "offline" else f"{verdict}: numbers"
    )
    measures = {
        "duration_s": {"paired_treatment": Fraction(16), "paired_baseline": Fraction(2)},
        "cost_usd": more.get("cost", {"paired_treatment": None, "paired_baseline": None}),
    }
    return {
        "alpha": 0.05,
        "agent": {"kind": more.get("kind", "claude-code")},
        "counts": {"scored": 24 - more.get("gone", 0), "unjudged": 0, "discarded": more.get("gone", 0), "missing": 0},
        "estimates": {"with": {
            "score": {"overall": Estimate(**overall | more.get("overall", {})), "categories": {}},
            "gate": GateVerdict(verdict, sentence, "About 14 more tasks.", low, None),
            "too_few_calls": "",
        }},
        "comparisons": {"with": {"measures": measures}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "low", "lead", "then"),
    [
        ("INCONCLUSIVE", -0.05, "We cannot tell yet.", "About 14 more tasks."),
        ("GO", 0.01, "with helps.", "Use it, for this model"),
        ("NO-GO", -0.05, "with does not help.", "Leave it out"),
        ("NO-GO", 0.01, "with helps too little to matter.", "Leave it out"),
        ("HARM", -0.2, "with makes the answers worse.", "Do not use it"),
    ],
)
def test_each_verdict_has_its_words_and_what_to_do(verdict: str, low: float, lead: str, then: str) -> None:
    plain = plain_verdict(results(verdict, low), "with", {})
    assert plain["lead"] == lead
    assert plain["next"].startswith(then)
    assert plain["facts"] == "2 tasks better, 1 worse, 9 the same (+4.2pp on average); it took 8 times as long."


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (("3", "2"), "it took 8 times as long and cost 50 % more."),
        (("1", "2"), "it took 8 times as long and cost 50 % less."),
        (("2.02", "2"), "it took 8 times as long and cost the same."),
        (("9", "3"), "it took 8 times as long and cost 3 times as much."),
    ],
)
def test_the_price_stands_beside_the_score(cost: tuple[str, str], said: str) -> None:
    paid = {"paired_treatment": Fraction(cost[0]), "paired_baseline": Fraction(cost[1])}
    assert plain_verdict(results(cost=paid), "with", {})["facts"].endswith(said)


def test_a_search_program_gives_no_verdict_and_says_so() -> None:
    plain = plain_verdict(results(kind="offline"), "with", {})
    assert plain["lead"] == "No verdict."
    assert "a search program, not a language model" in plain["next"]


REFUSED = "INCONCLUSIVE: no verdict is given. No language model answered: this was the offline agent."


@pytest.mark.parametrize(
    ("sentence", "low", "high", "p", "lead"),
    [
        (f"{REFUSED} The figures as they are: so.", 0.05, 0.3, 0.03, "with helps this search program."),
        (f"{REFUSED} The figures as they are: so.", -0.3, -0.05, 0.03, "with harms this search program."),
        (f"{REFUSED} The figures as they are: so.", -0.05, 0.3, 0.03, "No verdict."),
        (f"{REFUSED} The figures as they are: so.", 0.05, 0.3, 0.06, "No verdict."),
        (f"{REFUSED} The figures as they are: so.", 0.05, 0.3, None, "No verdict."),
        (f"{REFUSED} A judge was wrong. The figures as they are: so.", 0.05, 0.3, 0.03, "No verdict."),
    ],
)
def test_what_a_search_program_found_is_said_to_be_about_it(
    sentence: str, low: float, high: float, p: float | None, lead: str
) -> None:
    data = results(kind="offline", overall={"p_holm": p})
    data["estimates"]["with"]["gate"] = GateVerdict("INCONCLUSIVE", sentence, "", low, high)
    assert plain_verdict(data, "with", {})["lead"] == lead


def test_the_categories_that_differ_are_named_and_those_that_do_not() -> None:
    found = {"Debug": (0.0, 1.0), "Change-Impact": (0.36, 0.016), "Targeted": (0.07, None)}
    data = results()

    def spread(se: float) -> None:
        data["estimates"]["with"]["score"]["categories"] = {
            name: Estimate(delta=delta, p_holm=p, se=se, df=11.0) for name, (delta, p) in found.items()
        }

    spread(0.05)
    said = " The difference shows in Change-Impact (+36pp), and in Debug and Targeted none is shown."
    assert plain_verdict(data, "with", {})["facts"].endswith(f"as long.{said}")
    spread(0.2)
    alike = " The categories are alike, as far as these tasks can tell."
    assert plain_verdict(data, "with", {})["facts"].endswith(f"as long.{alike}")
    data["alpha"] = 0.01
    assert plain_verdict(data, "with", {})["facts"].endswith("as long.")


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.2, 0.3])
def test_categories_are_unlike_where_welchs_test_says_so(shift: float) -> None:
    rng = np.random.default_rng(3)
    groups = [rng.normal(shift * k, 0.2 + 0.1 * k, 8 + 3 * k) for k in range(3)]
    p = anova_oneway(groups, use_var="unequal").pvalue
    told = [Estimate(delta=d.mean(), se=d.std(ddof=1) / len(d) ** 0.5, df=len(d) - 1.0) for d in groups]
    assert (_are_unlike(told, p * 1.0001), _are_unlike(told, p * 0.9999)) == (True, False)


def test_runs_without_a_score_are_counted() -> None:
    assert plain_verdict(results(gone=3), "with", {})["facts"].endswith("as long. 3 of 24 runs have no score.")
    nothing = plain_verdict(results(gone=24, overall={"n": 0}), "with", {})
    assert nothing["lead"] == "Nothing can be compared yet."
    assert "lensbench run" in nothing["next"]


@pytest.mark.parametrize(
    ("unjudged", "kind", "said"),
    [
        (4, "none", "Nobody has judged these answers. Add a model"),
        (0, "none", "made elsewhere"),
        (1, "codex", "Nobody"),
    ],
)
def test_what_to_do_where_nothing_can_be_compared_is_what_helps(unjudged: int, kind: str, said: str) -> None:
    data = results(gone=24, overall={"n": 0}, kind=kind)
    data["counts"]["unjudged"] = unjudged
    assert said in plain_verdict(data, "with", {})["next"]


def test_a_judge_that_failed_is_named_where_nothing_can_be_compared() -> None:
    data = results(gone=24, overall={"n": 0}, kind="none")
    data["counts"]["unjudged"] = 4
    judges = {"claude": {"failures": {"crashed": {"with": 3, "without": 1}}}}
    said = plain_verdict(data, "with", judges)["next"]
    assert said.startswith("The judges gave no verdict: claude: the judge's agent failed (verdicts: 4).")


def test_the_terminal_says_the_same(tmp_path: Any) -> None:
    data = results()
    data |= {"plain": {"with": plain_verdict(data, "with", {})}, "headlines": ["figures"]}
    data |= {"instrument": {"belief": Belief({}, {}, "", {}, [])}}
    said = list(lines(tmp_path, data))
    assert said[0].startswith("We cannot tell yet. 2 tasks better, 1 worse, 9 the same")
    assert said[1] == "Next: About 14 more tasks."
    assert said[-1] == f"open {tmp_path / 'report.html'} or {tmp_path / 'results.md'}"
