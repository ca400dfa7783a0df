"""Patterns that match a fact in any wording: whole names and files, and names next to each other."""

from __future__ import annotations

import re

from lensbench.core.tasks import Pattern, Proof, Regex
from lensbench_tasks.parsers.code import Definition
from lensbench_tasks.survey import Survey

_TELLING = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z][A-Z]|[A-Z][A-Z]_")
_FAR = 80


def whole(name: str) -> str:
    """A regular expression for the name, but not as part of a longer one."""
    regex = re.escape(name)
    if re.match(r"\w", name):
        regex = rf"\b{regex}"
    if re.search(r"\w$", name):
        regex = rf"{regex}\b"
    return regex


def beside(one: str, two: str, gap: int = _FAR) -> str:
    """A regular expression for two others on one line, in any order."""
    return rf"{one}[^\n]{{0,{gap}}}{two}|{two}[^\n]{{0,{gap}}}{one}"


def place(path: str, survey: Survey) -> Pattern:
    """A pattern for a file: the necessary part of its path, or for Python the dotted module name."""
    short = survey.short(path)
    package = _package(path, survey)
    if "." not in package:
        return short
    # a package must not match one of its modules, whose names are lower case
    end = r"(?:[^\w.]|\.[^a-z]|\.?$)" if path.endswith("/__init__.py") else r"\b"
    return Regex(regex=rf"(?:\b|/){re.escape(short)}\b|\b{re.escape(package)}{end}")


def _anywhere(path: str, survey: Survey) -> str:
    """The regular expression of `place`, for use within a longer one."""
    pattern = place(path, survey)
    return f"(?:{pattern.regex})" if isinstance(pattern, Regex) else whole(pattern)


def _package(path: str, survey: Survey) -> str:
    """The dotted name of a Python module, from its outermost package."""
    if not path.endswith(".py"):
        return ""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    for first in range(len(parts)):
        if "/".join([*parts[: first + 1], "__init__.py"]) in survey.texts:
            return ".".join(parts[first:])
    return ""


def proof_in(one: Definition, quote: str) -> Proof:
    """The proof that a definition has this text."""
    return Proof(file=one.path, quote=quote, within=one.shown)


def is_telling(one: Definition, survey: Survey) -> bool:
    """True when the name alone identifies the definition: it is not an ordinary word, and is defined once."""
    if not _TELLING.search(one.name.strip("_")):
        return False
    return len(survey.by_name[one.name]) == 1


def named(one: Definition, survey: Survey) -> Pattern:
    """A pattern for a definition: its name if that identifies it, else the name next to its owner or file."""
    if is_telling(one, survey):
        return one.name
    owner = whole(one.owner) if one.owner else _anywhere(one.path, survey)
    return Regex(regex=beside(owner, whole(one.name), 60))
