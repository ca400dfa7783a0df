"""Sentences of a description that tell the fix, or only that tests came with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from lensbench_tasks.changes.prompts import added_lines

FEW_LINES = 4
"""A reference of one place and at most so many added and removed lines is small: finding the place is no work."""
_SHORT = 8
"""The added and removed lines of a reference whose tokens one sentence can tell."""
_SENTENCE = re.compile(
    r"(?<=[.!?])[ \t]+(?=[A-Z`\"'(*_-])"
    r"|(?<=[.!?])\n"
    r"|\n(?=[ \t]*(\n|[-*+#>] |\d+\. ))\n*"
)
"""Lines of a paragraph are one text: people break them anywhere."""
_TOKEN = re.compile(r"[A-Za-z_$][\w$]*|[^\w\s]{2,3}|[^\w\s]|\d+")
_ENDS = re.compile(r"[^\s\w`'\"]{2,3}|[<>]")
"""Operators that are no punctuation of a text."""
_ADVISES = re.compile(
    r"\b(us(e|es|ed|ing)|replac(e|es|ed|ing)|switch(es|ed|ing)?|chang(e|es|ed|ing)|correct(s|ed|ing)?|renam(e|es|ed|ing)"
    r"|swap(s|ped)?|call(s|ing)?|wrap(s|ped)?|spell(ing|ed)?"
    r"|instead|rather than)\b",
    re.IGNORECASE,
)
"""A sentence that says what to do with code; others say what happens."""
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`")
_KEYWORD = re.compile(
    r"True|False|None|true|false|null|undefined|function|const|return|async|await|import|export|class|self|this|else"
    r"|elif|with|from|yield|raise|throw|lambda|void|while|break|continue|static|default"
    r"|for|not|and|new|var|let|try|def|del|get|set|all|any|the|int|str|len|map|max|min|add|has|key"
)
_PROSE = {
    "?.": "optional chaining",
    "??": "nullish coalescing|nullish",
    "===": "strict equality|strictly equal",
    ">=": "greater than or equal|at least",
    "<=": "less than or equal|at most",
    "...": "spread",
}
"""How people call an operator."""
_CHAFF = re.compile(
    r"^\W*(also |this )?(includes?|adds?|added|adding|updates?|with)\b"
    r"(?=.*\b(doc)?tests?\b|.*\btest_|.*\bchangelog\b)",
    re.IGNORECASE | re.DOTALL,
)
_CHAFF_WORDS = re.compile(
    r"\([^()]*\)|`[^`]*`|\btest_\w+|\b(also|this|includes?|adds?|added|adding|updates?|with|and|or|a|an|the|for|to|of|it"
    r"|new|more|unit|regression|some|doc|docs|documentation|docstrings?|doctests?|tests?|changelog|entry|entries|news"
    r"|coverage|cases?|file|fragment|under|in|unreleased|\d+(\.\d+)+)\b|[\W\d_]",
    re.IGNORECASE,
)
_EMPTY_LINK = re.compile(r"!?\[\s*\]\([^()\s]*\)")


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text."""
    pieces = []
    begin = 0
    for end in _SENTENCE.finditer(text):
        pieces.append(text[begin : end.start()])
        begin = end.end()
    pieces.append(text[begin:])
    return [piece for piece in pieces if piece.strip()]


def without_chaff(text: str) -> str:
    """A description without links that have no name, and sentences that only say that tests or notes were added."""
    chaff = [*filter(_is_chaff, sentences(text))]
    kept = _without(_EMPTY_LINK.sub("", text), chaff)
    return re.sub(r"\n{3,}", "\n\n", kept).strip()


def _is_chaff(sentence: str) -> bool:
    return bool(_CHAFF.search(sentence)) and not _CHAFF_WORDS.sub("", sentence)


def without_the_fix(text: str, reference: str, needed: Collection[str]) -> tuple[str, bool]:
    """A description without the sentences that tell the fix, and False; as it is, and True, where too little is left.

    `needed`: names that the hidden tests use, which a description must give.
    """
    telling = {sentence for sentence in sentences(text) if tells(sentence, reference, needed)}
    if not telling:
        return text, False
    rest = _without(text, telling).strip()
    if len(re.findall(r"[A-Za-z]{2,}", rest)) < 6:
        return text, True
    return rest, False


def _without(text: str, unwanted: Collection[str]) -> str:
    for sentence in unwanted:
        text = text.replace(sentence, "")
    return re.sub(r"[ \t]+(?=\n|$)|^[ \t]+(?=\S)(?![-*])", "", text, flags=re.MULTILINE)


def tells(sentence: str, reference: str, needed: Collection[str]) -> bool:
    """True when a sentence names what a short reference adds to the code."""
    if sum(changed_lines(reference)) > _SHORT or not _ADVISES.search(sentence):
        return False
    tokens = set(_new_tokens(reference)).difference(needed)
    return any(_names(sentence, token) for token in tokens)


def _names(sentence: str, token: str) -> bool:
    if re.match(r"\w", token):
        return bool(re.search(rf"(?<![\w$]){re.escape(token)}(?![\w$])", sentence))
    if token in _PROSE and re.search(_PROSE[token], sentence, re.IGNORECASE):
        return True
    quoted = re.findall(r"`[^`]*`|'[^']*'|\"[^\"]*\"", sentence)
    return token in "\n".join(quoted)


def _new_tokens(reference: str) -> Iterator[str]:
    """Names and operators that a patch adds and does not remove, without those in texts and comments."""
    removed = set(_TOKEN.findall("\n".join(_removed_lines(reference))))
    for line in added_lines(reference):
        code = re.sub(r"(#|//).*", "", _QUOTED.sub(" ", line))
        for token in _TOKEN.findall(code):
            is_name = re.match(r"[A-Za-z_$]", token) and len(token) > 2
            is_name = is_name and not _KEYWORD.fullmatch(token)
            if token not in removed and (is_name or _ENDS.fullmatch(token)):
                yield token


def _removed_lines(reference: str) -> list[str]:
    return re.findall(r"(?m)^-(?!--)(.*)$", reference)


def changed_lines(reference: str) -> tuple[int, int]:
    """The added and the removed lines of a patch."""
    return len(added_lines(reference)), len(_removed_lines(reference))


def is_small(reference: str) -> bool:
    """True for a reference of one place and at most FEW_LINES lines."""
    places = 0
    is_inside = False
    for line in reference.split("\n"):
        is_header = line.startswith(("+++", "---"))
        is_change = line.startswith(("+", "-")) and not is_header
        if is_change and not is_inside:
            places += 1
        is_inside = is_change
    return places == 1 and sum(changed_lines(reference)) <= FEW_LINES
