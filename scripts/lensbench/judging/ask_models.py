"""Asks a model judge: one criterion per request, after canaries about the same answer, criteria with a known verdict
(`judges/canaries.py`). A judge that is wrong about a canary follows instructions in the answer or reads carelessly, and
its verdicts on this answer are void. Replies are stored under a hash of the request, and reused."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from jinja2 import TemplateError
from pydantic import TypeAdapter, ValidationError

from lensbench.agents.services import back_off
from lensbench.changes.task import answer_criteria
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan, PlannedJudge
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json
from lensbench.core.tasks import Task
from lensbench.judging.blinding import MARK
from lensbench.judging.judge_agent import JudgeAgent, agent_of, workers
from lensbench.judging.judges import Judgement, Verdict, unjudged
from lensbench.judging.judges import model as judging
from lensbench.judging.judges.canaries import Canary, canaries
from lensbench.judging.judges.normalising import without_comments
from lensbench.judging.shown_answers import Judged, ShownAnswer
from lensbench.runs.reasons import DiscardReason
from lensbench.runs.stopping import StopEverything

_FAILURE_OF: Mapping[str, str] = {
    DiscardReason.TIMED_OUT: "timeout",
    DiscardReason.CRASHED: "crashed",
}
_LONGEST_REPLY = 2000


_STORED = TypeAdapter(Judgement)


class Batch(NamedTuple):
    """One answer with its criteria."""

    shown: ShownAnswer
    question: str
    facts: Sequence[str]
    others: Sequence[str]
    """The facts of other tasks."""


def judge_by_model(
    folder: Path,
    plan: Plan,
    judge: PlannedJudge,
    tasks: Mapping[str, Task],
    answers: Sequence[ShownAnswer],
    parallel: int,
    ask: bool = True,
) -> Iterator[Judged]:
    """The outcome for each criterion of each answer, but for those of incomplete pairs; without `ask` the stored ones.
    Raises UserError for errors that affect all requests: a missing program, a refused key, an invalid template."""
    agent = agent_of(folder, plan, judge, attempts=judge["agent"]["retries"] if ask else 0)
    numbers = {
        name: [number for number, _ in answer_criteria(task)] for name, task in tasks.items()
    }
    facts = {
        name: [criterion.text for _, criterion in answer_criteria(task)]
        for name, task in tasks.items()
    }
    others = {
        name: [fact for other, own in facts.items() if other != name for fact in own]
        for name in facts
    }
    waiting = unjudged("pair_incomplete", "the other run of the pair does not count yet")
    batches = []
    for answer in answers:
        task = answer.run.task
        if not answer.pair_complete:
            yield from ((answer, number, waiting) for number in numbers[task])
        elif facts[task]:
            batches.append(Batch(answer, tasks[task].prompt, facts[task], others[task]))
    cost = gaps = 0.0
    with workers(parallel) as pool:
        results = pool.map(partial(judge_batch, agent), batches)
        for count, (batch, outcomes) in enumerate(zip(batches, results, strict=True), 1):
            cost += sum(outcome.cost_usd or 0 for outcome in outcomes)
            gaps += sum(bool(outcome.failure) for outcome in outcomes)
            print(
                f"{count} of {len(batches)} answers, {gaps:.0f} criteria without a verdict, {cost:.4f} US dollars",
                file=sys.stderr,
                flush=True,
            )
            for number, outcome in zip(numbers[batch.shown.run.task], outcomes, strict=True):
                yield batch.shown, number, outcome


def judge_batch(agent: JudgeAgent, batch: Batch) -> list[Judgement]:
    """The outcome for each fact of the batch, in order."""
    text = batch.shown.text
    if not any(character.isalnum() for character in without_comments(text).replace(MARK, "")):
        return [Judgement(Verdict.MISSED, reason="nothing is stated") for _ in batch.facts]
    seal = judging.nonce_of(str(agent.plan["seed"]), agent.judge["prompt"], text)
    probes = list(canaries(text, seal, batch.question, batch.facts, batch.others))
    first, *later = _judge_all(agent, batch, probes)
    outcomes = (
        _stored(agent, _key(agent, batch.question, canary.fact, canary.shown(text)))
        for canary in probes
    )
    costs = [first.cost_usd, *(outcome.cost_usd for outcome in outcomes if outcome)]
    return [
        replace(first, cost_usd=_sum(costs)),
        *later,
    ]  # the canaries' cost is added to the first criterion's


def _judge_all(agent: JudgeAgent, batch: Batch, before: Iterable[Canary]) -> list[Judgement]:
    verdicts = [
        _verdict(agent, _key(agent, batch.question, fact, batch.shown.text)) for fact in batch.facts
    ]
    if all(verdicts):
        return [outcome for outcome in verdicts if outcome]
    for canary in before:
        outcome = replace(_ask_until(agent, batch, canary.fact, canary), cost_usd=None)
        # evidence that is not in the answer is what an instruction in the answer leads to; other failures say nothing
        if outcome.failure not in ("", "evidence_not_found"):
            return [verdict or outcome for verdict in verdicts]
        if outcome.verdict not in canary.allowed:
            wrong = outcome.failure or outcome.verdict.value
            void = unjudged(
                "canary",
                f"{wrong} for a criterion that is {canary.allowed[0].value}: {canary.fact}",
            )
            void = replace(
                void,
                version=outcome.version,
                models=outcome.models,
                cost_is_guess=outcome.cost_is_guess,
            )
            return [void] * len(batch.facts)
    return [
        verdict or _ask_until(agent, batch, fact)
        for verdict, fact in zip(verdicts, batch.facts, strict=True)
    ]


def _ask_until(
    agent: JudgeAgent, batch: Batch, fact: str, canary: Canary | None = None
) -> Judgement:
    """Asks until there is a verdict or the attempts are used up, and stores the outcome. A canary that is stated is
    asked again while its verdict is wrong; a Met for another one is leniency, which asking again would hide."""
    answer = canary.shown(batch.shown.text) if canary else batch.shown.text
    targets = canary.allowed if canary and Verdict.MET in canary.allowed else tuple(Verdict)
    key = _key(agent, batch.question, fact, answer)
    if (verdict := _verdict(agent, key)) and verdict.verdict in targets:
        return verdict
    outcomes: list[Judgement] = []
    for attempt in range(1, agent.attempts + 1):
        if attempt > 1:
            back_off(attempt - 1)
        try:
            agent.check_budget()
        except StopEverything as error:
            return _together(outcomes, unjudged("not_reached", str(error)))
        nonce = judging.nonce_of(key, str(attempt))
        outcomes.append(
            _ask_once(agent, batch, fact, answer, nonce, canary.planted if canary else "")
        )
        write_json(_file(agent, key), asdict(_together(outcomes, outcomes[-1])))
        if not outcomes[-1].failure and outcomes[-1].verdict in targets:
            break
    return _together(
        outcomes, outcomes[-1] if outcomes else unjudged("not_reached", "nothing was asked")
    )


def _together(outcomes: Sequence[Judgement], last: Judgement) -> Judgement:
    """The last outcome with the costs and the replies of all."""
    replies = tuple(reply for outcome in outcomes for reply in outcome.replies)
    return replace(last, cost_usd=_sum(outcome.cost_usd for outcome in outcomes), replies=replies)


def _sum(costs: Iterable[float | None]) -> float | None:
    """The sum of the costs; None when no request reports its cost."""
    values = [cost for cost in costs if cost is not None]
    return sum(values) if values else None


def _ask_once(
    agent: JudgeAgent, batch: Batch, fact: str, answer: str, nonce: str, plant: str
) -> Judgement:
    """The outcome of one request. If a sentence was planted (`plant`), evidence must come from it; other evidence must
    not span removed text, because then it is not in the original answer."""
    values = {
        "nonce": nonce,
        "question": batch.question,
        "answer": answer,
        "fact": fact,
        "mark": MARK,
    }
    try:
        prompt = judging.render(agent.judge["prompt"], **values)
    except (TemplateError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        raise UserError(f"the prompt of judge {agent.judge['name']!r}: {error}") from None
    output, reason, detail = agent.ask(prompt)
    outcome = output.outcome
    if outcome.gave_up:
        judgement = unjudged("refused", outcome.gave_up)
    elif reason:
        judgement = unjudged(_FAILURE_OF.get(reason, "api_error"), f"{reason}: {detail}")
    elif any(call.count for call in outcome.calls or ()):
        judgement = unjudged("used_tools", ", ".join(call.name for call in outcome.calls or ()))
    else:
        judgement = judging.read_reply(output.answer, nonce, plant or batch.shown.text, fact)
        start = judgement.position
        if (
            start is not None
            and not plant
            and not batch.shown.blinded.span(start, start + len(judgement.evidence))
        ):
            judgement = unjudged(
                "evidence_not_found", "the evidence runs over a place where something was removed"
            )
    prompt_version = sha256(agent.judge["prompt"].encode())[:8]
    return replace(
        judgement,
        version=f"{prompt_version}+{outcome.agent_version or 'not shown'}",
        models=", ".join(outcome.models or ()),
        cost_usd=outcome.cost_usd,
        cost_is_guess=outcome.cost_is_guess,
        replies=(output.answer[:_LONGEST_REPLY],),
    )


def _key(agent: JudgeAgent, question: str, fact: str, answer: str) -> str:
    return sha256(
        json.dumps([agent.identity, agent.judge["prompt"], question, fact, answer]).encode()
    )


def _file(agent: JudgeAgent, key: str) -> Path:
    return RunFolder(agent.folder).judging / key[:2] / f"{key}.json"


def _verdict(agent: JudgeAgent, key: str) -> Judgement | None:
    outcome = _stored(agent, key)
    return outcome if outcome and not outcome.failure else None


def _stored(agent: JudgeAgent, key: str) -> Judgement | None:
    """The stored outcome; None when there is none, or the file is damaged."""
    try:
        return _STORED.validate_json(_file(agent, key).read_bytes())
    except (OSError, ValidationError):
        return None
