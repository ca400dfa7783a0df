"""The accuracy of drafts for facts in prose: `python benchmarks/drafted_facts.py [--held-out]`.

Facts are the criteria of the two task sets, and statements extracted from the pinned packages of this environment.
In addition, sentences of the documentation of other packages are facts that nobody wrote for patterns. Each is stated
in its own words in the formats of people and models (`gold`), in other words with the same names, numbers and paths
(`reworded`), with one of these exchanged (`exchanged`), denied (`negated`), and not at all, with another fact of the
same source (`other`). In addition there are right and partly right answers in an engineer's words, with the score by
their author.

Rules are tuned on half of the facts, chosen by the hash of their task or file; `--held-out` measures the other half.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "inputs"))

from labelled import dressed, mined  # noqa: E402
from lensbench.core.tasks import Criterion, Task  # noqa: E402
from lensbench.judging.judges import POINTS  # noqa: E402
from lensbench.judging.judges.mechanical import judge  # noqa: E402
from lensbench.judging.judges.normalising import normalise  # noqa: E402
from lensbench.plan.task_files import read_scenarios  # noqa: E402
from lensbench_tasks.drafting import draft  # noqa: E402

PACKAGES = (
    "anyio",
    "attr",
    "click",
    "docutils",
    "hatchling",
    "jinja2",
    "jsonschema",
    "markdown_it",
    "rich",
    "starlette",
)
DOCUMENTED = (
    "git",
    "hypothesis",
    "joblib",
    "nbformat",
    "sklearn",
    "sqlalchemy",
    "traitlets",
    "urllib3",
    "uvicorn",
)
FACTS_PER_PACKAGE, FILES_PER_PACKAGE = 150, 20
KINDS = ("gold", "reworded", "exchanged", "negated", "other")


class Stated(NamedTuple):
    """A fact in prose, with the text of the question."""

    source: str
    """A task, or a file, by which the halves are chosen."""
    text: str
    prompt: str


class Share(NamedTuple):
    """How often a fact has a draft, and how often an answer is Met by it (0..1), by kind of answer."""

    facts: int
    drafted: float
    met: dict[str, float]
    answers: dict[str, int]


def held_out(source: str) -> bool:
    """Whether the source may not be used for tuning rules."""
    return bool(int(hashlib.sha256(f"facts {source}".encode()).hexdigest(), 16) % 2)


def tasks() -> list[Task]:
    """The tasks of both sets."""
    return [
        task
        for path in ("benchmarks/inputs/drafting.yaml", "scenarios/standard.yaml")
        for task in read_scenarios([str(ROOT / path)]).tasks
    ]


def facts(halves: Sequence[bool]) -> Iterator[Stated]:
    """The facts of both sets and of the packages that belong to the halves."""
    for task in tasks():
        if held_out(task.id) in halves:
            yield from (Stated(task.id, criterion.text, task.prompt) for criterion in task.criteria)
    for package in PACKAGES:
        found = find_spec(package)
        if found and found.submodule_search_locations:
            tree = Path(found.submodule_search_locations[0])
            for fact in mined(tree, FACTS_PER_PACKAGE, random.Random(package)):
                source = f"{package}/{fact.file}"
                if held_out(source) in halves:
                    text = fact.criterion.text.replace(fact.file, source, 1)
                    yield Stated(source, text, f"What holds in {package}?")


_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])|\n\s*\n")

_STATEMENT = re.compile(r"[A-Z`][^<>*|\[\]{}]{40,240}\.")
_NO_STATEMENT = re.compile(r">>>|---|\w : |\b(?:may|might|could|either|[Ii]f|[Ww]hen|[Uu]nless)\b")
"""Code, lists of parameters, and what holds only in some case, which an answer has to state as such."""


def documented(package: str) -> list[Stated]:
    """Whole sentences of the docstrings of a package that have a name, a path or a number; from many files alike."""
    found = find_spec(package)
    if not found or not found.submodule_search_locations:
        return []
    tree = Path(found.submodule_search_locations[0])
    rng = random.Random(package)
    paths = [path for path in sorted(tree.rglob("*.py")) if "tests" not in path.parts]
    by_file: list[list[Stated]] = []
    for path in rng.sample(paths, min(len(paths), FILES_PER_PACKAGE)):
        source = f"{package}/{path.relative_to(tree).as_posix()}"
        stated = [
            Stated(source, text, f"What holds in {package}?")
            for text in _sentences(path.read_bytes())
        ]
        by_file += [rng.sample(stated, min(len(stated), 5))]
    facts = [fact for stated in by_file for fact in stated]
    return rng.sample(facts, min(len(facts), FACTS_PER_PACKAGE))


def _sentences(source: bytes) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            for sentence in _SENTENCE.split(ast.get_docstring(node) or ""):
                text = re.sub(r":\w+:`~?([^`<]*)`", r"`\1`", " ".join(sentence.split()))
                text = text.replace("``", "`")
                is_statement = _STATEMENT.fullmatch(text) and not _NO_STATEMENT.search(text)
                if is_statement and any(pattern.search(text) for pattern in _TOKENS.values()):
                    yield text


_HEAD = re.compile(
    r"(?:(?:States|Says|Shows|Names|Identifies|Mentions) (?:that )?|Must (?:mention|identify|say|trace) (?:that )?)"
)
_FILE = re.compile(
    r"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.(?:py|ts|js|rs|go|tsx|mjs|toml|cs)(?!\w)", re.ASCII
)
_NAME = re.compile(
    r"(?<![\w./-])(?:[A-Za-z_]\w*\.)*(?:[A-Za-z]+_\w+|_+[a-z]\w+|[a-z]+[A-Z]\w+|[A-Z][a-z0-9]+[A-Z]\w*"
    r"|(?<=\w\.)[A-Za-z_]\w+)(?![\w/]|\.\w)",
    re.ASCII,
)
_NUMBER = re.compile(r"(?<![\w./-])\d+(?:\.\d+)?(?![\w/-]|\.\d)", re.ASCII)
_TOKENS = {"file": _FILE, "name": _NAME, "number": _NUMBER}


def own_words(text: str) -> str:
    """The fact without the instruction to a judge."""
    return _HEAD.sub("", text, count=1)


def exchanged(fact: Stated, others: Sequence[Stated], rng: random.Random) -> str | None:
    """The fact with all occurrences of a token exchanged: by another fact's, or in a letter or digit."""
    text = own_words(fact.text)
    found = [
        (kind, token)
        for kind, pattern in _TOKENS.items()
        for token in sorted(set(pattern.findall(text)))
    ]
    found = [(kind, token) for kind, token in found if token not in fact.prompt]
    if not found:
        return None
    kind, token = rng.choice(found)
    pool = sorted(
        {each for other in others for each in _TOKENS[kind].findall(other.text)}
        - set(found[0])
        - {token}
    )
    pool = [each for each in pool if each not in fact.text and token not in each]
    if pool and rng.random() < 0.7:
        wrong = rng.choice(pool)
    else:
        at = rng.choice([at for at, each in enumerate(token) if each.isalnum()])
        alphabet = "0123456789" if token[at].isdigit() else "abcdefghijklmnopqrstuvwxyz"
        wrong = (
            token[:at]
            + rng.choice([each for each in alphabet if each != token[at].lower()])
            + token[at + 1 :]
        )
    return re.sub(rf"(?<![\w/]){re.escape(token)}(?!\w)", lambda _: wrong, text)


_REWORDED: dict[str, str] = yaml.safe_load(
    (ROOT / "benchmarks/inputs/rewording.yaml").read_text(encoding="utf-8")
)
_PLAIN = re.compile(r"`[^`]*`|\S*[\w)][./_:=(][\w(]\S*|\b[a-z]+\b")


def reworded(text: str) -> str:
    """The fact with other plain words; what is code, a name, a path or a number stays."""

    def other(found: re.Match[str]) -> str:
        return _REWORDED.get(found[0], found[0])

    return " ".join(_PLAIN.sub(other, own_words(text)).split())


_AUXILIARY = re.compile(r"\b(is|are|was|were|can|may|will|must|has to)\b")
_VERB = re.compile(
    r"(?<=[\w`)] )(?:(?:calls|take|raise|return|import|derive|read|build|give|keep|hold|use|look|find|choose|pick|turn"
    r"|make|remove|reset|refuse|compute|run|begin|catch|throw|set|ask|need|put|write|wrap|come|go|allow|decide|fix|replace)(?:e?s)"
    r"|calls|becomes|passes|catches|matches|tries)\b"
)


def negated(text: str, rng: random.Random) -> str | None:
    """The fact denied; None when it is a denial itself, or its verb is unknown."""
    text = own_words(text)
    if re.search(r"\b(not|no|never|none|nothing|without|only|neither)\b|n't\b", text):
        return None
    whole = f"It is {rng.choice(['not true', 'not the case', 'wrong', 'false'])} that {text}"
    if found := _AUXILIARY.search(text):
        inner = (
            text[: found.end()] + rng.choice([" not", " never", " no longer"]) + text[found.end() :]
        )
        return rng.choice([inner, inner, whole])
    if found := _VERB.search(text):
        verb = re.sub(r"(?<=[sxz])es$|(?<=[cs]h)es$|s$", "", found[0])
        deny = rng.choice(["does not ", "never ", "doesn't ", "doesn\u2019t "])
        return rng.choice([text[: found.start()] + deny + verb + text[found.end() :], whole])
    return whole


def answers(
    fact: Stated, others: Sequence[Stated], rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Kind and text of the answers to a fact."""

    def as_answer(text: str) -> str:
        marked = _NAME.sub(lambda name: f"`{name[0]}`", text) if rng.random() < 0.5 else text
        marked = (
            _FILE.sub(lambda path: f"{path[0]}:{rng.randint(3, 900)}", marked)
            if rng.random() < 0.3
            else marked
        )
        return dressed([marked], rng)

    yield "gold", as_answer(own_words(fact.text))
    yield "reworded", as_answer(reworded(fact.text))
    if wrong := exchanged(fact, others, rng):
        yield "exchanged", as_answer(wrong)
    if denial := negated(fact.text, rng):
        yield "negated", as_answer(denial)
    near = [
        each for each in others if each.source == fact.source and each.text != fact.text
    ] or others
    yield "other", as_answer(own_words(rng.choice(near).text))


def shares(given: Sequence[Stated], wrong: dict[str, list[str]]) -> Share:
    """The verdicts of drafts of the facts; examples of wrong ones are added to `wrong`."""
    met = Counter[str]()
    count = Counter[str]()
    drafted = 0
    for fact in given:
        criterion = draft(Criterion(text=fact.text))
        drafted += criterion.drafted is not None
        if not criterion.drafted:
            wrong["no draft"].append(fact.text)
            continue
        rng = random.Random(fact.text)
        for kind, answer in answers(fact, given, rng):
            said = judge(criterion, normalise(answer))
            count[kind] += 1
            met[kind] += said.verdict == "Met"
            if (said.verdict == "Met") != (kind in ("gold", "reworded")):
                wrong[kind].append(
                    f"{fact.text}\n      {answer!r}\n      {said.verdict}: {said.reason}"
                )
    return Share(
        len(given),
        drafted / len(given),
        {kind: met[kind] / count[kind] for kind in KINDS},
        dict(count),
    )


class Scored(NamedTuple):
    """An answer's score by its author and by drafts, from 0 to 100."""

    task: str
    author: float
    drafts: float


def engineers_answers(halves: Sequence[bool]) -> Iterator[Scored]:
    """Answers that state all or some of a task's facts in other words than the criteria."""
    by_id = {task.id: task for task in tasks()}
    complete = yaml.safe_load(
        (ROOT / "benchmarks/inputs/standard_answers.yaml").read_text(encoding="utf-8")
    )
    told = yaml.safe_load((ROOT / "benchmarks/inputs/paraphrases.yaml").read_text(encoding="utf-8"))
    for name, answer in complete.items():
        if held_out(name) in halves:
            yield Scored(name, 100, _score(by_id[name], answer))
    for name, pairs in told.items():
        if held_out(name) in halves:
            for seed in range(6):
                rng = random.Random(f"{seed} {name}")
                full = [rng.random() < 0.6 for _ in pairs]
                lines = [
                    pair[0] if whole else pair[1] for pair, whole in zip(pairs, full, strict=True)
                ]
                # The weaker sentence states a part of the fact or less: an author gives it half of the points or none.
                yield Scored(
                    name,
                    100 * sum(1 if whole else 0.25 for whole in full) / len(full),
                    _score(by_id[name], "\n".join(lines)),
                )


def _score(task: Task, answer: str) -> float:
    text = normalise(answer)
    drafted = [draft(Criterion(text=criterion.text)) for criterion in task.criteria]
    points = [
        float(POINTS.get(judge(criterion, text).verdict, 0))
        for criterion in drafted
        if criterion.drafted
    ]
    return 100 * sum(points) / len(points) if points else 0.0


def main() -> None:
    """Prints the tables of one half."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--held-out", action="store_true", help="use the half that was not used for tuning rules"
    )
    parser.add_argument(
        "--wrong",
        type=int,
        default=0,
        help="number of examples of wrong verdicts to print, per kind of answer",
    )
    arguments = parser.parse_args()
    halves = (arguments.held_out,)
    wrong: dict[str, list[str]] = defaultdict(list)
    found = list(facts(halves))
    sets = [fact for fact in found if "/" not in fact.source]
    mine = [fact for package in DOCUMENTED for fact in documented(package)]
    documentation = [fact for fact in mine if held_out(fact.source) in halves]
    print("| facts | n | have a draft | gold Met | reworded | exchanged | negated | another fact |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for title, given in (
        ("criteria of the sets", sets),
        ("read out of packages", [f for f in found if f not in sets]),
        ("sentences of documentation", documentation),
        ("all", [*found, *documentation]),
    ):
        share = shares(given, wrong)
        cells = " | ".join(f"{100 * share.met[each]:.1f}%" for each in KINDS)
        print(f"| {title} | {share.facts} | {100 * share.drafted:.1f}% | {cells} |")
    from scipy.stats import spearmanr

    print()
    rows = list(engineers_answers(halves))
    off = [row.drafts - row.author for row in rows]
    rank = spearmanr([row.author for row in rows], [row.drafts for row in rows]).statistic
    error = sum(map(abs, off)) / len(off)
    bias = sum(off) / len(off)
    figures = f"rank correlation {rank:.2f}, mean error {error:.1f}, bias {bias:+.1f}"
    print(f"engineers' answers: {len(rows)}, {figures}")
    for kind, examples in wrong.items() if arguments.wrong else ():
        print(f"\n{kind}: {len(examples)}")
        for example in random.Random(1).sample(examples, min(arguments.wrong, len(examples))):
            print(f"  - {example}")


if __name__ == "__main__":
    main()
