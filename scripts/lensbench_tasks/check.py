"""Checks a task set before paying for answers to it.

    lensbench check scenarios/mine.yaml
    lensbench check scenarios/mine.yaml --answers answers/     # files <task>.md, or <task>-<any word>.md
    lensbench check --requests                                 # what the treatment adds to an agent's request

The patterns of each criterion are tried on texts with known verdicts, and change tasks are proven.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from lensbench.agents.sandbox import find_sandbox
from lensbench.changes.task import answer_criteria, changes_of
from lensbench.core.errors import CheckFailed, UserError, printable
from lensbench.core.handed_over import read_answer
from lensbench.core.system.files import write_atomic
from lensbench.core.system.program import Parser, only_config, run_program
from lensbench.core.system.progress import Progress, say, step
from lensbench.core.tasks import Criterion, Regex, Task
from lensbench.judging.judges import Verdict, mechanical
from lensbench.judging.judges.denying import has_negation
from lensbench.judging.judges.fact_pieces import cut
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.config import DEFAULT_CACHE
from lensbench.plan.freeze import prompt_of
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.changes.candidates import ChangeFate, Prover
from lensbench_tasks.changes.writing import shares
from lensbench_tasks.problems import fact_of
from lensbench_tasks.requests import check_requests
from lensbench_tasks.review_page import styled_page

TextKind = Literal["own text", "exchanged", "negated", "question", "other task", "your answers"]
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|can|must|should|will|does|do)\b(?! only)")


class CheckedText(NamedTuple):
    """A text with a known verdict, or an answer, and the verdict of the patterns."""

    kind: TextKind
    name: str
    """The replaced part, or the origin of the text."""
    text: str
    verdict: Verdict
    reason: str
    is_beside: bool = False
    """True when it is Met without a path, or without a name that another pattern stands for."""

    @property
    def is_wrong(self) -> bool:
        """True when the verdict differs from the known one."""
        if self.kind == "own text":
            return self.verdict is not Verdict.MET
        if self.kind == "question":
            return self.verdict in (Verdict.MET, Verdict.PARTIAL)
        return self.kind != "your answers" and self.verdict is Verdict.MET


class Checked(NamedTuple):
    """A criterion and all texts tried on its patterns."""

    task: Task
    number: int
    criterion: Criterion
    probes: Sequence[CheckedText]

    def counts(self, kind: TextKind) -> str:
        """How many probes of a kind had the right verdict; for answers, how many were Met."""
        probes = [probe for probe in self.probes if probe.kind == kind]
        if not probes:
            return "" if kind == "your answers" else "-"
        if kind == "your answers":
            met = sum(probe.verdict is Verdict.MET for probe in probes)
            return f"{met} of {len(probes)} Met"
        right = sum(not probe.is_wrong for probe in probes)
        return f"{right}/{len(probes)}"

    @property
    def findings(self) -> list[str]:
        """The problems of the criterion, each a sentence with advice."""
        if not self.criterion.mechanical:
            return [
                "It has no patterns, so a model or person must judge it. Write some, or use `lensbench draft`."
            ]
        return [*_findings(self.probes)]


def exchanged(fact: str, prompt: str) -> Iterator[tuple[str, str]]:
    """Each name, path and number of the fact, and the fact with another; those that are in the question are skipped."""
    for piece in (piece.text for piece in cut(fact)):
        if piece != "and/or" and normalise(piece).text not in normalise(prompt).text:
            yield piece, fact.replace(piece, _other(piece))


def _other(piece: str) -> str:
    if piece[0].isdigit():
        return re.sub(r"\d+", lambda number: str(int(number[0]) * 3 + 5), piece)
    words = cycle(("kestrel", "wombat", "lichen", "quokka", "marlin"))
    return re.sub(
        r"(\.\w{1,4}$)|[^\W\d_]+",
        lambda word: word[1] or _cased(next(words), word[0]),
        piece,
    )


def _cased(word: str, like: str) -> str:
    if like.isupper():
        return word.upper()
    if like[0].isupper():
        return word.capitalize()
    return word


def negated(fact: str) -> str:
    """The fact with a negation: of its first verb, or of all when it has negations of its own."""
    verb = _VERB.search(fact)
    if verb is None:
        return f"It is wrong that it is {fact}"
    if has_negation(fact):
        return f"It is wrong that {fact}"
    return f"{fact[: verb.end()]} not{fact[verb.end() :]}"


def check(tasks: Sequence[Task], answers: Mapping[str, Sequence[tuple[str, str]]]) -> list[Checked]:
    """The checked criteria of all tasks. `answers`: task id -> (name, text) pairs."""
    facts = {}
    for task in tasks:
        sentences = [fact_of(criterion) for _, criterion in answer_criteria(task)]
        facts[task.id] = "\n\n".join(sentences)
    results = []
    for checked, task in enumerate(tasks):
        step(f"checking {task.id}", checked, len(tasks))
        for number, criterion in answer_criteria(task):
            given = answers.get(task.id, ())
            probes = [*_probes(task, criterion, facts, given)]
            results.append(Checked(task, number, criterion, probes))
    return results


def _probes(
    task: Task, criterion: Criterion, facts: Mapping[str, str], answers: Sequence[tuple[str, str]]
) -> Iterator[CheckedText]:
    if not criterion.mechanical:
        return
    fact = fact_of(criterion)
    texts: list[tuple[TextKind, str, str]] = [("own text", "", fact)]
    for piece, text in exchanged(fact, task.prompt):
        texts.append(("exchanged", piece, text))
    texts += [("negated", "", negated(fact)), ("question", "", task.prompt)]
    for other, text in facts.items():
        if text and other != task.id:
            texts.append(("other task", other, text))
    for name, text in answers:
        texts.append(("your answers", name, text))
    for kind, name, text in texts:
        judgement = mechanical.judge(criterion, normalise(text))
        is_met = judgement.verdict is Verdict.MET
        is_beside = kind == "exchanged" and is_met and _is_beside(criterion, fact, name, text)
        yield CheckedText(kind, name, text, judgement.verdict, judgement.reason, is_beside)


def _is_beside(criterion: Criterion, fact: str, name: str, text: str) -> bool:
    """True for a path of the fact, and for a name that is one of several ways to meet a pattern, or that only says
    where, as its path does: `the limit is 40 in Cart of src/cart.py`."""
    kind = next(piece.kind for piece in cut(fact) if piece.text == name)
    if kind in ("file", "folder"):
        return True
    if kind == "number":
        return False
    if re.search(rf"(?:, |\bin ){re.escape(name)} (?:in|of) \S+\.\w", fact):
        return True
    if _is_found(criterion, name):
        return True
    own = normalise(fact)
    other = normalise(text)
    lost = [
        mechanical.find(pattern, own) and not mechanical.find(pattern, other)
        for pattern in criterion.sought
    ]
    return any(lost)


def _is_found(criterion: Criterion, name: str) -> bool:
    """True when a pattern finds the name alone, or has it as an alternative."""
    alone = normalise(name)
    for pattern in criterion.sought:
        if mechanical.find(pattern, alone):
            return True
        if isinstance(pattern, Regex) and name in pattern.regex.replace("\\", ""):
            return True
    return False


def _findings(probes: Sequence[CheckedText]) -> Iterator[str]:
    wrong = [probe for probe in probes if probe.is_wrong and not probe.is_beside]
    kinds = Counter(probe.kind for probe in wrong)
    if kinds["own text"]:
        reason = next(probe.reason for probe in wrong if probe.kind == "own text")
        yield f"Dead: its own text does not meet it ({reason}). Derive its patterns from the text."
    if names := [probe.name for probe in wrong if probe.kind == "exchanged"]:
        yield f"Met with {', '.join(names)} exchanged: no pattern asks for it. Add it to all_of."
    if kinds["negated"]:
        yield "Met when denied: the patterns match beside the negation. Match up to the denied word, or add must_not."
    if kinds["question"]:
        yield "Given away: the question alone earns points. Remove the fact from the question, or ask for more."
    if names := [probe.name for probe in wrong if probe.kind == "other task"]:
        yield f"The facts of other tasks meet it ({', '.join(names[:5])}). Require a name that only this task has."
    verdicts = [probe.verdict for probe in probes if probe.kind == "your answers"]
    if verdicts and Verdict.MET not in verdicts:
        yield f"Never met by the {len(verdicts)} answers. Check that the question asks for it and the patterns find it."


def read_answers(folder: Path, tasks: Sequence[Task]) -> dict[str, list[tuple[str, str]]]:
    """The answers in `folder` by task: <task>.md and <task>-<word>.md. Raises UserError when there are none."""
    names = {task.id for task in tasks}
    answers: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(folder.rglob("*.md")):
        task = path.stem
        if task not in names:
            task = task.rpartition("-")[0]
        if task in names:
            answer = (path.stem, read_answer(path))
            answers.setdefault(task, []).append(answer)
    if not answers:
        raise UserError(
            f"{folder}: has no answer to a task of the set; name them <task>.md or <task>-<word>.md"
        )
    return answers


TEXT_KINDS: tuple[TextKind, ...] = get_args(TextKind)


def table(results: Sequence[Checked]) -> Iterator[str]:
    """A line for each criterion, followed by its findings."""
    width = max(len(f"{result.task.id} {result.number}") for result in results)
    widths: dict[TextKind, int] = {}
    for kind in TEXT_KINDS:
        counts = [result.counts(kind) for result in results]
        if any(count not in ("", "-") for count in counts):
            widths[kind] = max(map(len, (kind, *counts)))
    head = "  ".join(f"{kind:>{widths[kind]}}" for kind in widths)
    yield f"{'':{width}}  {head}"
    for result in results:
        cells = "  ".join(f"{result.counts(kind):>{widths[kind]}}" for kind in widths)
        name = f"{result.task.id} {result.number}"
        yield f"{name:{width}}  {cells}".rstrip()
        yield from (f"    {finding}" for finding in result.findings)


def answer_lines(results: Sequence[Checked]) -> Iterator[str]:
    """A line for each given answer: its name, and the verdict of each criterion of its task."""
    verdicts: dict[str, list[str]] = {}
    for result in results:
        for probe in result.probes:
            if probe.kind == "your answers":
                verdicts.setdefault(probe.name, []).append(probe.verdict)
    width = max(map(len, verdicts), default=0)
    for name, found in verdicts.items():
        yield f"{name:{width}}  {', '.join(found)}"


def render_page(
    name: str, tasks: Sequence[Task], results: Sequence[Checked], fates: Mapping[str, ChangeFate]
) -> str:
    """The page: every criterion with the tried texts, the proofs of changes, and the prompts."""
    return styled_page(
        "check.html.j2",
        name=name,
        columns=TEXT_KINDS,
        fates=fates,
        count=len(results),
        wrong=sum(bool(item.findings) for item in results),
        tasks=[
            (task, prompt_of(task), [item for item in results if item.task is task])
            for task in tasks
        ],
    )


def main() -> None:
    """Check the criteria of a task set on texts with known verdicts, and prove its change tasks. The exit code is 1
    when criteria are dead or given away, or when changes are not proven."""
    parser = Parser(prog="lensbench check", description=main.__doc__)
    parser.add_argument("set", nargs="?", help="a task set, YAML or Markdown")
    parser.add_argument(
        "--answers", type=Path, help="a folder with answers, <task>.md or <task>-<word>.md"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(DEFAULT_CACHE),
        help="the cache folder for repositories and environments",
    )
    parser.add_argument(
        "--requests",
        action="store_true",
        help="send each condition's first request to a listener on this machine, and show what differs; needs no key",
    )
    parser.add_argument(
        "--configfile", help="the config for --requests (default: the one in this folder)"
    )
    arguments = parser.parse_args()
    if arguments.requests:
        if arguments.set or arguments.answers:
            parser.error("--requests checks the config (--configfile), not a task set")
        check_requests(Path(arguments.configfile or only_config(Path())))
        return
    if not arguments.set:
        parser.error("name a task set, or write --requests")
    scenarios = read_scenarios([arguments.set], imported=True)
    tasks = [task for task in scenarios.tasks if task.criteria]
    if not tasks:
        raise UserError(f"{arguments.set}: has no criterion to check")
    answers = {}
    if arguments.answers:
        answers = read_answers(arguments.answers, tasks)
    sandbox = find_sandbox({"mode": "auto", "visible": [], "hidden": []})
    bench = Prover(sandbox, arguments.cache)
    fates = {}
    changes = changes_of(tasks)
    with Progress("checking") as progress:
        results = check(tasks, answers)
        for number, change in enumerate(changes):
            progress.now(f"proving {change.id}", number, len(changes))
            fates[change.id] = bench.proven(change)
            say(f"{change.id}: {fates[change.id].sentence}")
    if fates:
        print(shares(fates.values()))
    file = Path(arguments.set)
    page = file.with_suffix(".check.html")
    write_atomic(page, render_page(file.name, tasks, results, fates))
    if results:
        lines = (*table(results), *answer_lines(results))
        print(*map(printable, lines), sep="\n")
    beside = 0
    bad = []
    for result in results:
        beside += sum(probe.is_beside for probe in result.probes)
        if _is_bad(result):
            bad.append(f"{result.task.id} {result.number}")
    if beside:
        print(f"no finding, but other paths and names are Met beside what patterns find: {beside}")
    wrong = [result for result in results if result.findings]
    if results:
        print(f"{len(wrong)} of {len(results)} criteria have findings; open {page}")
    else:
        print(f"open {page}")
    faults = [*_unproven(fates, bench.sandbox.lack)]
    if bad:
        faults.insert(0, f"dead or given away: {', '.join(bad)}")
    if faults:
        raise CheckFailed("; ".join(faults))


def _unproven(fates: Mapping[str, ChangeFate], lack: str) -> Iterator[str]:
    """The changes that are not proven; a reason that several share is said once, with their number. `lack`: what the
    tests need and do not have here."""
    names: dict[str, list[str]] = {}
    for name, fate in fates.items():
        if not fate.task:
            names.setdefault(fate.reasons[0], []).append(name)
    for reason, sharing in names.items():
        if len(sharing) > 1:
            clause = lack or f"not proven: {reason}"
            yield f"{len(sharing)} of {len(fates)} {clause}"
        else:
            yield f"not proven: {sharing[0]}"


def _is_bad(result: Checked) -> bool:
    kinds = {probe.kind for probe in result.probes if probe.is_wrong}
    return not kinds.isdisjoint(("own text", "question"))


if __name__ == "__main__":
    run_program(main)
