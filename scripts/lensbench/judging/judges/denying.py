"""What an answer says of a fact without stating it: it denies it, takes it back, asks it, or only supposes it. Each is
decided by a sentence with most parts of the fact, a denial by a negation in the clause of one of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from lensbench.core.tables import grouped
from lensbench.judging.judges import Span, union

_MOST_PARTS = 0.8
"""The share of a fact's parts that a sentence about it has."""

_END = re.compile(
    r"[.!?](?=[\"')\]*_]{0,9}(?:\s|$))|;(?=\s)|[\u3002\uff01\uff1f\uff1b]"
    r"|\n[ >]{0,20}(?=\n|[-*+\u2022|] |#{1,6} |\d{1,3}[.)] )"
)
_CLAUSE = re.compile(
    r",(?!\s{0,9}(?:is|are|was|were|do|does|did|can|cannot|will|would|should|has|have|had|never|in|at|of|from)"
    r"(?:n't)?\b)"
    r"|\n {4}|\b(?:but|rather than|instead of|and not|or not|whereas|although|though|yet|and (?=is|has|it|defaults))\b"
    r"|[\uff0c\u3001]|而(?:是|不|非|且)|但|(?<=なく)(?!て)|(?<=なくて)|(?<=아니라)|(?<=아니고)|(?<=아닌)|지만"
)
_NEGATION = re.compile(
    r"(?i)\b(?:not|never|cannot|no longer|fails? to|nothing to do with|(?:un|ir)related to|nowhere"
    r"|hardly|avoids?|lacks?|den(?:y|ie[sd]))\b|n't\b"
    r"|不|没|沒|未|[并並绝絕]非|而非|[无無]法|ない|なかった|なく|ません|아니|아닌|아닙|않|없|못[하했한]"
)
"""Negations of what their clause has before or after them."""
_AHEAD = re.compile(
    r"(?i)\b(?:(?<!if )(?<!when )no|nor|neither|without|rather than|instead of|nothing|nobody|none of|far from)\b"
)
_NEAR = 15
"""Negations of what follows them in their clause, within so many characters."""
_WHOLE = re.compile(
    r"(?i)\b(?:(?:untrue|false|wrong|incorrect|a lie|a myth|a misconception) that|not (?:true|the case|correct)"
    r"|contrary to|which is (?:false|wrong|untrue|incorrect)|is (?:wrong|untrue|incorrect)|the opposite)\b"
)
"""Negations of their whole sentence."""
_AFFIRMED = re.compile(
    r"(?i)\b(?:not|n't|cannot|never|nothing|none|no|without)"
    r" (?:only|just|merely|forget|None|(?:be )?(?:other than|anything (?:but|other than))|but|(?:a )?doubt"
    r"|fail(?:s|ed)? to|lack|avoid|deny|(?:wrong|false|untrue|incorrect) that"
    r"|(?:true|the case|correct) that [^,.;]{1,80}?(?:\bnot|n't|\bnever))\b"
    r"|n't (?:forget|fail to|lack|avoid|deny|(?:wrong|false|untrue|incorrect) that)\b"
    r"|(?:[=(\[{:\s] |[(\[{\n]|\b(?:if|while|return|assert) )not\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )\bnot in\b"
    r"|不[仅僅只但过過同管论論少久断光]|不得不|[无無]不|未[来來]"
    r"|な(?:ければ|くては)(?:なら|いけ)(?:ない|ません|なかった)|(?:だけで|のみで)(?:は)?なく|かもしれ(?:ない|ません)|少な[いく]"
    r"|に(?:すぎ|過ぎ|ほかなら|他なら)(?:ない|ません)|しか[^。、]{1,20}?(?:ない|ません)"
    r"|뿐(?:만)? ?아니라|수밖에 ?없|틀림 ?없"
)
"""Words of a negation that negate nothing, or another negation; and the operators of code."""
_FOLLOWING = re.compile(
    r"[\u3040-\u30ff\uac00-\ud7af ]{0,6}?"
    r"(?:(?:では|じゃ)(?:ない|なか|なく|あり?ません)|아니|아닌|아닙|[지] ?않)"
)
"""A negation in Japanese or Korean of the words right before it."""
_SUPPOSED = re.compile(
    r"(?i)\b(?:might|perhaps|maybe|possibly|supposedly|allegedly|(?:may|could|would) (?:have )?be(?:en)?|assuming that"
    r"|suppose|(?:if(?![^,;]{1,99},(?![^;]{0,99}\bwould))|would)\b[^,.;]{1,80}\b(?:were|would|had)"
    r"|either|one of (?:these|the following)|not sure|unclear|(?:unknown|wonder) whether|doubt that)\b"
    r"|也许|也許|或许|或許|かもしれ|おそらく|아마"
)
_ASKED = re.compile(r"[?\uff1f]\W{0,9}$")
_OTHER = r"([\w./-]{0,80}[./_]\w[\w./-]{0,80})"
_OR_AFTER = re.compile(rf"\W{{0,4}}or (?:in )?{_OTHER}")
_OR_BEFORE = re.compile(rf"{_OTHER}\W{{0,4}} or (?:in )?$")
_RETRACTION = re.compile(
    r"(?i)[\W\d]{0,9}(?:(?:no|wait|sorry|edit|update|correction|actually|on second thought|but|and|however)\b\W{1,3})*"
    r"(?:(?:it|this|that|these|(?P<all>(?:all of |everything )?(?:this|that|the )?above|what i (?:said|wrote)"
    r"|my (?:answer|claim)|i))\b[^,.:;!?]{0,30}?\b(?:(?:is|are|was|were|am) (?:\w{1,12} )?(?:false|wrong|incorrect"
    r"|untrue|mistaken|not (?:true|correct|right|the case))|(?:is|are|was)n't (?:true|correct|right|the case))"
    r"|(?:scratch|ignore|forget|disregard) (?:that|this|it|(?P<rest>[^,.;!?]{0,30}above)))\b\W{0,3}(?:$|[,.:;!?-])"
)
"""The start of a sentence that takes back the one before it, or all before it."""


_CONTRAST = re.compile(
    r"(?i)[,\s]*(?:and |but )?not (?:the|an?|in|at|from|for|by|to|on|with|its|their|another)\b"
)
"""The start of a clause that names something else (`it is Cart, not the class Base`), if it does."""
_NAME = re.compile(r"\w[\w.]{2,}")
_BEGINNING = 4
"""Letters that inflections of a word share."""
_STEM = 3
"""Letters that a word and its short form share, such as `references` and `refs`."""
_UNNAMING = {"the", "and", "for", "from", "with", "its", "thei", "that", "this", "any"}
"""The beginnings of words that name nothing."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_REMARK = re.compile(r"(?i)\band (?=(?:\w+ ){0,2}(?:not|never|no|cannot|\w+n't)\b)")
"""The start of what a fact adds (`it keeps its order and never copies`)."""
_INTRODUCTION = re.compile(
    r"(?i)[\s,]*(?:(?:states|says|explains|shows|mentions) (?:that )?)?"
    r"(?:if|when|where|while|because|since|for|in|on|at|after|before|without|with|as|unlike)\b"
)
"""The start of a clause before the one that says the fact."""
_FEWEST = 4
"""Words of a clause that can say a fact."""
_PIECE = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|\w")
"""A word, or one sign of a script without spaces."""
_FILLING = re.compile(
    r"an?|the|its?|is|are|was|to|of|in|at|than|or|and|any|be|do|does|can|will|would|this|that|[会能有是在的]"
)
"""Words that say nothing of what is negated."""
_NEGATED = 2
"""So many words behind a negation of the fact say what it negates."""
_READ = 3
"""So many words behind a negation of the answer are compared with them."""
_SHARE_OF_WORDS = 0.6
"""So many of a clause's longer words are the fact's, where it is the fact's clause."""


class FactReading(NamedTuple):
    """What an answer does with a fact, in spans of the normalised text."""

    denied: Span | None
    """The first sentence that denies it."""
    unstated: list[Span]
    """Sentences that state nothing, in order: retracted ones, and those that ask or suppose the fact."""


class _Sentences(NamedTuple):
    starts: list[int]
    """Where each sentence starts, from 0; the last entry is the end of the text."""
    retracted: list[Span]

    def around(self, start: int, end: int) -> Span:
        """The sentence of a part of the text, or all that it reaches into."""
        return self.starts[self._number(start)], self.starts[self._number(end - 1) + 1]

    def _number(self, position: int) -> int:
        return bisect_right(self.starts, position, hi=len(self.starts) - 1) - 1


@lru_cache(maxsize=2)
def _sentences(text: str) -> _Sentences:
    starts = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    retractions: list[Span] = []
    for previous, start, end in zip(starts, starts[1:], starts[2:], strict=False):
        match = _RETRACTION.match(text, start, end)
        if match:
            first = 0 if match["all"] or match["rest"] else previous
            retractions = [span for span in retractions if span[1] <= first]
            retractions.append((first, start))
    return _Sentences(starts, retractions)


def has_negation(text: str) -> bool:
    """True when something is negated in the text."""
    return bool(_own_negations(text))


def _saying(fact: str) -> str:
    """The first clause that can say the fact, with what stands between it and an introduction; the rest adds to it."""
    start = 0
    clauses = (*_CLAUSE.finditer(fact), *_REMARK.finditer(fact))
    for edge in sorted(match.start() for match in clauses):
        clause = fact[start:edge]
        if _INTRODUCTION.match(clause):
            start = edge
        elif len(_PIECE.findall(clause)) >= _FEWEST:
            return clause
    return fact[start:]


def _own_negations(fact: str) -> list[re.Match[str]]:
    return [*_negations(_NEGATION, fact, (0, len(fact))), *_AHEAD.finditer(fact)]


def _negated_words(fact: str) -> set[str]:
    """What the fact itself negates, by the beginnings of its words."""
    words: set[str] = set()
    for match in _own_negations(fact):
        words |= _words_after(fact, match.end(), _NEGATED)
    return words


def _words_after(text: str, position: int, most: int) -> set[str]:
    """The beginnings of the first words in the clause behind a position."""
    edge = _CLAUSE.search(text, position)
    end = edge.start() if edge else position + 100
    pieces = _PIECE.findall(text[position:end].lower())
    words = [word for word in pieces if not _FILLING.fullmatch(word)]
    return {word[:_STEM] for word in words[:most]}


def _negations(
    pattern: re.Pattern[str],
    text: str,
    span: Span,
    places: Sequence[Span] = (),
    own: Set[str] = frozenset(),
) -> Iterator[re.Match[str]]:
    """Where a pattern of negations negates something in `span` outside of `places` that is not the fact's `own`
    (`_negated_words`)."""
    start, end = span
    affirmed = (match.span() for match in _AFFIRMED.finditer(text, max(0, start - 100), end))
    ignored = [*affirmed, *places]
    for match in pattern.finditer(text, start, end):
        position = match.start()
        is_own = own and own & _words_after(text, match.end(), _READ)
        if not is_own and not any(first <= position < last for first, last in ignored):
            yield match


def _is_denied_within(text: str, span: Span, pattern: str, own: Set[str] = frozenset()) -> bool:
    """True when the match of `pattern` at `span` has a negation of its end, one in the end's clause, that its author
    did not write, nor in the fact (`own`)."""
    start, end = span
    if _FOLLOWING.match(text, end):
        return True
    start = max(start, _sentences(text).around(end - 1, end)[0])
    for match in _CLAUSE.finditer(text, start, end - 1):
        start = match.start()
    last_word = max(text.rfind(" ", start, end) + 1, start)
    negations = [*_negations(_NEGATION, text, (start, end), own=own)]
    for match in _negations(_AHEAD, text, (start, end), own=own):
        if match.start() < last_word < match.start() + _NEAR:
            negations.append(match)
    written = pattern.lower()
    for spelling in ("n.t", "n'?t", "n.?t"):
        written = written.replace(spelling, "n't")
    return any(match[0].lower() not in written for match in negations)


def about(text: str, places: Sequence[Sequence[Span]], share: float) -> dict[Span, list[Span]]:
    """The sentences with a share of the fact whose parts are stated at `places`, a list for each part; and where."""
    sentences = _sentences(text)
    stated: dict[Span, list[Span]] = defaultdict(list)
    parts = Counter[Span]()
    for spans in places:
        by_sentence = grouped(spans, lambda span: sentences.around(span[0], span[0] + 1))
        parts.update(by_sentence.keys())
        for sentence, own in by_sentence.items():
            stated[sentence] += own
    fewest = share * len(places)
    return {sentence: stated[sentence] for sentence in sorted(parts) if parts[sentence] >= fewest}


def read(
    text: str, places: Sequence[Sequence[Span]], matches: Mapping[Span, str], fact: str
) -> FactReading:
    """What the answer does with the fact whose parts are stated at `places`, a list for each part. `matches`: the
    author's patterns by their places. What denies a negative fact is said of its whole sentence only; another one is
    denied by a clause in its words, too, that has none of the parts."""
    facts = about(text, places, _MOST_PARTS)
    retracted = _sentences(text).retracted
    # "It takes 80 columns, and never below 50" is no negative fact
    if has_negation(_saying(fact)):
        denials = (sentence for sentence in facts if _denies_all(text, sentence, facts[sentence]))
        return FactReading(next(denials, None), union(retracted))
    own = _negated_words(fact)
    denied = {
        span for span, pattern in matches.items() if _is_denied_within(text, span, pattern, own)
    }
    denial = None
    unstated = [*retracted, *denied]
    for sentence, spans in facts.items():
        if _supposes(text, sentence, spans):
            unstated.append(sentence)
        if denial is None and (
            not denied.isdisjoint(spans)
            or _denies_all(text, sentence, spans)
            or _denies(text, sentence, spans, fact, matches, own)
        ):
            denial = sentence
    return FactReading(denial, union(unstated))


def is_denied(text: str, span: Span, pattern: str) -> bool:
    """True when the sentence of `span`, or the match of the pattern itself, denies what is stated there."""
    return _is_denied_outside(text, span) or _is_denied_within(text, span, pattern)


def is_unstated(text: str, span: Span) -> bool:
    """True when the sentence of `span` denies, asks or supposes what is written there."""
    if _is_denied_outside(text, span):
        return True
    return _supposes(text, _sentences(text).around(*span), [span])


def _is_denied_outside(text: str, span: Span) -> bool:
    """True when a negation outside of `span` in its sentence denies it."""
    sentence = _sentences(text).around(*span)
    return _denies_all(text, sentence, [span]) or _denies(text, sentence, [span])


def _denies_all(text: str, sentence: Span, places: Sequence[Span]) -> bool:
    """True when a negation negates the whole sentence."""
    return any(_negations(_WHOLE, text, sentence, places))


def _denies(
    text: str,
    sentence: Span,
    places: Sequence[Span],
    fact: str = "",
    matches: Iterable[Span] = (),
    own: Set[str] = frozenset(),
) -> bool:
    """True when a negation outside the `places` in a sentence negates one of them, or a clause in the fact's words. A
    clause without any of `matches` may name something else instead, which denies nothing; what the fact negates itself
    (`own`) may be negated."""
    start, end = sentence
    edges = [start, *(match.start() for match in _CLAUSE.finditer(text, start, end)), end]

    def clause(position: int) -> Span:
        number = bisect_right(edges, position)
        return edges[number - 1], edges[number]

    stating = {clause(first) for first, _ in places}
    matched = {clause(first) for first, _ in matches if start <= first < end}
    for negation in _negations(_NEGATION, text, sentence, places, own):
        span = clause(negation.start())
        words = text[slice(*span)]
        if fact and span not in matched and _contrasts(words, fact):
            continue
        if span in stating or _is_in_words_of(words, fact):
            return True
    if own:
        return False  # "no" and "without" are said of what such a fact negates, in any words
    for negation in _negations(_AHEAD, text, sentence, places):
        position = negation.start()
        for first, _ in places:
            if position < first < position + _NEAR and clause(first) == clause(position):
                return True
    return False


def _is_in_words_of(clause: str, fact: str) -> bool:
    """True when most words of the clause, but for its negations, are the fact's."""
    words = _words(_NEGATION.sub(" ", clause))
    return bool(words) and len(words & _words(fact)) >= _SHARE_OF_WORDS * len(words)


def _contrasts(clause: str, fact: str) -> bool:
    """True when the clause begins as a contrast, and names something that is not in the fact."""
    start = _CONTRAST.match(clause)
    if not start:
        return False
    own = {name[:_BEGINNING] for name in _NAME.findall(fact.lower())}
    others = {name[:_BEGINNING] for name in _NAME.findall(clause[start.end() :].lower())}
    return not others - _UNNAMING <= own


def _words(text: str) -> set[str]:
    return {*_WORD.findall(text.lower())}


def _supposes(text: str, sentence: Span, places: Sequence[Span]) -> bool:
    """True when a sentence asks, supposes, or offers an alternative to one of the `places` in it."""
    stated = max(end for _, end in places)
    stop = sentence[1]
    question = _ASKED.search(text, max(stated, stop - 10), stop)
    if question and not _CLAUSE.search(text, stated, stop):
        return True
    if _SUPPOSED.search(text, *sentence):
        return True
    for start, end in places:
        after = _OR_AFTER.match(text, end, stop)
        before = _OR_BEFORE.search(text, max(0, start - 120), start)
        for other in filter(None, (after, before)):
            if not any(first < other.end(1) and other.start(1) < last for first, last in places):
                return True
    return False
