"""The mechanical judge: a criterion is stated when its author's patterns match (protocol, section 4).

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
from lensbench.judging.judges.denying import (
    about,
    is_denied,
    read,
)
from lensbench.judging.judges.fact_pieces import cut, pattern_of, words
from lensbench.judging.judges.normalising import FILE_EXTENSIONS, Normalised, normalise

VERSION = "5"

_CONTEXT = 80
_SHOWN = 60
_MOST_PLACES, _MOST_DENIED = 200, 20
"""How many places of a pattern are read, and how many of one that the answer must not state."""


def judge(criterion: Criterion, answer: Normalised) -> Judgement:
    """The verdict of `criterion`'s patterns on `answer`; Unjudged when the author wrote none.

    A match of `must_not` in a sentence that does not deny it is Missed, and so is a sentence that denies the fact. For
    Met and Partial, which search only what the answer asserts, see `Criterion`. The evidence is the place of the first
    deciding pattern; the reason says so if it is a draft, and of which kind.
    """
    if not criterion.mechanical:
        return unjudged("no_patterns", "the criterion has no patterns")
    result = _judge(criterion, answer)
    return (
        replace(result, reason=f"{criterion.drafted} draft: {result.reason}")
        if criterion.drafted
        else result
    )


def _judge(criterion: Criterion, answer: Normalised) -> Judgement:
    for pattern in criterion.must_not:
        hits = spans(pattern, answer, _MOST_DENIED)
        written = _written(pattern)
        if span := next((hit for hit in hits if not is_denied(answer.text, hit, written)), None):
            return _shown(
                Verdict.MISSED, answer, span, f"states {_name(pattern)}, which it must not"
            )
    if (limit := criterion.at_most) and len(wrong := _stated(limit.of, answer)) > limit.n:
        reason = f"states {_names(pattern for pattern, _ in wrong)}: more than {limit.n} of what it must not"
        return _shown(Verdict.MISSED, answer, wrong[limit.n][1], reason)
    places = [
        sorted(span for pattern in part for span in spans(pattern, answer, _MOST_PLACES))
        for part in _parts(criterion)
    ]
    options = criterion.at_least.of if criterion.at_least else ()
    matches = {
        span: _written(pattern)
        for pattern in (*criterion.all_of, *criterion.any_of, *options)
        for span in spans(pattern, answer, _MOST_PLACES)
    }
    reading = read(answer.text, places, matches, criterion.text)
    if reading.denied:
        return _shown(Verdict.MISSED, answer, reading.denied, "denies it")
    if criterion.no_other and (other := _other(criterion, answer, places)):
        return _shown(Verdict.MISSED, answer, *other)
    text = without_copies(without_dumps(answer.text), criterion.text)
    answer = replace(answer, text=filled(text, reading.unstated))
    statements = _stated(criterion.all_of, answer)
    absent = [pattern for pattern in criterion.all_of if pattern not in dict(statements)]
    choice = _stated(criterion.any_of, answer, 1)
    least = criterion.at_least
    instances = _stated(least.of, answer, least.n) if least else []
    too_few = least is not None and len(instances) < least.n
    if not absent and not too_few and (choice or not criterion.any_of):
        evidence = [*statements, *choice, *instances]
        return _shown(
            Verdict.MET,
            answer,
            evidence[0][1],
            f"states {_names(pattern for pattern, _ in evidence)}",
        )
    reason = "; ".join(
        [*(f"{_name(pattern)} is missing" for pattern in absent[:5])]
        + ([f"{len(absent) - 5} more are missing"] if len(absent) > 5 else [])
        + ([f"none of {_names(criterion.any_of)}"] if criterion.any_of and not choice else [])
        + ([f"{len(instances)} of {least.n} of {_names(least.of)}"] if least and too_few else [])
    )
    for name, part in criterion.partial.items():
        patterns, number = (part.of, part.n) if isinstance(part, AtLeast) else (part, len(part))
        if len(statements := _stated(patterns, answer, number)) == number:
            return _shown(Verdict.PARTIAL, answer, statements[0][1], f"states {name!r}; {reason}")
    return Judgement(Verdict.MISSED, "", None, reason)


def find(pattern: Pattern, answer: Normalised) -> Span | None:
    """Where the normalised text of `answer` first states `pattern`, as (start, end); None when it does not."""
    return next(iter(spans(pattern, answer, 1)), None)


def spans(pattern: Pattern, answer: Normalised, most: int) -> list[Span]:
    """The first `most` places where the normalised text of `answer` states `pattern`."""
    if not isinstance(pattern, Regex):
        return list(islice(literal(pattern).spans(answer), most))
    places = (match.span() for match in _regex(pattern.regex).finditer(answer.text))
    # an empty match, of \b for example, states nothing
    return list(islice(((start, end) for start, end in places if end > start), most))


def _written(pattern: Pattern) -> str:
    return pattern.regex if isinstance(pattern, Regex) else pattern


def _parts(criterion: Criterion) -> list[Sequence[Pattern]]:
    """The parts of the fact, each as the patterns for it. A fact with one pattern has its words as parts, too, since a
    denial of something else may name it; the pattern counts as much as all of them."""
    options = criterion.at_least.of if criterion.at_least else ()
    parts: list[Sequence[Pattern]] = [(pattern,) for pattern in (*criterion.all_of, *options)]
    parts += [criterion.any_of] if criterion.any_of else []
    stems = words(criterion.text) if len(parts) == 1 else []
    return parts * max(1, len(stems)) + [(stem,) for stem in stems]


def _other(
    criterion: Criterion, answer: Normalised, places: Sequence[Sequence[Span]]
) -> tuple[Span, str] | None:
    """A sentence that has half of the fact and another piece in place of one that the answer lacks, and why it is."""
    fact, text = cut(criterion.text), normalise(criterion.text)
    absent = {piece.kind for piece in fact if not find(pattern_of(piece), answer)}
    for start, end in about(answer.text, places, 0.5) if absent else ():
        for piece in cut(answer.text[start:end]):
            is_known = find(piece.text, text) or any(
                find(pattern_of(part), normalise(piece.text)) for part in fact
            )
            if piece.kind in absent and not is_known:
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
    pairs = ((pattern, span) for pattern in patterns if (span := find(pattern, answer)))
    return list(islice(pairs, most))


def _shown(verdict: Verdict, answer: Normalised, span: Span, reason: str) -> Judgement:
    """The judgement with the line around `span` as evidence, shortened if necessary."""
    text = answer.original
    start, end = answer.span(*span)
    line_start = text.rfind("\n", 0, start) + 1
    first = max(line_start, start - _CONTEXT)
    line_end = text.find("\n", end)
    last = min(len(text) if line_end < 0 else line_end, first + MAX_EVIDENCE)
    evidence = text[first:last].rstrip()
    lead = len(evidence) - len(evidence.lstrip())
    return Judgement(verdict, evidence[lead:], first + lead, reason)


def _name(pattern: Pattern) -> str:
    text = f"/{pattern.regex}/" if isinstance(pattern, Regex) else repr(pattern)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _names(patterns: Iterable[Pattern]) -> str:
    return some_of([_name(pattern) for pattern in patterns], 5)


_EXTENSION = rf"\w\.(?:{'|'.join(sorted(FILE_EXTENSIONS))})"
_FILE_NAME, _FILE_END = re.compile(f".*{_EXTENSION}"), re.compile(_EXTENSION + END)
_BRACKETS = "()[]{}\"'"
_RANGE = r"L?\d{1,9}(?: ?(?:[-\u2013\u2014]|to) ?L?\d{1,9})?"
_WORDED = rf"((?:[Ll]ines? |L(?=\d)){_RANGE}(?:(?:, ?| and |, and | & ){_RANGE})*+)"
_PREPOSITION = r"(?:['\u2019]s)?(?: ?[,:\u2013\u2014-])? ?\(?(?:(?:at|on|in) )?"
_CHINESE, _COUNTED = (
    rf"\u7b2c ?({_RANGE}) ?\u884c",
    rf"({_RANGE}) ?(?:\u884c\u76ee|\ubc88\uc9f8 ?\uc904)",
)
_LINE_SIGNS = rf"[\u7684\u306e\uff0c\u3001, (\uff08]{{0,3}}(?:{_CHINESE}|{_COUNTED})"
"""Chinese, Japanese and Korean words for a line."""
_LINES = re.compile(
    rf"[`*'\"\])]{{0,3}}(?:[:\uff1a#(\uff08]({_RANGE}(?:,{_RANGE})*+)|{_PREPOSITION}{_WORDED}|{_LINE_SIGNS})"
)
_LINES_BEFORE = re.compile(rf"{_WORDED} (?:of|in) (?:the )?(?:file )?\S{{0,120}}$")
"""Line numbers after and before the name of a file."""


@dataclass(frozen=True)
class Literal:
    """A compiled literal."""

    body: re.Pattern[str]
    before: re.Pattern[str]
    lines: frozenset[Span] = frozenset()
    """The lines of its files; a text must name each line and range exactly so."""

    def spans(self, answer: Normalised) -> Iterator[Span]:
        """Where `answer` states the literal, as (start, end) of its normalised text."""
        match = self.body.search(answer.text)
        while match:
            if self.before.match(answer.text, match.start()) and (
                not self.lines or self.lines <= _lines(answer, *match.span())
            ):
                yield match.span()
            match = self.body.search(answer.text, match.start() + 1)


@cache
def literal(pattern: str) -> Literal:
    """The author's literal, normalised like answers; a space in it matches any whitespace, and an empty one nothing."""
    read = normalise(pattern)
    words = read.text.split()
    if not words:
        return Literal(re.compile("(?!)"), re.compile(""))
    if len(words) == 1 and _FILE_NAME.fullmatch(words[0]):
        words[0] = words[0].lstrip("/")
    body = re.compile(r"\s+".join(map(re.escape, words)) + _after(words[-1]))
    return Literal(body, re.compile(_before(words[0])), _lines(read, 0, len(read.text)))


def _lines(text: Normalised, start: int, end: int) -> frozenset[Span]:
    """The lines, each as (first, last), that the original gives for the files named between `start` and `end`."""
    places = (text.span(*name.span()) for name in _FILE_END.finditer(text.text, start, end))
    original = text.original
    matches = (
        match
        for first, last in places
        for match in (
            _LINES.match(original, last),
            _LINES_BEFORE.search(original, max(0, first - 200), first),
        )
        if match
    )
    ranges = (
        re.findall(r"\d+", one)
        for match in matches
        for one in re.findall(_RANGE, match[match.lastindex or 0])
    )
    return frozenset((int(numbers[0]), int(numbers[-1])) for numbers in ranges)


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
