"""Asks a model judge: one criterion per request, canaries first; existing verdicts are reused.

A batch is one answer with all its criteria, preceded by canaries about the same answer: criteria with a known verdict
(`judges/canaries.py`). A judge that is wrong about a canary follows instructions in the answer or reads carelessly, and
its verdicts on this answer are void. Replies are stored under a hash of the request.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypedDict

from jinja2 import TemplateError

from lensbench.agents import Assignment, secret_names
from lensbench.agents.prices import Prices, priced
from lensbench.agents.sandbox import Place, Sandbox, find_sandbox
from lensbench.agents.services import service_of, tell, wait_for
from lensbench.agents.start import Said, now, start_agent
from lensbench.changes.task import answer_criteria
from lensbench.core.conditions import NO_SERVERS, compared, treatments
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings, BudgetSettings, Plan, PlannedJudge, SandboxSettings
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.backoff import back_off
from lensbench.core.system.files import write_json
from lensbench.core.system.places import TEMPLATES
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.processes import adopt_orphans, die_with_parent
from lensbench.core.system.redaction import Redactor
from lensbench.core.tasks import Task
from lensbench.judging.blinding import MARK
from lensbench.judging.judges import Judgement, Verdict, unjudged
from lensbench.judging.judges import model as judging
from lensbench.judging.judges.canaries import Canary, canaries
from lensbench.judging.judges.normalising import without_comments
from lensbench.judging.shown_answers import ShownAnswer
from lensbench.runs.budget import check_budget, spend
from lensbench.runs.reasons import DiscardReason, Expectation, is_refused, reason_of
from lensbench.runs.stopping import StopEverything

_UNIMPORTANT = {"retries", "timeout_s", "max_turns", "mcp_start_s", "pass_env", "token_env", "tools", "tool_search"}
"""Settings of a judge's agent that do not affect its verdicts."""
_FAILURE_OF: Mapping[str, str] = {DiscardReason.TIMED_OUT: "timeout", DiscardReason.CRASHED: "crashed"}
_GUESSING = TEMPLATES / "judge_condition.md.j2"


class Given(NamedTuple):
    """The outcome of one request to a judge."""

    judgement: Judgement
    version: str = ""
    models: str = ""
    cost_usd: float | None = None
    cost_is_guess: bool = False


class KeptRequest(TypedDict):
    """A request as it is stored with its outcome."""

    asked_at: str
    duration_s: float
    reason: str
    failure: str
    detail: str
    tokens: dict[str, int] | None
    cost_usd: float | None
    prompt_sha256: str
    reply: str
    """The beginning of the judge's reply."""


@dataclass(frozen=True)
class JudgeSetting:
    """The data that all requests to one judge share; it is sent to worker processes."""

    folder: Path
    judge: PlannedJudge
    seed: int
    attempts: int
    budget: BudgetSettings
    sandbox: SandboxSettings | None
    prices: Prices

    @property
    def settings(self) -> AgentSettings:
        """The agent's settings: as configured, without tools."""
        return {**self.judge["agent"], "tools": [], "tool_search": False}

    @property
    def identity(self) -> str:
        """The settings that identify the judge: agent and model, but not time limits and retries."""
        told = {key: value for key, value in self.judge["agent"].items() if key not in _UNIMPORTANT}
        return json.dumps(told, sort_keys=True)

    @property
    def money(self) -> BudgetSettings:
        """The part of the budget that applies to judges; the other limits are for runs."""
        return {"max_usd": self.budget.get("max_usd")}

    @property
    def prompt_version(self) -> str:
        """A short hash of the prompt."""
        return sha256(self.judge["prompt"].encode())[:8]


def judge_by_model(
    folder: Path, plan: Plan, judge: PlannedJudge, tasks: Mapping[str, Task], seen: Sequence[ShownAnswer],
    parallel: int,
    ask: bool = True,
) -> Iterator[tuple[ShownAnswer, int, Given]]:  # fmt: skip
    """The outcome for each criterion (from 1) of each answer; answers of incomplete pairs are skipped.

    Without `ask`, only stored outcomes are returned.

    Raises UserError for errors that affect all requests: a missing program, a refused key, an invalid template.
    """
    bench = bench_of(folder, plan, judge)
    bench = bench if ask else replace(bench, attempts=0)
    asked = {name: answer_criteria(task) for name, task in tasks.items()}
    ready = [shown for shown in seen if shown.pair_complete and asked[shown.run.task]]
    facts = [[criterion.text for _, criterion in asked[shown.run.task]] for shown in ready]
    others = {
        name: [criterion.text for other, criteria in asked.items() if other != name for _, criterion in criteria]
        for name in asked
    }
    foreign = [others[shown.run.task] for shown in ready]
    questions = [tasks[shown.run.task].prompt for shown in ready]
    spent = failed = 0.0
    for shown in seen:
        if not shown.pair_complete:
            waiting = Given(unjudged("pair_incomplete", "the other run of the pair does not count yet"))
            yield from ((shown, number, waiting) for number, _ in asked[shown.run.task])
    with workers(parallel) as pool:
        results = pool.map(judge_batch, [bench] * len(ready), questions, facts, foreign, ready)
        for done, (shown, given) in enumerate(zip(ready, results, strict=True), 1):
            spent += sum(each.cost_usd or 0 for each in given)
            failed += sum(bool(each.judgement.failure) for each in given)
            print(f"{done} of {len(ready)} answers, {failed:.0f} criteria without a verdict, {spent:.4f} US dollars",
                  file=sys.stderr, flush=True)  # fmt: skip
            numbers = (number for number, _ in asked[shown.run.task])
            yield from ((shown, number, each) for number, each in zip(numbers, given, strict=True))


def bench_of(folder: Path, plan: Plan, judge: PlannedJudge) -> JudgeSetting:
    """The shared data of one of the plan's judges."""
    missing = [name for name in secret_names(judge["agent"]) if not os.environ.get(name)]
    if missing:
        raise UserError(f"judge {judge['name']!r}: {', '.join(missing)} is not set in the environment; export it")
    return JudgeSetting(
        folder, judge, plan["seed"], plan["judging"]["attempts"], plan.get("budget", {}), plan.get("sandbox"),
        plan.get("prices", {}),
    )  # fmt: skip


def workers(parallel: int) -> ProcessPoolExecutor:
    """A pool of processes, not threads: when an agent ends, all descendants of its process are ended."""
    return ProcessPoolExecutor(parallel, get_context("fork"), _begin, (os.getpid(),))


def _begin(parent: int) -> None:
    die_with_parent(parent)
    adopt_orphans()


def judge_batch(
    bench: JudgeSetting, question: str, facts: Sequence[str], others: Sequence[str], shown: ShownAnswer
) -> list[Given]:
    """The outcome for each of `facts`, in order; `others` are the facts of other tasks."""
    if not any(character.isalnum() for character in without_comments(shown.text).replace(MARK, "")):
        return [Given(Judgement(Verdict.MISSED, "", None, "nothing is stated")) for _ in facts]
    seal = judging.nonce_of(str(bench.seed), bench.judge["prompt"], shown.text)
    known = list(canaries(shown.text, seal, question, facts, others))
    first, *later = _judge_all(bench, question, facts, shown, known)
    asked = (_read(bench, _key(bench, question, canary.fact, canary.shown(shown.text))) for canary in known)
    costs = [first.cost_usd, *(kept.cost_usd for kept in asked if kept)]
    return [first._replace(cost_usd=_sum(costs)), *later]  # the canaries' cost is added to the first criterion's


def _judge_all(
    bench: JudgeSetting, question: str, facts: Sequence[str], shown: ShownAnswer, before: Iterable[Canary]
) -> list[Given]:
    known = [_kept(bench, _key(bench, question, fact, shown.text)) for fact in facts]
    if all(known):
        return [given for given in known if given]
    for canary in before:
        given = _ask_until(bench, question, canary.fact, shown, canary)._replace(cost_usd=None)
        # evidence that is not in the answer is what an instruction in the answer leads to; other failures say nothing
        if given.judgement.failure not in ("", "evidence_not_found"):
            return [each or given for each in known]
        if given.judgement.verdict not in canary.allowed:
            said = given.judgement.failure or given.judgement.verdict.value
            void = unjudged("canary", f"{said} for a criterion that is {canary.allowed[0].value}: {canary.fact}")
            return [given._replace(judgement=void) for _ in facts]
    return [each or _ask_until(bench, question, fact, shown) for each, fact in zip(known, facts, strict=True)]


def _ask_until(
    bench: JudgeSetting, question: str, fact: str, shown: ShownAnswer, canary: Canary | None = None
) -> Given:
    """Asks until there is a verdict or the attempts are used up, and stores the outcome.

    A canary that is stated is asked again while its verdict is wrong. A Met for any other canary is leniency, which
    must not be hidden by asking again.
    """
    answer = canary.shown(shown.text) if canary else shown.text
    planted = canary.planted if canary else ""
    wanted = canary.allowed if canary and Verdict.MET in canary.allowed else tuple(Verdict)
    key = _key(bench, question, fact, answer)
    if (kept := _kept(bench, key)) and kept.judgement.verdict in wanted:
        return kept
    attempts: list[KeptRequest] = []
    given = Given(unjudged("not_reached", "nothing was asked"))
    for attempt in range(1, bench.attempts + 1):
        if attempt > 1:
            back_off(attempt - 1)
        try:
            check_budget(bench.folder, bench.money)
        except StopEverything as error:
            given = given._replace(judgement=unjudged("not_reached", str(error)))
            break
        nonce = judging.nonce_of(key, str(attempt))
        prompt = _request(bench, bench.judge["prompt"], nonce, question, answer, fact=fact)
        given, told = _ask_once(bench, prompt, nonce, shown, fact, planted)
        attempts.append(told)
        if not given.judgement.failure and given.judgement.verdict in wanted:
            break
    given = given._replace(cost_usd=_sum(told["cost_usd"] for told in attempts))
    if attempts:
        _keep(bench, key, given, attempts)
    return given


def _sum(costs: Iterable[float | None]) -> float | None:
    """The sum of the costs; None when no request reports its cost."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _ask_once(
    bench: JudgeSetting, prompt: str, nonce: str, shown: ShownAnswer, fact: str, planted: str
) -> tuple[Given, KeptRequest]:
    """One request; returns its outcome and the data to store. If a sentence was planted, evidence must come from it."""
    said, reason, detail = _ask(bench, prompt)
    outcome = said.outcome
    if outcome.gave_up:
        judgement = unjudged("refused", outcome.gave_up)
    elif reason:
        judgement = unjudged(_FAILURE_OF.get(reason, "api_error"), f"{reason}: {detail}")
    elif any(call.count for call in outcome.calls or ()):
        judgement = unjudged("used_tools", ", ".join(call.name for call in outcome.calls or ()))
    else:
        judgement = judging.read_reply(said.answer, nonce, planted or shown.text, fact)
        judgement = judgement if planted else _within_the_original(judgement, shown)
    version = f"{bench.prompt_version}+{outcome.agent_version or 'not shown'}"
    given = Given(judgement, version, ", ".join(outcome.models or ()), outcome.cost_usd, outcome.cost_is_guess)
    return given, {
        "asked_at": said.started_at, "duration_s": round(said.ended.duration_s, 3), "reason": reason,
        "failure": judgement.failure, "detail": judgement.reason, "tokens": outcome.tokens,
        "cost_usd": outcome.cost_usd, "prompt_sha256": sha256(prompt.encode()), "reply": said.answer[:2000],
    }  # fmt: skip


def _within_the_original(judgement: Judgement, shown: ShownAnswer) -> Judgement:
    """The judgement, or none if its evidence spans removed text, because then it is not in the original answer."""
    if judgement.position is None:
        return judgement
    end = judgement.position + len(judgement.evidence)
    if shown.blinded.span(judgement.position, end):
        return judgement
    return unjudged("evidence_not_found", "the evidence runs over a place where something was removed")


def _request(bench: JudgeSetting, template: str, nonce: str, question: str, answer: str, **values: str) -> str:
    try:
        return judging.render(template, nonce=nonce, question=question, answer=answer, mark=MARK, **values)
    except (TemplateError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        raise UserError(f"the prompt of judge {bench.judge['name']!r}: {error}") from None


def guess_by_model(
    folder: Path, plan: Plan, judge: PlannedJudge, tasks: Mapping[str, Task], seen: Sequence[ShownAnswer],
    parallel: int,
) -> Iterator[tuple[ShownAnswer, str | None]]:  # fmt: skip
    """The judge's guess of the condition for each answer of a complete pair; None when it gave no guess."""
    bench = bench_of(folder, plan, judge)
    ready = [each for each in seen if each.pair_complete and each.run.condition in compared(plan)]
    names = treatments(plan)
    pairs = [(shown.run.condition if shown.run.condition in names else names[0], plan["baseline"]) for shown in ready]
    questions = [tasks[shown.run.task].prompt for shown in ready]
    with workers(parallel) as pool:
        yield from zip(ready, pool.map(_guess, [bench] * len(ready), questions, pairs, ready), strict=True)


def _guess(bench: JudgeSetting, question: str, conditions: tuple[str, str], shown: ShownAnswer) -> str | None:
    template = _GUESSING.read_text(encoding="utf-8")
    key = sha256(json.dumps([bench.identity, template, question, conditions, shown.text]).encode())
    with suppress(OSError, ValueError, KeyError):
        kept: str = json.loads(_file(bench, key).read_text(encoding="utf-8"))["condition"]
        return kept
    try:
        check_budget(bench.folder, bench.money)
    except StopEverything:
        return None
    nonce = judging.nonce_of(key)
    treatment, baseline = conditions
    first, second = conditions if int(nonce, 16) % 2 else (baseline, treatment)
    names = {"treatment": treatment, "baseline": baseline, "first": first, "second": second}
    said, reason, _ = _ask(bench, _request(bench, template, nonce, question, shown.text, **names))
    guessed = None if reason else judging.read_guess(said.answer, nonce, conditions)
    if guessed:
        write_json(_file(bench, key), {"key": key, "judge": bench.judge["name"], "condition": guessed})
    return guessed


def _ask(bench: JudgeSetting, prompt: str) -> tuple[Said, str, str]:
    """Starts the judge's agent in an empty workspace; returns its output, and the reason and detail if it is
    invalid."""
    redact = Redactor(secret_names(bench.settings), os.environ)
    service = service_of(bench.settings)
    wait_for(service, prompt)
    asked = time.time()
    with private_folder() as private:
        place = Place(_sandbox(json.dumps(bench.sandbox)), private)
        said = start_agent(_assignment(bench, prompt, place), place, bench.settings["timeout_s"], redact)
    said = said._replace(outcome=priced(said.outcome, bench.prices))
    spend(bench.folder, usd=said.outcome.cost_usd)
    _check_service(bench, said)
    reason, detail = reason_of(said, Expectation((), ()))
    tell(service, reason, asked, said.outcome.resets_at)
    return (said, reason, redact(detail)) if said.outcome.resets_at is None else _ask(bench, prompt)


def _check_service(bench: JudgeSetting, said: Said) -> None:
    """Raises UserError for errors that affect all requests."""
    outcome, name = said.outcome, bench.judge["name"]
    # Unlike for a run, 400 may be caused by one long answer: each request is the first.
    if is_refused(outcome) or outcome.error_status == 404 or "Not logged in" in outcome.error:
        raise UserError(f"judge {name!r} was refused ({outcome.error}); fix that, then start again")
    pinned = bench.settings["version"]
    if pinned and outcome.agent_version and outcome.agent_version != pinned:
        raise UserError(f"judge {name!r} is version {outcome.agent_version}, but its agent.version is {pinned}")


@cache
def _sandbox(settings: str) -> Sandbox:
    return find_sandbox(json.loads(settings))


def _assignment(bench: JudgeSetting, prompt: str, place: Place) -> Assignment:
    """An empty workspace, a fresh home, no servers."""
    repo, session = os.path.join(place.private, "repo"), os.path.join(place.private, "session")
    for folder in (repo, os.path.join(session, "home", "tmp"), os.path.join(place.private, "tmp")):
        os.makedirs(folder)
    Path(session, "prompt.md").write_text(prompt, encoding="utf-8")
    Path(session, "mcp.json").write_text(NO_SERVERS, encoding="utf-8")
    own = place.inside(session)
    return Assignment(
        prompt=prompt,
        prompt_file=os.path.join(own, "prompt.md"),
        workspace=place.inside(repo),
        home=os.path.join(own, "home"),
        mcp_servers={},
        mcp_file=os.path.join(own, "mcp.json"),
        answer_file=os.path.join(own, "answer.md"),
        servers=(),
        denied_servers=(),
        settings=bench.settings,
        seed=bench.seed,
    )


def _key(bench: JudgeSetting, question: str, fact: str, answer: str) -> str:
    """The hash of all inputs of a verdict."""
    return sha256(json.dumps([bench.identity, bench.judge["prompt"], question, fact, answer]).encode())


def _file(bench: JudgeSetting, key: str) -> Path:
    return RunFolder(bench.folder).judging / key[:2] / f"{key}.json"


def _kept(bench: JudgeSetting, key: str) -> Given | None:
    """The stored verdict; None when there is none."""
    kept = _read(bench, key)
    return kept if kept and not kept.judgement.failure else None


def _read(bench: JudgeSetting, key: str) -> Given | None:
    """The stored outcome of a request; None when there is none, or the file is damaged."""
    try:
        kept = json.loads(_file(bench, key).read_text(encoding="utf-8"))
        if kept["key"] != key:
            return None
        told = Judgement(Verdict(kept["verdict"]), kept["evidence"], kept["position"], kept["reason"], kept["failure"])
        return Given(told, kept["version"], kept["models"], kept["cost_usd"], kept.get("cost_is_guess", False))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(bench: JudgeSetting, key: str, given: Given, attempts: Sequence[KeptRequest]) -> None:
    judgement = given.judgement
    write_json(_file(bench, key), {
        "key": key, "judge": bench.judge["name"], "verdict": judgement.verdict.value, "evidence": judgement.evidence,
        "position": judgement.position, "reason": judgement.reason, "failure": judgement.failure,
        "models": given.models, "version": given.version, "cost_usd": given.cost_usd,
        "cost_is_guess": given.cost_is_guess, "attempts": attempts,
        "kept_at": now(),
    })  # fmt: skip
