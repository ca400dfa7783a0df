"""How pieces become patterns.

- A number that is given as a value has to stand near what it stands near in the criterion; nothing else is asked.
- Otherwise the most telling name is asked, or the file that the criterion begins with, and one more piece beside it;
  the file of the name when there is no other piece. The most telling name alone is Partial.
- Of names that are joined with "or" one is enough; names that are listed ("a, b and c") are asked all together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from pydantic import ValidationError

from lensbench.core.tasks import Pattern, Regex
from lensbench.judging.drafting.pieces import NUMERALS, Piece, plain_digits

_OR = re.compile(r"\W*(?:\w+\W+){0,4}?(?:and/or|or)\W+(?:\w+\W+){0,3}")
_AND = re.compile(r"[\s,`]*(?:and)?[\s`]*")
_OR_WORDS = re.compile(r"`?\W?(?:and/or|or) (?:an? |the )?([a-z]{4,} [a-z]{4,})")
_GIVEN = re.compile(r"(?:=|\b(?:is|are|of|to|at|by|most|least|than|below|above|only|default|allows|under|over))\W*$")
_SET = re.compile(r"(\w+) ?= ?$")
_UNIT = re.compile(r"`? ([a-z]{3,})")
_NOUN = re.compile(r"\b([a-z]{4,}) $")
_LIMITS = ("below|least|less than|under|lower|narrower|minimum", "above|most|more than|over|up to|maximum|limit")
_NO_DIGIT = r"[^\n0-9]"
"""Between a number and its word: the word belongs to the nearest number."""
_FAR, _CLOSE = 80, 20
"""Characters between two pieces that belong together: a name and a name or number, a number and a plain word."""


def what_is_named(text: str, pieces: Sequence[Piece]) -> dict[str, Any]:
    """The patterns of a criterion that gives no value; empty when it names nothing."""
    places = _groups(text, [piece for piece in pieces if piece.kind in ("file", "folder")])
    names = _groups(text, [piece for piece in pieces if piece.kind not in ("file", "folder", "number")])
    if not names:
        return _required([_any(text, group) for group in places])
    telling = min(names, key=lambda group: (group[0].kind == "word", group[0].aside, group[0].vague))
    word = telling[0].kind == "word"
    about_file = bool(places) and (word or places[0][0].start < names[0][0].start)
    files = _listed(text, places)
    asked = files if about_file else _listed(text, names[names.index(telling) :])
    required = [_any(text, group) for group in asked]
    support = [hint for group in names if group not in asked for piece in group for hint in _hints(piece)]
    support += [_near(piece, text, [telling[0].parts[-1]]) for piece in pieces if piece.kind == "number"]
    if not about_file and (len(files) > 1 or (not support and len(required) == 1)):
        required += [_any(text, group) for group in files]
    partial = {} if word or len([*required, *support]) < 2 else {f"names {telling[0].text}": (_any(text, telling),)}
    return {**_required(required), "any_of": tuple(support), "partial": partial}


def what_is_valued(text: str, pieces: Sequence[Piece]) -> dict[str, Any]:
    """The patterns of a criterion that gives values, of which one has to be stated; empty when it gives none."""
    names = [piece.parts[-1] for piece in pieces if piece.kind in ("name", "setting", "code")]
    numbers = [piece for piece in pieces if piece.kind == "number"]
    settings = {piece.text: found[1] for piece in numbers if (found := _SET.search(text[: piece.start]))}
    given = [piece for piece in numbers if _UNIT.match(text, piece.end) or _GIVEN.search(text[: piece.start])]
    ways = [
        _near(piece, text, [settings[piece.text]], piece.large) if piece.text in settings else _near(piece, text, names)
        for piece in given
    ]
    return _required([_joined(way.regex for way in ways)]) if ways else {}


def stated(piece: Piece) -> Pattern:
    """The pattern of a piece: a file without its folders; a dotted name by its last part if that tells enough, or
    else by its last two, near one another."""
    if piece.kind == "file":
        return piece.text.rsplit("/", 1)[-1]
    if piece.kind == "setting":
        return Regex(regex=re.sub(r" ?= ?", r"\\s*=\\s*", piece.text))
    if len(piece.parts) == 1 or not piece.vague:
        return piece.parts[-1]
    return Regex(regex=_beside(_as_regex(_owner(piece)), _as_regex(piece.parts[1]), _FAR))


def _owner(piece: Piece) -> str:
    return piece.parts[0].rsplit(".", 1)[-1]


def _required(patterns: Sequence[Pattern]) -> dict[str, Any]:
    return {"all_of": tuple(patterns)} if patterns else {}


def _groups(text: str, pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces in their order, those that the text joins with "or" in one group."""
    groups: list[list[Piece]] = []
    for piece in pieces:
        if groups and _OR.fullmatch(text[groups[-1][-1].end : piece.start]):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return groups


def _listed(text: str, groups: Sequence[list[Piece]]) -> list[list[Piece]]:
    """The first group, and those that follow it with no more than a comma or "and" between."""
    listed = list(groups[:1])
    for group in groups[1:]:
        if not _AND.fullmatch(text[listed[-1][-1].end : group[0].start]):
            break
        listed.append(group)
    return listed


def _any(text: str, group: Sequence[Piece]) -> Pattern:
    """One pattern that finds any piece of the group, also by the words that the criterion has for it."""
    words = [words for piece in group for words in _words_for(piece, text)]
    if len(group) == 1 and not words:
        return stated(group[0])
    return _joined([*(_as_regex(stated(piece)) for piece in group), *(rf"(?i:\b{each})" for each in words)])


def _words_for(piece: Piece, text: str) -> list[str]:
    """ "scoped lifetime" for (WithScopedLifetime) if the text says so, and two plain words that follow an "or"."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", piece.text) if piece.kind == "name" and piece.aside else []
    pairs = [f"{one} {two}".lower() for one, two in pairwise(parts) if one != "With"]
    follows = _OR_WORDS.match(text, piece.end)
    return [pair for pair in pairs if re.search(rf"\b{pair}\b", text.lower())] + ([follows[1]] if follows else [])


def _hints(piece: Piece) -> list[Pattern]:
    """What supports another name; of a method whose name tells little, its class does too."""
    by_class = len(piece.parts) == 2 and piece.vague and _owner(piece) != _owner(piece).lower()
    return [stated(piece), *([_owner(piece)] if by_class else [])]


def _near(piece: Piece, text: str, names: Iterable[str], by_words: bool = True) -> Regex:
    """The number of `piece`, as digits or as a word, near one of the names; also beside its unit, the word before it,
    or a word for the limit that it is."""
    number = rf"\b{_number(piece.text)}\b"
    ways = [_beside(_as_regex(name), number, _FAR, _NO_DIGIT) for name in names]
    before = text[: piece.start]
    if by_words:
        unit, noun = _UNIT.match(text, piece.end), _NOUN.search(before)
        words = [unit[1].rstrip("s")] if unit else []
        words += [noun[1]] if noun and not _GIVEN.search(before) else []
        words += [limit for limit in _LIMITS if re.search(rf"\b(?:{limit})\W*$", before)]
        ways += [_beside(f"(?i:{word})", number, _CLOSE, _NO_DIGIT) for word in words]
    return _joined(ways or [number])


def _number(digits: str) -> str:
    whole, _, rest = plain_digits(digits).partition(".")
    if rest.strip("0"):
        return rf"{whole}\.{rest}"
    word = f"|{NUMERALS[int(whole)]}" if int(whole) < len(NUMERALS) else ""
    return rf"(?:{whole}(?:\.0+)?{word})"


def _beside(one: str, two: str, gap: int, between: str = r"[^\n]") -> str:
    return rf"{one}{between}{{0,{gap}}}{two}|{two}{between}{{0,{gap}}}{one}"


def _as_regex(pattern: Pattern) -> str:
    if isinstance(pattern, Regex):
        return f"(?:{pattern.regex})"
    edges = [r"\b" if edge.isascii() and (edge.isalnum() or edge == "_") else "" for edge in (pattern[0], pattern[-1])]
    return edges[0] + re.escape(pattern) + edges[1]


def _joined(ways: Iterable[str]) -> Regex:
    """One pattern for all ways; the last ones are left out while it is larger than a pattern may be."""
    kept = list(dict.fromkeys(ways))
    while True:
        try:
            return Regex(regex="|".join(kept))
        except ValidationError:
            kept.pop()
