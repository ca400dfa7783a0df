"""Patterns that find a fact in other words than ours: names whole, values and places beside what they belong to."""

from __future__ import annotations

import re

from lensbench.core.tasks import Pattern, Regex
from lensbench.scenarios.code import Definition
from lensbench.scenarios.survey import Survey

_TELLING = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z][A-Z]|[A-Z]{2,}_")
_FAR = 80
_PYTHON = re.compile(r"(?:^|.*?/)((?:\w+/)*\w+)\.pyi?$")


def whole(name: str) -> str:
    """The regular expression of a name that is no part of a longer one."""
    start, end = (r"\b" if edge.isalnum() or edge == "_" else "" for edge in (name[0], name[-1]))
    return f"{start}{re.escape(name)}{end}"


def beside(one: str, two: str, gap: int = _FAR) -> str:
    """Two expressions on one line, in any order."""
    return rf"{one}[^\n]{{0,{gap}}}{two}|{two}[^\n]{{0,{gap}}}{one}"


def at(name: str, path: str, survey: Survey) -> Regex:
    """A name with its file: before the file no other one comes, and after it no comma, which ends what is said."""
    shown = _anywhere(path, survey)
    return Regex(regex=rf"{name}[^\n;./]{{0,60}}(?:[\w@.-]+/)*{shown}|{shown}[^\n,;./|]{{0,40}}{name}")


def place(path: str, survey: Survey) -> Pattern:
    """A file, by as much of its path as is needed; of Python also by its module's dotted name."""
    short = survey.short(path)
    package = _package(path, survey)
    if "." not in package:
        return short
    # a package is not one of its modules, whose names are lower case
    end = r"(?:[^\w.]|\.[^a-z]|\.?$)" if path.endswith("/__init__.py") else r"\b"
    return Regex(regex=rf"(?:\b|/){re.escape(short)}\b|\b{re.escape(package)}{end}")


def _anywhere(path: str, survey: Survey) -> str:
    """The regular expression of `place`, as a part of a longer one."""
    found = place(path, survey)
    return f"(?:{found.regex})" if isinstance(found, Regex) else whole(found)


def _package(path: str, survey: Survey) -> str:
    """The dotted name of a Python module, from the outermost folder that is a package."""
    if not path.endswith(".py"):
        return ""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    starts = (at for at in range(len(parts)) if "/".join([*parts[: at + 1], "__init__.py"]) in survey.texts)
    return ".".join(parts[next(starts, len(parts)) :])


def is_telling(one: Definition, survey: Survey) -> bool:
    """Whether its name alone means this definition: one that nobody takes for a word, and that is defined once."""
    return bool(_TELLING.search(one.name.strip("_"))) and len(survey.by_name[one.name]) == 1


def named(one: Definition, survey: Survey) -> Pattern:
    """A definition: by its name where that tells enough, or else beside its owner or its file."""
    if is_telling(one, survey):
        return one.name
    owner = whole(one.owner) if one.owner else _anywhere(one.path, survey)
    return Regex(regex=beside(owner, whole(one.name), 60))


def valued(name: str, value: str) -> Regex:
    """A name's value. After the name no other number may come first; before it no comma, which ends what is said."""
    name = whole(name)
    if not value[0].isdigit():
        shown = rf"(?i:{re.escape(value)})"
        return Regex(regex=rf"{name}[^\n]{{0,90}}{shown}|{shown}[^\n,;|]{{0,40}}{name}")
    shown = rf"(?:^|[^\w.-]){re.escape(value.removesuffix('.0'))}(?:\.0)?"
    between = r"(?:[^\n0-9]|[A-Za-z_]\d+)"  # jinja2 is a name, no number
    after = rf"{name}{between}{{0,90}}{shown}(?:[^\w.]|\.(?:\D|$)|$)"
    return Regex(regex=rf"{after}|{shown}[ \])'\"][^\n0-9,;|]{{0,40}}{name}")
