"""Turns pydantic's errors into sentences with the file, the line, the key and the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

from pydantic import BaseModel, ValidationError

from lensbench.core.errors import did_you_mean
from lensbench.core.system.yaml_places import KeyPath
from lensbench.core.tasks import PATTERN_WORDS

Place = Callable[[KeyPath], str]
"""From a key's path to its place, such as `config.yaml:12`."""

_EXPONENT = re.compile(r"[+-]?\d+[eE][+-]?\d+")
_WANTED = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "missing": "is missing",
}


def explain(error: ValidationError, model: type[BaseModel], value: Any, place: Place) -> list[str]:
    """One message per problem, in the order of the file: `file:line: key: what is wrong; what to write`."""
    messages: dict[str, None] = {}
    for problem in error.errors(include_url=False):
        path = _real_path(problem["loc"], value)
        messages[f"{place(path)}: {_name(path, value)} {_sentence(dict(problem), path, model)}"] = None
    return list(messages)


def has(value: Any, part: str | int) -> bool:
    """True when `part` is a key of the mapping, or an index of the list, `value`."""
    return part in range(len(value)) if isinstance(value, list) else isinstance(value, dict) and part in value


def _real_path(location: Iterable[str | int], value: Any) -> KeyPath:
    """The location without the names that pydantic adds for the branches of unions."""
    path: KeyPath = ()
    parts = list(location)
    for index, part in enumerate(parts):
        inside = has(value, part)
        if inside:
            value = value[part]
        if inside or (index == len(parts) - 1 and isinstance(value, dict)):
            path = (*path, part)
    return path


def _name(path: KeyPath, value: Any) -> str:
    """The key as written in the file; an item in a list of tasks by its id."""
    name = ""
    for part in path:
        value = value[part] if has(value, part) else None
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            name = f"task {value['id']!r}: "
        else:
            name += f"{'.' if name and not name.endswith(' ') else ''}{part}"
    return name.removesuffix(": ") or "the file"


def _sentence(problem: dict[str, Any], path: KeyPath, model: type[BaseModel]) -> str:
    kind, given = problem["type"], problem.get("input")
    if kind == "extra_forbidden":
        known = sorted(_known_keys(model))
        return "is not a key that lensbench knows" + (did_you_mean(str(path[-1]), known) or "; remove it")
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    if kind == "string_pattern_mismatch":
        pattern = problem["ctx"]["pattern"]
        return f"is {given!r}; {PATTERN_WORDS.get(pattern, 'it must fit ' + pattern)}"
    wanted = _WANTED.get(kind) or problem["msg"].removeprefix("Input ").removeprefix("Value error, ")
    shown = "" if kind == "missing" or isinstance(given, (dict, list)) else f", not {given!r}"
    return f"{wanted}{shown}{_yaml_hint(kind, given)}"


def _yaml_hint(kind: str, given: Any) -> str:
    """What to write when YAML read a value differently than intended; "" otherwise."""
    if kind == "string_type" and isinstance(given, bool):
        return "; put it in quotes: YAML reads yes, no, on and off as true and false"
    if kind == "string_type" and isinstance(given, (int, float)):
        return "; put it in quotes, or begin it with a letter (on a command line): YAML reads it as a number"
    if kind == "string_type" and isinstance(given, date):
        return "; put it in quotes: YAML reads it as a date"
    if kind in ("int_type", "float_type", "int_parsing", "float_parsing") and _EXPONENT.fullmatch(str(given)):
        return f"; write {float(given):g}: YAML reads {given} as text"
    return ""


def _known_keys(model: Any, seen: frozenset[Any] = frozenset()) -> set[str]:
    """All keys of the model and of the models inside it."""
    if model in seen:
        return set()
    if isinstance(model, type) and issubclass(model, BaseModel):
        inner = (_known_keys(item.annotation, seen | {model}) for item in model.model_fields.values())
        return set(model.model_fields).union(*inner)
    return set().union(*(_known_keys(part, seen) for part in getattr(model, "__args__", ())))
