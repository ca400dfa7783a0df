"""Parses the values of a report's fields. An uncertain value is missing (None), never 0 or a guess."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from lensbench.runs.self_report.paths import DESCRIPTION, QUOTES, SPACED_REMARK, bare_path
from lensbench.runs.self_report.sections import BULLET, HEAD, HEADING, Field, SectionLine

MAX_COUNT = 1_000_000

_COUNT = re.compile(
    r"[\s*_`~≈(\[\"']*+(?:(?:about|approximately|approx\.?|around|roughly|total(?:\sof)?:?|ca\.)\s+)?[*_`~]*+"
    r"([0-9]{1,3}(?:[,_][0-9]{3})+|[0-9]+)(?![\w%]|[.,:/_][0-9]|\s?[-\u2013—]\s?[0-9]|\s(?:to|or)\s[0-9])",
    re.IGNORECASE,
)
_OTHER_FIELD = re.compile(r"\*\*[^*`]{1,60}(?::\*\*|\*\*\s?:)")
_MISSING = {"", "n/a", "na", "-", "\u2013", "—", "--", "?", "unknown", "tbd", "not applicable", "null", "~", "..."}
_BREAK = re.compile(r"<br\s{0,3}/?>", re.IGNORECASE)
_REMARK = re.compile(r"\([^()]*\)")
_LIST = re.compile(r"[\s,`]*+(?:\[((?:[^\[\]]|\[[^\[\]]*\])*+)\]?|\(((?:[^()]|\([^()]*\))*+)\)|\{([^{}]*+)\})[\s,`]*+")
_OF_YAML = re.compile(r"\s#\s.*|^[|>][-+]?$|^(?:name|tool|path|file):\s|^(?:count|calls):\s?[0-9]+$")
_NONE = re.compile(r"(?:none|nothing|nil|no\s(?:files?|tools?))(?![\w./-])")
_AND = re.compile(r"\s(?:and|&|\+)\s")
_LINK = re.compile(r"\[[^\[\]]*\]\(([^()\s]*)\)")
_TIMES = re.compile(
    r"(?:\s[x*]\s?[0-9]+|\s?[\u00d7✕]\s?[0-9]+|\s[0-9]+\s?[x\u00d7]?|:[0-9]+)(?:\s(?:times|calls?))?$", re.IGNORECASE
)
_TIMES_BEFORE = re.compile(r"(?<![0-9])[0-9]+\s?[x\u00d7]?\s")


def count(field: Field | None) -> int | None:
    """The integer at the start; None for ranges, fractions, signs, words and numbers above MAX_COUNT."""
    if field is None:
        return None
    value = field.inline or next((text for line in field.below if (text := line.text.strip())), "")
    number = _COUNT.match(value[:HEAD])
    if not number:
        return None
    digits = number[1].replace(",", "_")
    return int(digits) if len(digits) < 10 and int(digits) <= MAX_COUNT else None


def _items(field: Field) -> Iterator[tuple[SectionLine, str]]:
    """The field's own line, and the list below it, bullet by bullet."""
    if field.inline:
        yield field.line, field.inline
    last, blank, has_begun = field.inline, False, bool(field.inline)
    for line in field.below:
        text = line.text.strip()
        if not text:
            blank = True
            continue
        bullet = BULLET.match(text)
        item = text[bullet.end() :] if bullet else text.strip("|").strip()
        deeper = line.indent > field.line.indent
        if bullet and (_OTHER_FIELD.match(item[:HEAD]) or (field.inline and not deeper)):
            return
        if text[0] in "#|" or (not bullet and (blank or (has_begun and not last.endswith(",") and not deeper))):
            return
        yield line, item
        last, blank, has_begun = text, False, has_begun or bool(bullet)


def lines_of(field: Field) -> Iterator[SectionLine]:
    """The field's own line and those of its value: a list, or a number below the name."""
    yield field.line
    yield from (line for line, _ in _items(field))
    following = next((line for line in field.below if line.text.strip()), None)
    if following and not field.inline and _COUNT.match(following.text.strip()[:HEAD]):
        yield following


def _split(field: Field, remark: re.Pattern[str], short: Callable[[str], str] = str) -> tuple[str, ...] | None:
    """The parts between commas, without remarks in brackets; () when the field is "none", None when it is empty, or
    when a bracket is open."""
    pieces = [part for _, item in _items(field) for part in _BREAK.split(short(_OF_YAML.sub("", item)))]
    if match := _LIST.fullmatch(SPACED_REMARK.sub("", ",".join(pieces))):
        pieces = [(match[1] or match[2] or match[3] or "").strip(" ,") or "none"]
    plain = [remark.sub("", piece).strip(" .,;") or piece.strip("( .,;)") for piece in pieces]
    whole = " ".join(plain).strip().strip(QUOTES + "()").lower()
    if whole in _MISSING or whole.isdigit():
        return None
    if _NONE.match(whole):
        return ()
    parts = tuple(part for piece in plain for part in re.split("[,;]", piece) if part.strip(" " + QUOTES))
    is_cut = any(part.count(pair[0]) != part.count(pair[1]) for part in parts for pair in ("()", "[]", "{}"))
    return None if is_cut else parts


def tools(field: Field | None) -> tuple[str, ...] | None:
    """The bare names of tools, each once."""
    parts = _split(field, _REMARK) if field else None
    return None if parts is None else _known(_tool(name) for part in parts for name in _AND.split(part))


def _tool(text: str) -> str:
    """The bare name: `Read` from "**Read** x4", "4x Read" or "and Read - to look"."""
    name = text.strip().removeprefix("and ").strip(QUOTES + " ")
    name = DESCRIPTION.split(name, maxsplit=1)[0].strip(QUOTES + " :")
    return _TIMES.sub("", _TIMES_BEFORE.sub("", name[:HEAD], count=1)).strip(QUOTES + " :")


def files(field: Field | None) -> tuple[str, ...] | None:
    """The paths without remarks, each once, not yet normalised (`normalise_path`)."""
    parts = _split(field, SPACED_REMARK, _path_first) if field else None
    return None if parts is None else _known(bare_path(path) for part in parts for path in _paths(part))


def _paths(part: str) -> list[str]:
    """The paths that "and" joins; it may also be a word of one path."""
    sides = _AND.split(part)
    return sides if all("." in side for side in sides) else [part]


def _path_first(item: str) -> str:
    """A list item without the text after its path, which may contain commas."""
    item = _LINK.sub(r"\1", item)
    before = DESCRIPTION.split(item, maxsplit=1)[0]
    return item if "," in before or ("," in item and before.count("`") % 2) else before


def _known(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name.lower() not in {*_MISSING, "etc", "none"}))


def findings(field: Field | None) -> tuple[str, ...]:
    """One text per bullet at any depth; continued lines are joined, headings are omitted."""
    if field is None:
        return ()
    items: list[list[str]] = [[field.inline]] if field.inline else []
    fresh = False
    for line in field.below:
        text = line.text.strip()
        bullet = BULLET.match(text)
        if not text or (text[0] == "#" and HEADING.match(text[:HEAD])):
            fresh = True
        elif bullet or fresh or not items or line.indent <= field.line.indent:
            items.append([text[bullet.end() :] if bullet else text])
            fresh = False
        else:
            items[-1].append(text)
    texts = tuple(" ".join(item).strip() for item in items)
    with suppress(ValueError, RecursionError):
        data = json.loads(" ".join(texts).rstrip("}` "))
        if isinstance(data, list) and all(isinstance(item, str) for item in data):
            texts = tuple(data)
    return () if len(texts) == 1 and texts[0].lower().strip(" .") in {*_MISSING, "none"} else tuple(filter(None, texts))
