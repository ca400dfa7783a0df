"""Checks a generated task against the repository; each problem has a typed reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from lensbench.core.tasks import Criterion, Regex, Task
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import find, judge
from lensbench.judging.judges.normalising import FILE_EXTENSIONS, normalise
from lensbench_tasks.proofs import task_problems
from lensbench_tasks.survey import Survey

FEWEST_CRITERIA, MOST_CRITERIA = 3, 5
SIMILAR, SHARED = 0.8, 0.5
"""Thresholds for near duplicates: overlap of the questions' subjects, and of the proofs' facts."""


RejectReason = Literal[
    "schema",
    "criteria_count",
    "no_patterns",
    "false_proof",
    "unknown_name",
    "wrong_value",
    "line_number",
    "unstated",
    "given_away",
    "path_given",
    "names_tool",
    "duplicate",
    "one_search",
    "trivial",
    "impossible",
]
"""Why a task is rejected."""


class Problem(NamedTuple):
    """A problem; `criterion` (from 1) is 0 when it concerns the whole task."""

    reason: RejectReason
    detail: str
    criterion: int = 0

    def __str__(self) -> str:
        place = f"criterion {self.criterion}: " if self.criterion else ""
        return f"{place}{self.detail}"


_TOOLS = """
    Bash Grep Glob LS ToolSearch WebFetch WebSearch TodoWrite NotebookEdit MultiEdit Subagent MCP LSP grep ripgrep rg
    ack glob read_file list_dir codebase_search apply_patch lens"""
AGENT_TOOLS = frozenset(_TOOLS.split())
"""Names of agents' tools, besides those of the configured servers; names that the repository defines are exempt."""
_LINE = re.compile(r"(?i)\blines? \d+|\.\w{1,4}:\d+|#L\d+|\bL\d+\b")
_ENDINGS = "|".join(sorted(FILE_EXTENSIONS, key=len, reverse=True))
_PATH = re.compile(rf"(?<![\w/.-])(?:[\w.@-]+/)*[\w@-][\w.@-]*\.(?:{_ENDINGS})(?![\w/])")
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_TELLING = re.compile(r"\w_\w|[a-z][A-Z]|^_")
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"(?<![\w.-])\d[\d_]*(?:\.\d+)?(?![\w-])")
_WORD = re.compile(r"\w+")
_ORDER = re.compile(
    r"^(?:must\s+)?(?:describe|explain|give|identif(?:y|ie)|list|mention|name|note|point out|say|show|state|tell|trace)"
    r"s?(?:\s+that)?\s+",
    re.IGNORECASE,
)


def fact_of(criterion: Criterion) -> str:
    """The fact as a sentence, without the instruction `States that` or `Must mention`."""
    return _ORDER.sub("", criterion.text).rstrip(".") + "."


def find_problems(
    task: Task, survey: Survey, others: Iterable[Task], tools: Collection[str]
) -> list[Problem]:
    """All problems of a task that can be found by reading. `others`: the tasks kept so far."""
    problems = [*_of_the_form(task)]
    for number, text in task_problems(task, survey.root):
        problems.append(Problem("false_proof", text, number))
    for number, criterion in enumerate(task.criteria, 1):
        problems += _of_names(number, criterion, survey)
    return [*problems, *_of_the_prompt(task, survey, tools), *_of_others(task, others)]


def _of_the_form(task: Task) -> Iterator[Problem]:
    count = len(task.criteria)
    if not FEWEST_CRITERIA <= count <= MOST_CRITERIA:
        text = f"it has {count} criteria; {FEWEST_CRITERIA} to {MOST_CRITERIA} are required"
        yield Problem("criteria_count", text)
    for number, criterion in enumerate(task.criteria, 1):
        if not criterion.mechanical:
            yield Problem("no_patterns", "it has none of all_of, any_of and at_least", number)
        elif judge(criterion, normalise(fact_of(criterion))).verdict is not Verdict.MET:
            yield Problem("unstated", "its patterns do not match the criterion's own text", number)
        phrases = [text for text in _texts(criterion) if _LINE.search(text)]
        if phrases:
            text = f"{phrases[0]!r} depends on a line number, which may change"
            yield Problem("line_number", text, number)


def _texts(criterion: Criterion) -> Iterator[str]:
    yield criterion.text
    for pattern in criterion.sought:
        yield pattern.regex if isinstance(pattern, Regex) else pattern


def _of_names(number: int, criterion: Criterion, survey: Survey) -> Iterator[Problem]:
    """Everything that a criterion names must exist: paths in the repository, names and numbers in its proofs."""
    literals = [pattern for pattern in criterion.sought if not isinstance(pattern, Regex)]
    text = _LINE.sub(" ", criterion.text)
    for path in dict.fromkeys(_PATH.findall(" ".join([_QUOTED.sub(" ", text), *literals]))):
        if not any(f"/{other}".endswith(f"/{path}") for other in survey.texts):
            yield Problem("unknown_name", f"there is no file {path}", number)
    files = {proof.file for proof in criterion.proofs}
    content = "\n".join([*files, *(survey.texts.get(path, "") for path in files)])
    names = _names_in(_CODE.findall(text))
    names += filter(_TELLING.search, _names_in(literals))
    vocabulary = set(_NAME.findall(content))
    proven = ", ".join(sorted(files)) or "any proof"
    for name in dict.fromkeys(names):
        if name not in vocabulary:
            yield Problem("unknown_name", f"{name} does not occur in {proven}", number)
    quotes = " ".join(proof.quote for proof in criterion.proofs)
    known_numbers = {_value(digits) for digits in re.findall(r"\d[\d_]*(?:\.\d+)?", quotes)}
    prose = text
    for quoted in (_QUOTED, _CODE, _PATH):
        prose = quoted.sub(" ", prose)
    for digits in _NUMBER.findall(prose):
        if _value(digits) not in known_numbers:
            yield Problem("wrong_value", f"no proof shows the number {digits}", number)


def _names_in(codes: Iterable[str]) -> list[str]:
    """The names in pieces of code that are no paths."""
    names: list[str] = []
    for code in codes:
        if not _PATH.fullmatch(code):
            names += _NAME.findall(code)
    return names


def _value(digits: str) -> float:
    return float(digits.replace("_", ""))


def _of_the_prompt(task: Task, survey: Survey, tools: Collection[str]) -> Iterator[Problem]:
    prompt = normalise(task.prompt.replace("?", "."))
    for number, criterion in enumerate(task.criteria, 1):
        if judge(criterion, prompt).verdict in (Verdict.MET, Verdict.PARTIAL):
            yield Problem("given_away", "the question itself states it, or a part of it", number)
        elif _paths_are_given(criterion, task.prompt):
            text = "the question names the file that the criterion asks for"
            yield Problem("path_given", text, number)
    names = [tool for tool in sorted({*AGENT_TOOLS, *tools}) if _names(tool, task.prompt, survey)]
    if names:
        yield Problem("names_tool", f"the question names a tool: {', '.join(names)}")
    if match := _LINE.search(task.prompt):
        yield Problem("line_number", f"the question has a line number: {match[0]!r}")


def _paths_are_given(criterion: Criterion, prompt: str) -> bool:
    """True when the criterion asks for files, and the question names all of them."""
    files = [normalise(proof.file) for proof in criterion.proofs]
    paths = []
    for path in (*criterion.all_of, *criterion.any_of):
        if any(find(path, file) for file in files):
            paths.append(path)
    question = normalise(prompt)
    return bool(paths) and all(find(path, question) for path in paths)


def _names(tool: str, prompt: str, survey: Survey) -> bool:
    return tool not in survey.by_name and bool(
        re.search(rf"(?<![\w.]){re.escape(tool)}(?![\w.]\w|\w)", prompt)
    )


def _of_others(task: Task, others: Iterable[Task]) -> Iterator[Problem]:
    for other in others:
        is_alike = _alike(_subject(task.prompt), _subject(other.prompt))
        if is_alike or _overlap(_facts(task), _facts(other)):
            yield Problem("duplicate", f"it asks the same as {other.id}")
            return


def _subject(prompt: str) -> list[str]:
    """The subject of a question: the code, paths and texts that it quotes, or else its words."""
    quoted = _CODE.findall(prompt) + _PATH.findall(prompt) + _QUOTED.findall(prompt)
    return quoted or _WORD.findall(prompt.lower())


def _facts(task: Task) -> list[tuple[str, str, str]]:
    """The facts in a task's proofs; for a criterion with several proofs, that of the last one."""
    proofs = [criterion.proofs[-1] for criterion in task.criteria if criterion.proofs]
    return [(proof.file, proof.within, proof.quote) for proof in proofs]


def _alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """True when the subjects of two questions differ in at most a fifth."""
    first = set(one)
    second = set(other)
    return len(first & second) >= SIMILAR * len(first | second)


def _overlap(one: Sequence[object], other: Sequence[object]) -> bool:
    """True when half of the facts of the task with fewer facts are also in the other one."""
    first = set(one)
    second = set(other)
    fewest = min(len(first), len(second))
    return len(first & second) >= max(1, SHARED * fewest)
