"""The mechanical judge: a criterion is stated when its author's patterns match (protocol, section 4;
docs/decisions/facts.md).

It infers no other spellings; authors must write these down (`any_of`, ...). What a sentence denies, asks or supposes is
not stated (`denying`), nor are copies of the criterion's text and dumps of names (`asserting`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

import re2

from lensbench.core.errors import some_of
from lensbench.core.names import ASCII, END, LETTERS, after, alphabet, before
from lensbench.core.tasks import AtLeast, Criterion, Pattern, Regex
from lensbench.judging.judges import MAX_EVIDENCE, Judgement, Span, Verdict, unjudged
from lensbench.judging.judges.asserting import filled, without_copies, without_dumps
from lensbench.judging.judges.denying import about, is_denied, read
from lensbench.judging.judges.fact_pieces import cut, pattern_of, words
from lensbench.judging.judges.normalising import FILE_EXTENSIONS, Normalised, normalise

PATTERNS_VERSION = "5"

_CONTEXT = 80
_SHOWN = 60
_MOST_PLACES = 200
"""How many places of a pattern are read."""
_MOST_DENIED = 20
"""How many places of a pattern that the answer must not state are read."""


def judge(criterion: Criterion, answer: Normalised) -> Judgement:
    """The verdict of `criterion`'s patterns on `answer`; Unjudged when the author wrote none.

    A match of `must_not` in a sentence that does not deny it is Missed, and so is a sentence that denies the fact. For
    Met and Partial, which search only what the answer asserts, see `Criterion`. The evidence is the place of the first
    deciding pattern; the reason says so if it is a draft, and of which kind.
    """
    if not criterion.mechanical:
        return unjudged("no_patterns", "the criterion has no patterns")
    result = _forbidden(criterion, answer) or _judge(criterion, answer)
    if criterion.drafted:
        result = replace(result, reason=f"{criterion.drafted} draft: {result.reason}")
    return result


def _forbidden(criterion: Criterion, answer: Normalised) -> Judgement | None:
    """Missed where the answer states what it must not, or too much of it."""
    for pattern in criterion.must_not:
        written = _written(pattern)
        for span in spans(pattern, answer, _MOST_DENIED):
            if not is_denied(answer.text, span, written):
                reason = f"states {_name(pattern)}, which it must not"
                return _shown(Verdict.MISSED, answer, span, reason)
    limit = criterion.at_most
    if limit is None:
        return None
    wrong = _stated(limit.of, answer)
    if len(wrong) <= limit.n:
        return None
    names = _names(pattern for pattern, _ in wrong)
    _, span = wrong[limit.n]
    return _shown(
        Verdict.MISSED, answer, span, f"states {names}: more than {limit.n} of what it must not"
    )


def _judge(criterion: Criterion, answer: Normalised) -> Judgement:
    places: list[list[Span]] = []
    for part in _parts(criterion):
        found = (span for pattern in part for span in spans(pattern, answer, _MOST_PLACES))
        places.append(sorted(found))
    matches: dict[Span, str] = {}
    for pattern in (*criterion.all_of, *criterion.any_of, *_options(criterion)):
        matches |= dict.fromkeys(spans(pattern, answer, _MOST_PLACES), _written(pattern))
    reading = read(answer.text, places, matches, criterion.text)
    if reading.denied:
        return _shown(Verdict.MISSED, answer, reading.denied, "denies it")
    if criterion.no_other:
        other = _other(criterion, answer, places)
        if other:
            return _shown(Verdict.MISSED, answer, *other)
    text = without_copies(without_dumps(answer.text), criterion.text)
    return _asserted(criterion, replace(answer, text=filled(text, reading.unstated)))


def _asserted(criterion: Criterion, answer: Normalised) -> Judgement:
    """The verdict on an answer of which only what it asserts is left."""
    evidence = _stated(criterion.all_of, answer)
    absent = [pattern for pattern in criterion.all_of if pattern not in dict(evidence)]
    lacks = [f"{_name(pattern)} is missing" for pattern in absent[:5]]
    if absent[5:]:
        lacks.append(f"{len(absent) - 5} more are missing")
    if criterion.any_of:
        choice = _stated(criterion.any_of, answer, 1)
        evidence += choice
        if not choice:
            lacks.append(f"none of {_names(criterion.any_of)}")
    least = criterion.at_least
    if least:
        instances = _stated(least.of, answer, least.n)
        evidence += instances
        if len(instances) < least.n:
            lacks.append(f"{len(instances)} of {least.n} of {_names(least.of)}")
    if not lacks:
        names = _names(pattern for pattern, _ in evidence)
        return _shown(Verdict.MET, answer, evidence[0][1], f"states {names}")
    reason = "; ".join(lacks)
    for name, part in criterion.partial.items():
        patterns: Sequence[Pattern] = part.of if isinstance(part, AtLeast) else part
        number = part.n if isinstance(part, AtLeast) else len(part)
        stated = _stated(patterns, answer, number)
        if len(stated) == number:
            return _shown(Verdict.PARTIAL, answer, stated[0][1], f"states {name!r}; {reason}")
    return Judgement(Verdict.MISSED, reason=reason)


def find(pattern: Pattern, answer: Normalised) -> Span | None:
    """Where the normalised text of `answer` first states `pattern`, as (start, end); None when it does not."""
    return next(iter(spans(pattern, answer, 1)), None)


def spans(pattern: Pattern, answer: Normalised, most: int) -> list[Span]:
    """The first `most` places where the normalised text of `answer` states `pattern`."""
    if not isinstance(pattern, Regex):
        return list(islice(_compiled(pattern).spans(answer), most))
    places = (match.span() for match in _regex(pattern.regex).finditer(answer.text))
    # an empty match, of \b for example, states nothing
    stated = ((start, end) for start, end in places if start < end)
    return list(islice(stated, most))


def _options(criterion: Criterion) -> Sequence[Pattern]:
    return criterion.at_least.of if criterion.at_least else ()


def _written(pattern: Pattern) -> str:
    return pattern.regex if isinstance(pattern, Regex) else pattern


def _parts(criterion: Criterion) -> list[Sequence[Pattern]]:
    """The parts of the fact, each as the patterns for it. A fact with one pattern has its words as parts, too, since a
    denial of something else may name it; the pattern counts as much as all of them."""
    needed = (*criterion.all_of, *_options(criterion))
    parts: list[Sequence[Pattern]] = [(pattern,) for pattern in needed]
    if criterion.any_of:
        parts.append(criterion.any_of)
    if len(parts) > 1:
        return parts
    stems = [(stem,) for stem in words(criterion.text)]
    return [*parts * max(1, len(stems)), *stems]


def _other(
    criterion: Criterion, answer: Normalised, places: Sequence[Sequence[Span]]
) -> tuple[Span, str] | None:
    """A sentence that has half of the fact and another piece in place of one that the answer lacks, and why it is."""
    fact = cut(criterion.text)
    absent = {piece.kind for piece in fact if not find(pattern_of(piece), answer)}
    if not absent:
        return None
    known = normalise(criterion.text)
    for start, end in about(answer.text, places, 0.5):
        for piece in cut(answer.text[start:end]):
            if piece.kind not in absent or find(piece.text, known):
                continue
            text = normalise(piece.text)
            if not any(find(pattern_of(part), text) for part in fact):
                return (start, end), f"states {piece.text!r} in place of a {piece.kind} of the fact"
    return None


@cache
def _regex(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _stated(
    patterns: Iterable[Pattern], answer: Normalised, most: int | None = None
) -> list[tuple[Pattern, Span]]:
    """The patterns that the answer states, with the first place of each; at most `most`."""
    stated: list[tuple[Pattern, Span]] = []
    for pattern in patterns:
        span = find(pattern, answer)
        if span:
            stated.append((pattern, span))
        if len(stated) == most:
            break
    return stated


def _shown(verdict: Verdict, answer: Normalised, span: Span, reason: str) -> Judgement:
    """The judgement with the line around `span` as evidence, shortened if necessary."""
    text = answer.original
    start, end = answer.span(*span)
    line_start = text.rfind("\n", 0, start) + 1
    first = max(line_start, start - _CONTEXT)
    line_end = text.find("\n", end)
    if line_end < 0:
        line_end = len(text)
    line = text[first:line_end][:MAX_EVIDENCE].rstrip()
    evidence = line.lstrip()
    return Judgement(verdict, evidence, first + len(line) - len(evidence), reason)


def _name(pattern: Pattern) -> str:
    text = f"/{pattern.regex}/" if isinstance(pattern, Regex) else repr(pattern)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _names(patterns: Iterable[Pattern]) -> str:
    return some_of([_name(pattern) for pattern in patterns], 5)


_EXTENSION = rf"\w\.(?:{'|'.join(sorted(FILE_EXTENSIONS))})"
_FILE_NAME = re.compile(f".*{_EXTENSION}")
_FILE_END = re.compile(_EXTENSION + END)
_BRACKETS = "()[]{}\"'"
_RANGE = r"L?\d{1,9}(?: ?(?:[-\u2013\u2014]|to) ?L?\d{1,9})?"
_WORDED = rf"((?:[Ll]ines? |L(?=\d)){_RANGE}(?:(?:, ?| and |, and | & ){_RANGE})*+)"
_PREPOSITION = r"(?:['\u2019]s)?(?: ?[,:\u2013\u2014-])? ?\(?(?:(?:at|on|in) )?"
_CHINESE = rf"\u7b2c ?({_RANGE}) ?\u884c"
_COUNTED = rf"({_RANGE}) ?(?:\u884c\u76ee|\ubc88\uc9f8 ?\uc904)"
_LINE_SIGNS = rf"[\u7684\u306e\uff0c\u3001, (\uff08]{{0,3}}(?:{_CHINESE}|{_COUNTED})"
"""Chinese, Japanese and Korean words for a line."""
_LINES = re.compile(
    rf"[`*'\"\])]{{0,3}}(?:[:\uff1a#(\uff08]({_RANGE}(?:,{_RANGE})*+)|{_PREPOSITION}{_WORDED}|{_LINE_SIGNS})"
)
_LINES_BEFORE = re.compile(rf"{_WORDED} (?:of|in) (?:the )?(?:file )?\S{{0,120}}$")
"""Line numbers after and before the name of a file."""


@dataclass(frozen=True)
class _CompiledLiteral:
    """A compiled literal."""

    body: re.Pattern[str]
    before: re.Pattern[str]
    lines: frozenset[Span] = frozenset()
    """The lines of its files; a text must name each line and range exactly so."""

    def spans(self, answer: Normalised) -> Iterator[Span]:
        """Where `answer` states the literal, as (start, end) of its normalised text."""
        match = self.body.search(answer.text)
        while match:
            starts = self.before.match(answer.text, match.start())
            if starts and (not self.lines or self.lines <= _lines(answer, *match.span())):
                yield match.span()
            match = self.body.search(answer.text, match.start() + 1)


@cache
def _compiled(pattern: str) -> _CompiledLiteral:
    """The author's literal, normalised like answers; a space in it matches any whitespace, and an empty one nothing."""
    read = normalise(pattern)
    words = read.text.split()
    if not words:
        return _CompiledLiteral(re.compile("(?!)"), re.compile(""))
    if len(words) == 1 and _FILE_NAME.fullmatch(words[0]):
        words[0] = words[0].lstrip("/")
    body = re.compile(r"\s+".join(map(re.escape, words)) + _after(words[-1]))
    return _CompiledLiteral(body, re.compile(_before(words[0])), _lines(read, 0, len(read.text)))


def _lines(text: Normalised, start: int, end: int) -> frozenset[Span]:
    """The lines, each as (first, last), that the original gives for the files named between `start` and `end`."""
    original = text.original
    lines: set[Span] = set()
    for name in _FILE_END.finditer(text.text, start, end):
        first, last = text.span(*name.span())
        after_name = _LINES.match(original, last)
        before_name = _LINES_BEFORE.search(original, max(0, first - 200), first)
        for match in filter(None, (after_name, before_name)):
            for part in re.findall(_RANGE, match[match.lastindex or 0]):
                numbers = re.findall(r"\d+", part)
                lines.add((int(numbers[0]), int(numbers[-1])))
    return frozenset(lines)


def _is_path(word: str) -> bool:
    return "/" in word or bool(_FILE_NAME.fullmatch(word))


_NO_SIGN = r"(?:(?<!-)|(?<=[\u0590-\u06ff]-))"
"""No hyphen before, unless it joins a Hebrew or Arabic particle to the name."""
_MULTIPLES = "\u767e\u5343\u842c\u4e07\u5104\u4ebf\ucc9c\ub9cc\uc5b5"
"""Letters that make a number larger: 40 and \u4e07 are 400,000."""


def _before(word: str) -> str:
    """A lookbehind for text that must not precede the first word.

    A file or folder may follow `/`, but neither a dot nor a hyphen; a number no sign, dot or hyphen; a name may follow
    a dot (an attribute) or `--`, but is not the end of a hyphenated name.
    """
    first = word[0]
    if first in "-.@/$#~":
        return rf"(?<![{LETTERS}{re.escape(first)}])"
    if not (first.isalnum() or first == "_"):
        return "" if first in _BRACKETS else rf"(?<!{re.escape(first)})"
    if first.isdigit() or _is_path(word):
        return rf"{before(first)}(?<!\.){_NO_SIGN}"
    if alphabet(first) == LETTERS:
        return rf"{before(first)}(?<![{ASCII}]-)"
    return before(first)


def _after(word: str) -> str:
    """A lookahead for text that must not follow the last word.

    A file is not the beginning of a longer file name; a number not of a longer number or a range. A name may be
    followed by a dot (an attribute), and by a hyphen if it cannot be part of a hyphenated name: `Redis-backed`
    states Redis, `typing-extensions` does not state typing.
    """
    last = word[-1]
    if not (last.isalnum() or last == "_"):
        return rf"(?!{re.escape(last)})" if last in "-=<>&|+" else ""
    if alphabet(last) != LETTERS:
        return after(last)
    if _is_path(word):
        return rf"(?![{LETTERS}]|[.-][{ASCII}])"
    if word.replace(".", "").lstrip("-+").isdigit():
        return rf"(?![{LETTERS}{_MULTIPLES}]|[.-][0-9])"
    is_name = word != word.lower() or "_" in word
    hyphenated = "A-Z0-9" if is_name else ASCII
    version = r"(?!\.[0-9])" if last.isdigit() else ""
    return rf"(?![{LETTERS}]|-[{hyphenated}]){version}"
