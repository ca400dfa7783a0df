"""Texts that must not be in an archive: a file of patterns, what they find, and the words that take its place."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus, unquote

import re2

from lensbench.core.errors import UserError, printable
from lensbench.core.handed_over import read_handed_over
from lensbench.core.system.places import ROOT

EXPRESSION = "re:"
"""The beginning of a line with a regular expression; every other line is a text."""
SHORTEST_WORD = 3
MOST_CODINGS = 4
"""How deep escaped texts may lie in others, as JSON in strings of JSON."""
OWN_FILES = ("Snakefile", "rules", "templates", "requirements.lock", "schemas")
"""Files of lensbench whose words archives need: names of files, keys and columns."""
_SPACE = r"(?:\s|\\[nrt]?|%20|\+)+"
_SUFFIX = re.compile(r"\.[A-Za-z]{1,4}$")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class Line(NamedTuple):
    """A line of the patterns."""

    place: str
    """Such as `patterns.txt:3`."""
    pattern: Any
    """A compiled regular expression (RE2)."""

    def finds(self, text: str) -> bool:
        return any(self.pattern.search(view) for view in views(text))


class Text(NamedTuple):
    """A text that a line found, and the word that takes its place."""

    line: Line
    spellings: tuple[str, ...]
    """As it was found: in several cases, or with other spaces."""
    word: str


def read_lines(file: Path) -> list[Line]:
    """The lines of a file of patterns but blank ones and comments (#). Raises UserError with the line's number."""
    lines = []
    for number, line in enumerate(read_handed_over(file).splitlines(), 1):
        text = line.strip()
        place = f"{file}:{number}"
        if text and not text.startswith("#"):
            lines.append(Line(place, _compiled(_pattern_of(text, place), place)))
    if not lines:
        form = f"write a text a line, or {EXPRESSION} before a regular expression"
        raise UserError(f"{file}: has no pattern; {form}")
    return lines


def _pattern_of(text: str, place: str) -> str:
    """The regular expression that a line means: its own, or one for a text in any case, with any spaces."""
    if text.startswith(EXPRESSION):
        return text.removeprefix(EXPRESSION).strip()
    problem = _unfit(text)
    if problem:
        raise UserError(f"{place}: {problem}")
    return "(?i)" + _spaced(unicodedata.normalize("NFC", text), r"\s+")


def _compiled(pattern: str, place: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0]
        if isinstance(why, bytes):
            why = why.decode()
        raise UserError(f"{place}: is no regular expression (RE2): {why}") from None
    if compiled.search(""):
        raise UserError(f"{place}: fits the empty text; write what must be there")
    return compiled


def _unfit(text: str) -> str:
    """Why a text cannot be replaced; "" when it can."""
    has_letter = any(map(str.isalpha, text))
    if has_letter and len(text) >= SHORTEST_WORD:
        return ""
    return f"{text!r} is too short or has no letter, so numbers would change; write a longer text"


def _spaced(text: str, space: str) -> str:
    """A pattern for the text, with any of `space` between its words."""
    return space.join(map(re.escape, text.split()))


@dataclass(frozen=True)
class Redaction:
    """The texts that were found."""

    texts: tuple[Text, ...] = ()

    def __call__(self, text: str, is_json: bool = False, counts: Counter[str] | None = None) -> str:
        """The text with the words, which are counted. In JSON, a letter after a backslash belongs to an escape."""
        pieces = list[str]()
        end = 0
        for match in self._matches(text):
            is_letter = match[0][0] in "bfnrtu"
            if is_json and is_letter and _is_escaped(text, match.start()):
                continue
            word = self._word(match[0])
            if counts is not None:
                counts[word] += 1
            pieces += [text[end : match.start()], word]
            end = match.end()
        return "".join([*pieces, text[end:]])

    def _matches(self, text: str) -> list[Any]:
        """Where a text stands in any form, by RE2, which takes as long for many texts as for one."""
        if not self.texts:
            return []
        try:
            return list(self._finder.finditer(text))
        except UnicodeEncodeError:  # bytes that are no UTF-8
            return list(self._pattern.finditer(text))

    def _word(self, form: str) -> str:
        if form not in self._known:
            match = self._pattern.fullmatch(form)
            assert match
            self._known[form] = self.texts[int(str(match.lastgroup)[1:])].word
        return self._known[form]

    @cached_property
    def _known(self) -> dict[str, str]:
        """The words of forms that were replaced."""
        return {}

    def of_line(self, place: str) -> Redaction:
        """The texts of one line alone."""
        return Redaction(tuple(text for text in self.texts if text.line.place == place))

    @property
    def places(self) -> list[str]:
        """The lines that found something."""
        return list(dict.fromkeys(text.line.place for text in self.texts))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """All texts in all forms, the longest first, each in a group with its number."""
        groups = {}
        for number, text in enumerate(self.texts):
            longest = max(map(len, text.spellings))
            groups[f"(?P<t{number}>{_any_form(text.spellings)})"] = -longest
        return re.compile("|".join(sorted(groups, key=groups.__getitem__)), re.IGNORECASE)

    @cached_property
    def _finder(self) -> Any:
        """The same for RE2, without groups."""
        options = re2.Options()
        options.max_mem = 1 << 30
        pattern = re.sub(r"\(\?P<t\d+>", "(?:", self._pattern.pattern)
        return re2.compile(f"(?i){pattern}", options)


def _is_escaped(text: str, place: int) -> bool:
    """Whether the character there follows an odd number of backslashes."""
    first = place
    while first and text[first - 1] == "\\":
        first -= 1
    return (place - first) % 2 == 1


def _any_form(spellings: Iterable[str]) -> str:
    """A pattern for a text as it may be written: in JSON, also in strings of JSON, HTML, addresses, CSV, YAML, regular
    expressions, and with letters composed or not."""
    forms = set[str]()
    for text in spellings:
        for form in ("NFC", "NFD"):
            forms.update(_written(unicodedata.normalize(form, text)))
    inner = set(forms)
    for _ in range(MOST_CODINGS):
        escaped = set[str]()
        for text in inner:
            escaped.add(json.dumps(text)[1:-1])
            escaped.add(json.dumps(text, ensure_ascii=False)[1:-1])
        forms |= escaped
        for text in escaped:
            forms.add(text.replace("/", "\\/"))
        inner = escaped
    patterns = []
    for form in sorted(forms):
        patterns.append(_spaced(form, _SPACE))
    patterns.sort(key=len, reverse=True)
    return "|".join(patterns)


def _written(text: str) -> Iterator[str]:
    """The text, and how HTML, addresses, CSV, YAML, regular expressions, Python and git have it."""
    yield text
    entities = html.escape(text)
    yield entities
    yield entities.replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    yield quote(text)
    yield quote(text, safe="")
    yield quote_plus(text)
    yield text.replace('"', '""')
    yield text.replace("'", "''")
    yield re.escape(text)
    yield text.encode("unicode_escape").decode()
    yield text.encode().decode("latin-1").encode("unicode_escape").decode()
    yield "".join(chr(byte) if byte < 128 else f"\\{byte:o}" for byte in text.encode())


def views(text: str) -> Iterator[str]:
    """The text as it is, and without the escapes of JSON, HTML and addresses, again and again, for RE2."""
    for _ in range(MOST_CODINGS + 1):
        composed = unicodedata.normalize("NFC", text)
        yield composed.encode(errors="replace").decode()
        plain = unquote(html.unescape(_unescaped(text)))
        if plain == text:
            return
        text = plain


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        four, two, letter = match.groups()
        if four or two:
            return chr(int(four or two, 16))
        return _CONTROL.get(letter, letter)

    plain = _ESCAPE.sub(character, text)
    plain = plain.replace('""', '"')
    plain = plain.replace("''", "'")
    pairs = plain.encode("utf-16", "surrogatepass")
    return pairs.decode("utf-16", "replace")


def find_texts(lines: Iterable[Line], parts: Iterable[str]) -> Redaction:
    """What the lines find in the texts, each with a word for it; case and spaces make no other text. Raises UserError
    for what cannot be replaced."""
    seen = set[str]()
    for part in parts:
        seen.update(views(part))
    found: dict[str, Line] = {}
    spellings: dict[str, list[str]] = {}
    for line in lines:
        for text in sorted(_matches(line, seen)):
            problem = _unfit(text)
            if problem:
                raise UserError(f"{line.place}: finds {problem}")
            _refuse_own_word(line, text)
            key = " ".join(text.split()).casefold()
            found.setdefault(key, line)
            spellings.setdefault(key, []).append(text)
    texts = []
    words = _words(len(found))
    for key, line in found.items():
        first, *_ = spellings[key]
        word = _as_path(first, next(words))
        texts.append(Text(line, tuple(spellings[key]), word))
    return Redaction(tuple(texts))


def _matches(line: Line, seen: Iterable[str]) -> set[str]:
    texts = set[str]()
    for view in seen:
        for match in line.pattern.finditer(view):
            texts.add(match[0])
    return texts


def _words(count: int) -> Iterator[str]:
    """Words of one length, so that none is the beginning of another. One with digits could be taken for a figure."""
    width = 1
    while len(ascii_lowercase) ** width < count:
        width += 1
    for letters in product(ascii_lowercase, repeat=width):
        yield f"redacted{''.join(letters)}"


def _as_path(text: str, word: str) -> str:
    """The word as a path or a file's name where the text is one: reports would else name other files."""
    if text.startswith("/"):
        word = f"/{word}"
    suffix = _SUFFIX.search(text)
    if suffix:
        word += suffix[0]
    return word


def _refuse_own_word(line: Line, text: str) -> None:
    pattern = re.compile(_spaced(text, _SPACE), re.IGNORECASE)
    for name, content in _own_files().items():
        if pattern.search(content):
            what = f"{printable(repr(text))} is a word of lensbench's own files ({name})"
            raise UserError(f"{line.place}: {what}, which an archive needs; write a longer text")


@cache
def _own_files() -> dict[str, str]:
    """The texts of lensbench's own files by their names."""
    texts = {}
    for part in OWN_FILES:
        for path in (ROOT / part, *sorted((ROOT / part).rglob("*"))):
            if path.is_file():
                texts[path.name] = path.read_text(encoding="utf-8", errors="replace")
    return texts
