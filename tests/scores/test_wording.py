"""Words that work: the choice on one part of the tasks, and its confirmation on the other."""

import random
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

import pytest

from handmade import Bench
from lensbench.core.records import Call
from lensbench.plan.config import Agent
from lensbench.plan.holdout import held_out, kept_out
from lensbench.scores.adoption import score_interval
from lensbench.scores.wording import Measured, Shift, choose

TASKS = [f"t{number:02}" for number in range(48)]
Calls = Mapping[str, bool]


INTERVAL = cache(score_interval)


def measured(new: Calls, old: Calls) -> Measured:
    """As a benchmark measures it, for one run of each task and condition."""

    def on(tasks: Collection[str]) -> Shift:
        more = sum(new[task] > old[task] for task in tasks)
        fewer = sum(new[task] < old[task] for task in tasks)
        low, high = INTERVAL(more, fewer, len(tasks))
        return Shift((more - fewer) / len(tasks), low, high, low > 0)

    return on


def share_of(truth: list[float], baseline: float, times: int, tasks: list[str] = TASKS) -> float:
    """How often one of the candidates is said to be better; `truth`: in what share of runs each is called."""
    draw = random.Random(7)
    better = 0
    for number in range(times):
        ease = {task: draw.gauss(0, 0.15) for task in tasks}  # tasks differ, whatever the words

        def calls(share: float, ease: Mapping[str, float] = ease) -> Calls:
            return {task: draw.random() < share + ease[task] for task in tasks}

        old = calls(baseline)
        candidates = {f"v{n}": measured(calls(share), old) for n, share in enumerate(truth)}
        confirming = held_out(tasks, 0.5, number)
        choosing = [task for task in tasks if task not in confirming]
        better += choose(candidates, choosing, confirming).is_better
    return better / times


@pytest.mark.parametrize("baseline", [0.3, 0.6])
def test_words_that_change_nothing_are_better_in_at_most_25_of_1000(baseline: float) -> None:
    assert share_of([baseline] * 4, baseline, 1500) <= 0.025 + 0.008  # two standard errors


def test_words_that_work_are_found() -> None:
    assert share_of([0.2, 0.8, 0.2], 0.2, 200) >= 0.9


def test_the_choice_on_all_tasks_would_be_wrong_more_often() -> None:
    draw = random.Random(3)
    wrong = 0
    for _ in range(400):
        calls = [{task: draw.random() < 0.3 for task in TASKS} for _ in range(9)]
        candidates = {f"v{n}": measured(own, calls[0]) for n, own in enumerate(calls[1:])}
        wrong += choose(candidates, TASKS, TASKS).is_better
    assert wrong / 400 > 0.05


def test_the_tasks_that_confirm_are_drawn_by_seed_and_stay_where_they_are() -> None:
    first = held_out(TASKS[:12], 0.5, 1)
    assert len(first) == 6
    assert first == held_out([*TASKS[:12]], 0.5, 1)
    assert any(held_out(TASKS[:12], 0.5, seed) != first for seed in (2, 3))
    assert len(held_out(TASKS[:2], 0.9, 1)) == 1
    former: Any = {"tasks": dict.fromkeys(TASKS[:12]), "holdout": first, "gate": {"holdout": 0.5}}
    plan: Any = {"order": TASKS, "seed": 1, "gate": {"holdout": 0.5}}
    now = kept_out(plan, former)
    assert [task for task in now if task in TASKS[:12]] == first
    assert len(now) == 6 + 18


def bench_of(bench: Callable[..., Bench], called: Mapping[str, float], **more: Any) -> Any:
    """A benchmark of what is in use and two candidates: in which share of the tasks each was called."""
    names = [*called]
    tasks = TASKS[:24]
    made = bench(tasks=tasks, servers={name: ["lens"] for name in names})
    part: dict[str, Any] = {"mcp": None, "mcp_sha256": "m", "servers": ["lens"]}
    conditions = {name: {**part, "describe": name} for name in names}
    conditions[names[0]] = part
    agent = Agent(kind="claude-code", model="sonnet").settings
    confirming = held_out(tasks, 0.5, 1)
    made.changes = {"baseline": names[0], "conditions": conditions, "agent": agent}
    made.changes |= {"holdout": confirming, **more}
    for side in (confirming, [task for task in tasks if task not in confirming]):
        for number, task in enumerate(side):
            for name, share in called.items():
                is_called = number < share * len(side)
                calls = [Call("mcp__lens__lens_grep", 1)] if is_called else [Call("Read", 1)]
                made.run(task, name, seen=calls)
    return made


def test_results_say_which_words_to_take_with_intervals(bench: Callable[..., Bench]) -> None:
    made = bench_of(bench, {"now": 0.25, "plain": 0.25, "bold": 1.0})
    words = made.build()["wording"]
    assert words["outcome"] == "adoption"
    assert words["chosen"] == "bold"
    assert words["is_better"]
    assert sorted(words["candidates"]) == ["bold", "plain"]
    assert words["sentences"][0] == (
        "Words: take bold. Of 2, bold was best where the choice was made, and on the other tasks:"
    )
    assert words["sentences"][1] == (
        "bold was called in 12 of 12 runs, now in 3: +75 points (95% interval +33 to +91; 9 tasks only bold,"
        " 0 only now)."
    )
    assert words["sentences"][2].startswith("The score changes by 0.0 points (95% interval ")
    assert "**Words: take bold." in made.page
    assert "Words: take bold." in (made.folder / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("called", "said"),
    [
        (
            {"now": 0.5, "plain": 0.25, "bold": 0.5},
            "Words: none beats what you have (now) on the tasks of the choice.",
        ),
        (
            {"now": 0.5, "plain": 0.59, "bold": 0.25},
            "Words: none is shown to beat what you have (now). Of 2, plain was best where the choice was made",
        ),
        (
            {"now": 1.0, "plain": 1.0, "bold": 1.0},
            "Words: none beats what you have (now) on the tasks of the choice.",
        ),
    ],
)
def test_the_answer_may_be_that_none_is_better(
    bench: Callable[..., Bench], called: Mapping[str, float], said: str
) -> None:
    words = bench_of(bench, called).build()["wording"]
    assert words["sentences"][0].startswith(said)
    assert not words["is_better"]
    assert words["outcome"] == ("score" if called["now"] == 1 else "adoption")


def test_without_a_holdout_there_is_no_choice(bench: Callable[..., Bench]) -> None:
    made = bench_of(bench, {"now": 0.25, "plain": 0.25, "bold": 1.0})
    del made.changes["holdout"]
    assert made.build()["wording"] is None
    assert "Words: " not in made.page
