"""Rules that turn pieces into patterns.

- Met requires every hard piece, and with few hard pieces also half of the words; Partial requires half of these.
- One of several names joined with "or" is enough.
- A number must be next to its unit, or near a name or word that it is near in the criterion.
- A denial of the fact is a `must_not`; if the fact itself is a negation, that must be stated near a piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from lensbench.core.tasks import Regex
from lensbench.judging.judges.normalising import normalise
from lensbench.judging.judges.pieces import UNITS, Piece, stem

NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
FEW_PIECES = 2
"""Up to so many hard pieces may occur together by chance, so words are required, too."""
FEWEST_WORDS = 4
"""How many words identify a fact without any hard piece."""

_OR = re.compile(r"\W*(?:\w+\W+){0,2}?(?:and/or|or)\W+(?:\w+\W+){0,2}")
_OR_WORDS = re.compile(r"`?\W?(?:and/or|or) (?:an? |the )?([a-z]{4,} [a-z]{4,})")
_BETWEEN = r"(?:[^\n0-9]|[A-Za-z_]\d+)"
"""Text between a number and its name: no other number; jinja2 counts as a name."""
_FAR, _CLOSE = 80, 40
"""The maximum distance between a number and a name, and between a number and a plain word."""
_NOT = r"(?i:\b(?:not|never|cannot|no longer|neither|nor)\b|n't\b)"
_CLEAR = r"(?:[^\n./]|\.[^a-z\n/]|\.[a-z_]{6,}|\.[a-z_]+\()"
"""A character of text that is no path; the attribute of an object is called, or longer than a file's ending."""
_BEFORE, _AFTER = 20, 30
"""How far from a name its file is expected, in characters."""
_SAME = r"(?:[^.\n;]|\.\w)"
"""A character of the same sentence; a dot within a name does not end it."""
NEGATION = re.compile(r"(?i)\b(?:not|never|cannot|no longer|neither|nor)\b|n't\b")
_DENIAL_WORDS = (
    r"(?i:\b(?:no|not|never|none|nothing|nor|without|cannot|except|unless|instead|rather|skip|ignor|omit|exclu|refus"
    r"|reject|lack|missing|fail|disabl)|n't\b)"
)


def groups(text: str, pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces in order; names joined with "or" form one group."""
    found: list[list[Piece]] = []
    for piece in pieces:
        joined = found and _OR.fullmatch(text[found[-1][-1].end : piece.start])
        if joined and {piece.kind, found[-1][-1].kind} <= {"name", "code", "word", "file", "folder"}:
            found[-1].append(piece)
        else:
            found.append([piece])
    return found


def is_alone(group: Sequence[Piece], text: str) -> bool:
    """True when the text gives no alternative to this group."""
    return len(group) == 1 and not _OR_WORDS.match(text, group[0].end)


def pattern_of(group: Sequence[Piece], text: str, others: Sequence[Piece], elide: bool, strict: bool) -> Regex:
    """A pattern for any piece of the group; numbers and values must be near the `others` or words of the text.

    With `elide`, a file also matches where its name occurs without any path: an answer may omit the place, but must
    not give another one. `strict` matches names only as spelled in the criterion, and not in paths.
    """
    others = [other for other in others if other not in group]
    ways = [way for piece in group for way in (_strictly(piece) if strict else _ways(piece, text, others))]
    names = [other for other in others if other.kind in ("name", "code", "word")]
    if elide and names and {piece.kind for piece in group} == {"file"}:
        owner = min(names, key=lambda other: abs(other.start - group[0].start))
        joint = r"(?:\w+(?:\.|::|#|->))?"
        ways.append(
            rf"(?:(?:^|\n){_CLEAR}{{0,{_BEFORE}}}|{_CLEAR}{{{_BEFORE}}}){joint}{_short(owner)}"
            rf"(?:{_CLEAR}{{{_AFTER}}}|{_CLEAR}{{0,{_AFTER}}}\.?(?:\n|$))"
        )
    ways += [rf"(?i:\b{found[1]})" for piece in group if (found := _OR_WORDS.match(text, piece.end))]
    return joined(ways)


def _strictly(piece: Piece) -> list[str]:
    if piece.kind == "file":
        return _file(piece)
    return [rf"(?:^|[^\w/.]){re.escape(piece.text)}(?:[^\w./]|\.\W|\.[a-z]\w*\(|\.?$)"]


def _ways(piece: Piece, text: str, others: Sequence[Piece]) -> list[str]:
    match piece.kind:
        case "file":
            return _file(piece)
        case "folder":
            return [_folder(piece.text)]
        case "setting":
            name, value = re.split(r" ?= ?", piece.text)
            return beside(rf"\b{re.escape(name)}\b", rf"(?i:\b{value}\b)", 30, r"[^\n]")
        case "name":
            return _name(piece)
        case "number" | "value":
            return _near(piece, text, others)
        case "word":
            return [rf"\b{re.escape(piece.text)}(?:s|es)?\b"]
    spelled = r"\s*".join(map(re.escape, normalise(piece.text).text.split()))
    spelled = f"(?i:{spelled})" if piece.kind == "quote" else spelled
    return [_edged(spelled, piece.text)]


def _edged(spelled: str, text: str) -> str:
    start, end = (r"\b" if edge.isascii() and (edge.isalnum() or edge == "_") else "" for edge in (text[0], text[-1]))
    return start + spelled + end


def _file(piece: Piece) -> list[str]:
    """Patterns for a file by any end of its path, but no other path."""
    *folders, name = piece.text.split("/")
    name = re.escape(name)
    if not folders:
        return [rf"\b{name}\b" if piece.text[0] != "." else rf"{name}\b"]
    path = "/".join([*map(re.escape, folders), name])
    if piece.generic:
        parent = re.escape(folders[-1])
        return [rf"(?:^|[^\w.-]){parent}/{name}\b", *beside(rf"\b{parent}\b", rf"(?:^|[^\w./-]){name}\b", 30, r"[^\n]")]
    tails = ["/".join([*map(re.escape, folders[at:]), name]) for at in range(max(1, len(folders) - 2), len(folders))]
    bare = rf"(?:^|[^\w./-])(?:{'|'.join([*tails, name])})\b"
    dotted = rf"\b{re.escape(folders[-1])}\.{re.escape(piece.text.rsplit('/', 1)[-1].removesuffix('.py'))}\b"
    return [rf"(?:^|[^\w.-]){path}\b", bare, *([dotted] if piece.text.endswith(".py") else [])]


def _folder(path: str) -> str:
    parts = list(map(re.escape, path.split("/")))
    tails = ["/".join(parts[at:]) for at in range(1, len(parts) - 1)]
    whole = r"(?:^|[^\w.-])" + "/".join(parts)
    ways = "|".join([whole, *(r"(?:^|[^\w./-])" + tail for tail in tails)])
    return rf"(?:{ways})\b"


def _name(piece: Piece) -> list[str]:
    """Patterns for a name; a dotted one also by a distinctive last part, but not after another class."""
    if len(piece.parts) == 1:
        return [spellings(piece.text)]
    owner, last = piece.parts
    joint = r"(?:\.|::|#|->)"
    whole = rf"\b{re.escape(owner)}{joint}{re.escape(last)}\b"
    if piece.vague:
        of = rf"(?:^|[^\w/]){re.escape(owner)}(?:[^\w/]|$)"
        return [whole, *beside(of, rf"\b{re.escape(last)}\b", 60, r"[^\n]")]
    variable = rf"[a-z_]\w*{joint}" if owner[0].isupper() else r"(?:self|this|cls)\."
    return [whole, rf"(?:^|[^\w.:#>/])(?:{variable})?{re.escape(last)}\b"]


def spellings(name: str) -> str:
    """A pattern for a name in snake, camel, hyphenated and spoken form; private or one-word names only as they are.

    The forms do not match in a path: `state_core.py` does not name the class StateCore.
    """
    if name.startswith("-"):
        return rf"(?:^|[^\w-]){re.escape(name)}(?:[^\w-]|$)"
    exact = _edged(re.escape(name), name)
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    if name.startswith("_") or len(words) < 2 or "".join(words) != re.sub("[_-]", "", name) or len(name) < 6:
        return exact
    camel = "".join(word.capitalize() for word in words)
    forms = [rf"(?i:{'[ -]'.join(words)})", *(["_".join(words).lower()] if "_" not in name else [])]
    forms += [rf"{words[0].lower()}{camel[len(words[0]) :]}", camel] if name.islower() else []
    return rf"{exact}|(?:^|[^\w/.])(?:{'|'.join(forms)})(?:[^\w/.]|\.\W|\.?$)"


def _near(piece: Piece, text: str, others: Sequence[Piece]) -> list[str]:
    """Patterns for a number or value with its unit, or near its neighbours in the criterion, also on the next line."""
    shown = _value(piece)
    if _unit(piece):
        return [shown]
    names = sorted((other for other in others if other.kind not in ("number", "value", "file", "folder")),
                   key=lambda other: abs(other.start - piece.start))[:3]  # fmt: skip
    files = [other for other in others if other.kind == "file"][:1]
    marks = [(_short(other), _FAR) for other in (names or files)[:1]]
    before = re.findall(r"[a-z]{4,}", text[max(0, piece.start - 50) : piece.start], re.ASCII)[-2:]
    after = re.findall(r"[a-z]{4,}", text[piece.end : piece.end + 30], re.ASCII)[:1]
    marks += [
        (rf"(?i:\b{stem(word)})", _CLOSE)
        for word in dict.fromkeys([*after, *reversed(before)])
        if word not in ("that", "with", "from")
    ]
    marks += [(_short(other), _FAR) for other in names[1:]]
    alone = not any(other.kind == "number" and abs(other.start - piece.start) < _FAR for other in others)
    one = _BETWEEN if alone else r"[^\n]"
    between = rf"{one}{{0,{{gap}}}}(?:\n{one}{{0,{{gap}}}})?"
    ways = []
    for mark, gap in marks:
        filled = between.replace("{gap}", str(gap))
        ways += [rf"{mark}{filled}{shown}", rf"{shown}{filled}{mark}"]
    return ways or [shown]


def _short(piece: Piece) -> str:
    # a route or an option such as `/users` begins with an empty part
    split = piece.parts if piece.kind == "name" else [part for part in re.split(r" ?= ?|/", piece.text) if part.strip()]
    parts = split or [piece.text]
    last = parts[-1 if piece.kind in ("name", "file") else 0].strip()
    return _edged(re.escape(last), last)


def _unit(piece: Piece) -> str:
    """The spellings of a number's unit as a pattern; "" for none."""
    found = re.fullmatch(r"[\d.,_]+ ?([a-zA-Z%]+(?: cent)?)", piece.text) if piece.kind == "number" else None
    if not found or piece.text.startswith("0x"):
        return ""
    return "|".join(ways for _, ways in UNITS if re.fullmatch(f"(?i:{ways})", found[1]))


def _value(piece: Piece) -> str:
    if piece.kind == "value":
        return rf"(?i:\b{piece.text}\b)"
    if piece.text.startswith("0x"):
        return rf"\b(?i:{piece.text})\b"
    digits = re.match(r"[\d.,_]*\d", piece.text)
    whole, _, rest = re.sub("[,_]", "", digits[0] if digits else piece.text).partition(".")
    shown = rf"{whole}\.{re.escape(rest)}" if rest.strip("0") else rf"{whole}(?:\.0+)?"
    word = f"|{NUMERALS[int(whole)]}" if not rest.strip("0") and int(whole) < len(NUMERALS) else ""
    number = rf"(?:^|[^\w.-])(?:{shown}{word})"
    if unit := _unit(piece):
        return rf"{number}[ -]?(?i:{unit})(?:\W|$)"
    return rf"{number}(?:[^\w.]|\.\D|\.?$)"


def beside(one: str, two: str, gap: int, between: str) -> list[str]:
    """Patterns for two expressions near each other, in any order."""
    return [rf"{one}{between}{{0,{gap}}}{two}", rf"{two}{between}{{0,{gap}}}{one}"]


def denials(text: str, pieces: Sequence[Piece]) -> list[Regex]:
    """Patterns that deny the fact: a negation before one of its words or pieces, in a sentence that names a piece."""
    verbs = re.findall(r"(?<![\w'/.-])[a-z]{2,}(?![\w'/.-])", text, re.ASCII)
    stops = (
        "the",
        "that",
        "and",
        "for",
        "with",
        "from",
        "its",
        "it",
        "to",
        "of",
        "by",
        "an",
        "as",
        "at",
        "in",
        "on",
        "or",
        "is",
        "are",
        "be",
    )
    words = [rf"{stem(word)}" for word in dict.fromkeys(verbs) if word not in stops][:12]
    marks = list(dict.fromkeys(_short(piece) for piece in pieces if piece.kind not in ("number", "value")))[:6]
    values = list(dict.fromkeys(re.escape(piece.text) for piece in pieces if piece.kind in ("number", "value")))[:3]
    if not marks and not values:
        return []
    near = _alternatives([*marks, *(values if not marks else [])])
    denied = rf"{_NOT}\W+(?:\w+\W+){{0,2}}?{_alternatives([*(rf'(?i:{word})' for word in words), *marks, *values])}"
    found = [rf"{near}{_SAME}{{0,80}}{denied}", rf"{denied}{_SAME}{{0,60}}{near}"]
    found.append(
        rf"(?i:\b(?:not (?:true|the case|correct)|false|wrong|incorrect|untrue)\b\W+that\b){_SAME}{{0,120}}{near}"
    )
    return [Regex(regex=each) for each in found if len(each) <= 500]


def negation_near(text: str, pieces: Sequence[Piece], words: Sequence[str]) -> Regex:
    """A pattern for a negation, or an equivalent word, near a piece or word that it is near in the text."""
    found = NEGATION.search(text)
    at = found.start() if found else 0
    near = sorted(
        (piece for piece in pieces if piece.kind in ("name", "code", "word")), key=lambda piece: abs(piece.start - at)
    )
    marks = [_short(piece) for piece in near[:2]] + [rf"(?i:\b{word})" for word in words[:4]]
    return joined([way for mark in marks for way in beside(mark, _DENIAL_WORDS, _FAR, _SAME)] or [_DENIAL_WORDS])


def _alternatives(ways: Iterable[str]) -> str:
    """The alternatives as one expression, as many as leave room for the rest of the pattern."""
    kept: list[str] = []
    for way in ways:
        if sum(map(len, kept)) + len(way) < 170:
            kept.append(way)
    return f"(?:{'|'.join(kept)})"


def joined(ways: Iterable[str]) -> Regex:
    """One pattern for all alternatives; the last ones are dropped while it is too large."""
    kept = list(dict.fromkeys(ways))
    while True:
        try:
            return Regex(regex="|".join(kept))
        except ValidationError:
            kept.pop()


def fields(text: str, hard: Sequence[tuple[list[Piece], Regex]], words: Sequence[str]) -> dict[str, Any]:
    """The patterns of a criterion, by the keys of `Criterion`; empty when there is too little to search for."""
    patterns = [pattern for _, pattern in hard]
    bare = all(piece.kind in ("number", "value") and not _unit(piece) for group, _ in hard for piece in group)
    if bare and len(words) < (1 if patterns else FEWEST_WORDS):
        return {}
    soft = [Regex(regex=rf"(?i)\b{word}") for word in words]
    found: dict[str, Any] = {"all_of": tuple(patterns), "partial": {}}
    if not patterns:
        found["at_least"] = {"n": -(-len(soft) * 2 // 3), "of": soft}
        found["partial"]["a part of it"] = {"n": -(-len(soft) * 2 // 5), "of": soft}
        return found
    places = all(piece.kind in ("file", "folder", "number", "value") for group, _ in hard for piece in group)
    if len(patterns) <= FEW_PIECES and (len(soft) > 2 or (places and soft)):
        found["at_least"] = {"n": -(-len(soft) // 3), "of": soft}
    every = [*patterns, *(soft if len(patterns) <= FEW_PIECES else [])]
    if len(every) > 1:
        found["partial"]["half of it"] = {"n": -(-len(every) // 2), "of": every}
    return found
