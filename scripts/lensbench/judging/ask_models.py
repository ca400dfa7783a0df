"""Asks a model judge: one criterion per request, after canaries about the same answer, criteria with a known verdict
(`judges/canaries.py`). A judge that is wrong about a canary follows instructions in the answer or reads carelessly, and
its verdicts on this answer are void. Replies are stored under a hash of the request, and reused."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from jinja2 import TemplateError

from lensbench.agents.services import back_off
from lensbench.changes.task import answer_criteria
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan, PlannedJudge
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_typed, write_json
from lensbench.core.tasks import Criterion, Task
from lensbench.judging.blinding import MARK
from lensbench.judging.judge_agent import JudgeAgent, agent_of, workers
from lensbench.judging.judges import Judgement, Verdict, unjudged
from lensbench.judging.judges import model as judging
from lensbench.judging.judges.canaries import Canary, canaries
from lensbench.judging.judges.normalising import without_comments
from lensbench.judging.shown_answers import JudgedCriterion, ShownAnswer
from lensbench.runs.reasons import DiscardReason
from lensbench.runs.stopping import StopEverything

_FAILURE_OF: Mapping[str, str] = {
    DiscardReason.TIMED_OUT: "timeout",
    DiscardReason.CRASHED: "crashed",
}
_LONGEST_REPLY = 2000


class Batch(NamedTuple):
    """One answer with its criteria."""

    shown: ShownAnswer
    question: str
    facts: Sequence[str]
    others: Sequence[str]
    """The facts of other tasks."""


class _Question(NamedTuple):
    """Whether an answer states a fact: one of its task, or that of a canary."""

    agent: JudgeAgent
    batch: Batch
    fact: str
    canary: Canary | None = None

    @property
    def answer(self) -> str:
        text = self.batch.shown.text
        return self.canary.shown(text) if self.canary else text

    @property
    def key(self) -> str:
        """A hash of all that the outcome depends on."""
        judge = [self.agent.identity, self.agent.judge["prompt"]]
        parts = [*judge, self.batch.question, self.fact, self.answer]
        return sha256(json.dumps(parts).encode())

    @property
    def file(self) -> Path:
        return RunFolder(self.agent.folder).judging / self.key[:2] / f"{self.key}.json"

    def stored(self) -> Judgement | None:
        """The stored outcome; None when there is none, or the file is damaged."""
        with suppress(UserError):
            return read_typed(self.file, Judgement)
        return None

    def verdict(self) -> Judgement | None:
        """The stored outcome, if it is no failure."""
        outcome = self.stored()
        return None if outcome is None or outcome.failure else outcome


def judge_by_model(
    folder: Path,
    plan: Plan,
    judge: PlannedJudge,
    tasks: Mapping[str, Task],
    answers: Sequence[ShownAnswer],
    parallel: int,
    ask: bool = True,
) -> Iterator[JudgedCriterion]:
    """The outcome for each criterion of each answer, but for those of incomplete pairs; without `ask` the stored ones.
    Raises UserError for errors that affect all requests: a missing program, a refused key, an invalid template."""
    agent = agent_of(folder, plan, judge, attempts=judge["agent"]["retries"] if ask else 0)
    criteria = {name: answer_criteria(task) for name, task in tasks.items()}
    waiting = unjudged("pair_incomplete", "the other run of the pair does not count yet")
    batches: list[Batch] = []
    for answer in answers:
        task = answer.run.task
        if not answer.pair_complete:
            for number, _ in criteria[task]:
                yield answer, number, waiting
        elif criteria[task]:
            batches.append(_batch(answer, tasks[task].prompt, criteria))
    cost = 0.0
    gaps = 0
    with workers(parallel) as pool:
        results = pool.map(partial(judge_batch, agent), batches)
        for count, (batch, outcomes) in enumerate(zip(batches, results, strict=True), 1):
            numbered = zip(criteria[batch.shown.run.task], outcomes, strict=True)
            for (number, _), outcome in numbered:
                cost += outcome.cost_usd or 0
                gaps += bool(outcome.failure)
                yield batch.shown, number, outcome
            print(
                f"{count} of {len(batches)} answers, {gaps} criteria without a verdict, {cost:.4f} US dollars",
                file=sys.stderr,
                flush=True,
            )


def _batch(
    answer: ShownAnswer, question: str, criteria: Mapping[str, Sequence[tuple[int, Criterion]]]
) -> Batch:
    facts: list[str] = []
    others: list[str] = []
    for task, numbered in criteria.items():
        place = facts if task == answer.run.task else others
        place += [criterion.text for _, criterion in numbered]
    return Batch(answer, question, facts, others)


def judge_batch(agent: JudgeAgent, batch: Batch) -> list[Judgement]:
    """The outcome for each fact of the batch, in order."""
    text = batch.shown.text
    visible = without_comments(text).replace(MARK, "")
    if not any(map(str.isalnum, visible)):
        return [Judgement(Verdict.MISSED, reason="nothing is stated")] * len(batch.facts)
    seal = judging.nonce_of(str(agent.plan["seed"]), agent.judge["prompt"], text)
    probes = [*canaries(text, seal, batch.question, batch.facts, batch.others)]
    first, *later = _judge_all(agent, batch, probes)
    # the canaries' cost is added to the first criterion's
    outcomes = [_Question(agent, batch, canary.fact, canary).stored() for canary in probes]
    costs = [outcome.cost_usd for outcome in (first, *outcomes) if outcome]
    return [replace(first, cost_usd=_sum(costs)), *later]


def _judge_all(agent: JudgeAgent, batch: Batch, probes: Sequence[Canary]) -> list[Judgement]:
    questions = [_Question(agent, batch, fact) for fact in batch.facts]
    verdicts = [question.verdict() for question in questions]
    for canary in () if all(verdicts) else probes:
        outcome = _ask_until(_Question(agent, batch, canary.fact, canary))
        outcome = replace(outcome, cost_usd=None)
        # evidence that is not in the answer is what an instruction in the answer leads to; other failures say nothing
        if outcome.failure not in ("", "evidence_not_found"):
            return [verdict or outcome for verdict in verdicts]
        if outcome.verdict not in canary.allowed:
            return [_void(outcome, canary)] * len(batch.facts)
    return [
        verdict or _ask_until(question)
        for verdict, question in zip(verdicts, questions, strict=True)
    ]


def _void(outcome: Judgement, canary: Canary) -> Judgement:
    """What a criterion gets when the judge is wrong about a canary."""
    wrong = outcome.failure or outcome.verdict.value
    reason = f"{wrong} for a criterion that is {canary.allowed[0].value}: {canary.fact}"
    return replace(
        unjudged("canary", reason),
        version=outcome.version,
        models=outcome.models,
        cost_is_guess=outcome.cost_is_guess,
    )


def _ask_until(question: _Question) -> Judgement:
    """Asks until there is a verdict or the attempts are used up, and stores the outcome. A canary that is stated is
    asked again while its verdict is wrong; a Met for another one is leniency, which asking again would hide."""
    agent = question.agent
    targets = tuple(Verdict)
    if question.canary and Verdict.MET in question.canary.allowed:
        targets = question.canary.allowed
    stored = question.verdict()
    if stored and stored.verdict in targets:
        return stored
    outcomes: list[Judgement] = []
    outcome = unjudged("not_reached", "nothing was asked")
    for attempt in range(1, agent.attempts + 1):
        if attempt > 1:
            back_off(attempt - 1)
        try:
            agent.check_budget()
        except StopEverything as error:
            outcome = unjudged("not_reached", str(error))
            break
        outcome = _ask_once(question, judging.nonce_of(question.key, str(attempt)))
        outcomes.append(outcome)
        write_json(question.file, asdict(_together(outcomes, outcome)))
        if not outcome.failure and outcome.verdict in targets:
            break
    return _together(outcomes, outcome)


def _together(outcomes: Sequence[Judgement], last: Judgement) -> Judgement:
    """The last outcome with the costs and the replies of all."""
    replies = tuple(reply for outcome in outcomes for reply in outcome.replies)
    return replace(last, cost_usd=_sum(outcome.cost_usd for outcome in outcomes), replies=replies)


def _sum(costs: Iterable[float | None]) -> float | None:
    """The sum of the costs; None when no request reports its cost."""
    values = [cost for cost in costs if cost is not None]
    return sum(values) if values else None


def _ask_once(question: _Question, nonce: str) -> Judgement:
    """The outcome of one request."""
    output, reason, detail = question.agent.ask(_prompt(question, nonce))
    outcome = output.outcome
    calls = outcome.calls or ()
    if outcome.gave_up:
        judgement = unjudged("refused", outcome.gave_up)
    elif reason:
        judgement = unjudged(_FAILURE_OF.get(reason, "api_error"), f"{reason}: {detail}")
    elif any(call.count for call in calls):
        judgement = unjudged("used_tools", ", ".join(call.name for call in calls))
    else:
        judgement = _read_reply(question, output.answer, nonce)
    prompt_version = sha256(question.agent.judge["prompt"].encode())[:8]
    return replace(
        judgement,
        version=f"{prompt_version}+{outcome.agent_version or 'not shown'}",
        models=", ".join(outcome.models or ()),
        cost_usd=outcome.cost_usd,
        cost_is_guess=outcome.cost_is_guess,
        replies=(output.answer[:_LONGEST_REPLY],),
    )


def _prompt(question: _Question, nonce: str) -> str:
    judge = question.agent.judge
    try:
        return judging.render(
            judge["prompt"],
            nonce=nonce,
            question=question.batch.question,
            answer=question.answer,
            fact=question.fact,
            mark=MARK,
        )
    except (TemplateError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        raise UserError(f"the prompt of judge {judge['name']!r}: {error}") from None


def _read_reply(question: _Question, reply: str, nonce: str) -> Judgement:
    """The judgement in a reply. If a sentence was planted, evidence must come from it; other evidence must not span
    removed text, because then it is not in the original answer."""
    shown = question.batch.shown
    if question.canary and question.canary.planted:
        return judging.read_reply(reply, nonce, question.canary.planted, question.fact)
    judgement = judging.read_reply(reply, nonce, shown.text, question.fact)
    start = judgement.position
    if start is None or shown.blinded.span(start, start + len(judgement.evidence)):
        return judgement
    reason = "the evidence runs over a place where something was removed"
    return unjudged("evidence_not_found", reason)
