"""Blinds answers for judges: keeps the content, removes everything that shows how it was found (protocol, section 4).

All judges except the patterns, including people, see the same text. Removed are the self-report except its findings,
names of MCP tools and servers, remarks about the agent's own tools and conditions, and the duration of the work. Names
that the task or its patterns use are content and are kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, chain
from typing import NamedTuple

from lensbench.core.frozen_plan import Plan
from lensbench.core.records import RunId, sha256
from lensbench.core.tasks import Task
from lensbench.judging.judges import Span, union
from lensbench.runs.reports import process_spans

MARK = "\u2039\u2026\u203a"
"""Replaces removed text; always the same, so that it reveals nothing."""

_BUILT_IN = (
    "Bash",
    "BashOutput",
    "Edit",
    "Glob",
    "Grep",
    "LS",
    "LSP",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "Read",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
    "apply_patch",
    "list_directory",
    "read_many_files",
    "run_shell_command",
    "search_file_content",
)
"""Built-in tools of agents. Most are also words of code or English, so they are hidden only when used as tools."""
_MCP = "MCP"


class Hidden(NamedTuple):
    """Names that reveal a condition."""

    tools: tuple[str, ...]
    """Full names such as `mcp__lens__lens_grep`."""
    servers: tuple[str, ...]
    conditions: tuple[str, ...]
    allowed: frozenset[str] = frozenset()
    """Names and durations in the task itself, in lower case: they are content."""


@dataclass(frozen=True)
class Blinded:
    """A blinded answer. `removed`: the spans (start, end) of `original` that were replaced by a mark, ascending."""

    original: str
    removed: tuple[Span, ...] = ()

    @cached_property
    def text(self) -> str:
        """The answer with a mark in place of each removed span."""
        return MARK.join(self.original[start:end] for start, end in self._kept)

    def span(self, start: int, end: int) -> Span | None:
        """The span of `original` for `text[start:end]`; None when it is empty, outside, or overlaps a mark."""
        if not 0 <= start < end <= len(self.text):
            return None
        index = bisect_right(self._starts, start) - 1
        first, last = self._kept[index]
        offset = first - self._starts[index]
        return (start + offset, end + offset) if end + offset <= last else None

    @cached_property
    def _kept(self) -> list[Span]:
        """The kept spans of `original`, which may be empty."""
        edges = [0, *chain.from_iterable(self.removed), len(self.original)]
        return list(zip(edges[::2], edges[1::2], strict=True))

    @cached_property
    def _starts(self) -> list[int]:
        """The positions in `text` where the kept spans start."""
        return [0, *accumulate(end - start + len(MARK) for start, end in self._kept[:-1])]

    def without(self, spans: Iterable[Span]) -> Blinded:
        """This answer with further spans of `text` removed."""
        further = [(self._around(start)[0], self._around(end - 1)[1]) for start, end in spans]
        return Blinded(self.original, tuple(union([*self.removed, *further])))

    def _around(self, position: int) -> Span:
        """The span of `original` for a position in `text`: one character, or a removed span."""
        index = bisect_right(self._starts, position) - 1
        start, end = self._kept[index]
        origin = start + position - self._starts[index]
        return (origin, origin + 1) if origin < end else self.removed[index]


def hidden_names(plan: Plan, tools: Iterable[str], task: Task) -> Hidden:
    """The names to hide in answers to `task`: of `tools`, and of the plan's servers and conditions."""
    full = tuple(sorted({name for name in tools if name.startswith("mcp__")}))
    servers = {name.split("__")[1] for name in full}
    for condition in plan["conditions"].values():
        servers.update(condition["servers"])
    texts = [task.prompt]
    for criterion in task.criteria:
        texts.append(criterion.text)
        for pattern in criterion.sought:
            texts.append(pattern if isinstance(pattern, str) else pattern.regex)
    mask = Hidden(full, tuple(sorted(servers - {""})), tuple(sorted(plan["conditions"])))
    return mask._replace(allowed=_allowed(mask, "\n".join(texts)))


def _allowed(mask: Hidden, text: str) -> frozenset[str]:
    """Names in the task. Built-in tools only by exact name: "where is it read" does not mean Read."""
    forms = {name: _any([name]) for name in (*_BUILT_IN, _MCP)}
    for name in (*mask.tools, *map(_short, mask.tools), *mask.servers):
        spellings = filter(None, (_any([name]), _spelled(name)))
        forms[name] = f"(?i:{_one_of(spellings)})"
    allowed: set[str] = set()
    for name, form in forms.items():
        if re.search(f"{_START}{form}{_END}", text, re.ASCII):
            allowed.add(name.lower())
    remarks = "|".join((*_of_conditions(mask.conditions), *_WORK))
    for phrase in (f"(?i:{_FULL})", _DURATION, remarks):
        allowed.update(match[0].lower() for match in re.finditer(phrase, text, re.ASCII))
    return frozenset(allowed)


def blind(answer: str, mask: Hidden) -> Blinded:
    """The blinded `answer`, in linear time. In fenced code only names of tools and servers are hidden."""
    result = without_report(answer)
    return result.without(_telling_spans(result.text, mask))


def without_report(answer: str) -> Blinded:
    """`answer` without the self-report but with all names, for patterns, which names cannot bias."""
    return Blinded(answer).without(process_spans(answer, MARK))


_FENCE = re.compile(r"[\s>]*(`{3,}(?=[^`]*$)|~{3,})(.*)")


def _telling_spans(text: str, mask: Hidden) -> Iterator[Span]:
    names = {name.lower() for name in (*mask.servers, *map(_short, mask.tools), *_BUILT_IN, _MCP)}
    # allowed phrases that are not names are handled below
    in_code, in_prose = _patterns(mask._replace(allowed=mask.allowed & names))
    fence = ""
    start = 0
    for line in text.splitlines(keepends=True):
        marker = _FENCE.match(line)
        if marker and not fence:
            fence = marker[1]
        elif marker and marker[1].startswith(fence) and not marker[2].strip():
            fence = ""
        pattern = in_code if fence else in_prose
        for match in pattern.finditer(line):
            phrases = [match[0], *re.findall(_DURATION, match[0], re.ASCII)]
            if mask.allowed.isdisjoint(map(str.lower, phrases)):
                yield start + match.start(), start + match.end()
        start += len(line)


_START = r"(?<![^\W_])(?<![^\W_]_)(?<![^\W_]__)"
_END = r"(?!_{0,2}[^\W_])"
"""The boundaries of a word; `_lens_` and `__lens__` are the word lens with emphasis. All patterns are compiled as
ASCII: letters of other scripts are no part of a name."""
_FULL = rf"{_START}(?i:mcp)(?:\\?_){{2}}(?:[^\W_]|-|\\?_)++(?:(?<=_)\*)?"
_SEPARATOR = r"(?:, ?(?:(?:and|or|then) )?| (?:and|or|then|&|\+) | ?[/+&] ?)"
_VERB = (
    r"\b(?i:using|used|via|with|without|through|ran|running|invoked|invoking|by calling"
    r"|I (?:then |also |first )?called)"
)
_THE = r"(?:\b(?i:the|an?|any|its|my|this) )?"
_KIND = r"(?: MCP)?(?: (?i:tools?|servers?|plugins?)\b| ?(?:\u5de5\u5177|\u30c4\u30fc\u30eb|\ub3c4\uad6c))"
_CODE = (
    r"(?![(\[]|[.:](?![\s)\"'*`]|$)|[`*]{0,3} (?:access|class(?:es)?|commands?|functions?|interfaces?|locks?|methods?"
    r"|mode|models?|modules?|objects?|permissions?|rights|scripts?|structs?|traits?|types?)\b)"
)
"""Text after a name which shows that it is code or English, not a tool."""

_NUMBER = (
    r"(?:[0-9]{1,9}(?:[.,][0-9]{1,3})?|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|a few|several|a couple of)"
)
_DURATION = (
    rf"(?i:(?<![\w.]){_NUMBER}[ -]?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b"
    r"(?:(?: and|,)? [0-9]{1,3} ?(?:s|secs?|seconds?)\b)?)"
)
_ABOUT = (
    r"(?i:about |around |approximately |roughly |just |only |under |over |less than |~ ?|\u2248 ?)?"
)
_WORK = (
    rf"\b(?i:took|spent)(?: me)? {_ABOUT}{_DURATION}",
    rf"\b(?i:in) {_ABOUT}{_DURATION}(?=,? I\b)",
    rf"\b(?:Done|Finished|Completed|Answered) (?:in|after) {_ABOUT}{_DURATION}",
    rf"(?:\*\*)?\b(?:Time (?:taken|spent|used)|Elapsed(?: time)?|Total time|Wall[- ]clock(?: time)?)"
    rf"[*_`]{{0,3}}:[*_`]{{0,3}} ?{_ABOUT}{_DURATION}",
    rf"\b(?i:{_NUMBER} (?:MCP )?tool[ -](?:calls?|uses|invocations))\b",
)
"""Durations and call counts of the work: only past tense (`took`), since code "takes" time."""


def _of_conditions(conditions: Iterable[str]) -> tuple[str, ...]:
    """Patterns for remarks about conditions; plain `with` and `without` do not match."""
    names = _any(conditions)
    upper = _any(name.upper() for name in conditions)
    return (
        rf"{_THE}(?<![`\"'*])(?:(?P<quote>[`\"']|\*\*)(?i:{names})(?P=quote)|\b{upper}) (?i:condition|arm)\b",
        rf"\b(?i:the|this|under|in) (?i:{names}) (?i:condition|arm)\b",
        rf"(?<![^\s(]){names} (?i:condition|arm)(?=[.!?)]+(?:\s|$)|\s*$)",
        rf"\b(?i:condition|arm) ?[:=] ?(?i:{names})(?=[.,;!?)]+(?:\s|$)|\s*$)",
        rf"\b(?i:condition|arm)(?: ?[:=])? ?(?P<mark>[`\"'])(?i:{names})(?P=mark)",
    )


def words_of(name: str) -> list[str]:
    """The words of a name in snake, kebab or camel case, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)]


def _spelled(name: str) -> str:
    """A pattern for a name in snake, kebab or camel case, or as words."""
    return r"(?:\\?_|[ -])?".join(words_of(name))


@cache
def _patterns(mask: Hidden) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for text that reveals a condition: in code, and in prose."""

    def hidden(names: Iterable[str]) -> set[str]:
        return {name for name in names if name.lower() not in mask.allowed}

    short = {_short(name) for name in mask.tools}
    plain = {name for name in short if re.fullmatch("[A-Za-z]?[a-z]*", name)}
    sure = hidden({*mask.servers, *short - plain})
    words = hidden({*_BUILT_IN, *plain})
    servers = {name.lower() for name in mask.servers}
    own: set[str] = set()
    compounds: set[str] = set()
    for name in hidden({*sure, *short}):
        first, *more = words_of(name) or [""]
        if more and name in short:
            compounds.add("".join(words_of(name)))
        if more and name in sure and first in servers:
            own.add(_spelled(name))
    mcp = r"|MCP|(?i:mcp)(?= (?i:tools?|servers?))" if hidden([_MCP]) else ""
    surely = rf"(?:{_FULL}|{_START}(?:(?i:{_one_of(sorted(own))}|{_any(sure)})(?:_\*)?{mcp}){_END})"
    word = rf"{_START}(?:{_any(words)}|(?i:{_one_of(sorted(compounds))})){_END}"
    shell = rf"{_START}(?i:{_any({'Bash', 'Glob', 'Grep'} & words)}){_END}"
    others = rf"(?:{_SEPARATOR}{_quoted(f'(?:{surely}|{word})')}){{0,9}}"
    tools = rf"{_quoted(word)}{others}"
    prose = (
        # via `Read` and `lens_grep`
        rf"(?:{_VERB} )?{_THE}(?:{_quoted(word)}{_SEPARATOR}){{0,9}}+{_quoted(surely)}{others}(?:{_KIND})?",
        # using Grep
        rf"{_VERB} {_THE}{tools}(?:{_KIND})?{_CODE}",
        # the Read tool, the grep tool
        rf"{_THE}(?:{tools}{_KIND}|{_quoted(shell)} (?i:tools?)\b)",
        # tools used: Grep and Read
        rf"\b(?i:tools?)(?: used)?(?: ?[:=-])? {tools}{_CODE}",
        *_of_conditions(mask.conditions),
        *_WORK,
    )
    return re.compile(surely, re.ASCII), re.compile("|".join(prose), re.ASCII)


def _short(tool: str) -> str:
    return tool.split("__", 2)[-1]


def _any(names: Iterable[str]) -> str:
    """A pattern for any of the names; `_` and `-` are equivalent, also escaped. Matches nothing without names."""
    spellings: list[str] = []
    for name in sorted(sorted(names), key=len, reverse=True):
        words = map(re.escape, re.split("[_-]", name))
        spellings.append(r"\\?[_-]".join(words))
    return _one_of(spellings)


def _one_of(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns) or '(?!)'})"


def _quoted(name: str) -> str:
    return rf"(?:(?<!`)`{name}`(?!`)|(?<!\*)\*\*{name}\*\*(?!\*)|{name})"


def opaque_id(seed: int, run: RunId, answer: str) -> str:
    """The name of an answer for judges: 10 hex digits, deterministic for seed, run and answer."""
    return sha256(f"{seed} {run.stem} {answer}".encode(errors="surrogatepass"))[:10]


def order(ids: Iterable[str], seed: int) -> list[str]:
    """`ids` in a random order fixed by `seed`; an additional id does not change the order of the others."""
    return sorted(ids, key=lambda name: sha256(f"{seed} order {name}".encode()))
