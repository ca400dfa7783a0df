"""Turns pydantic's errors into sentences with the file, the line, the key and the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError

from lensbench.core.errors import did_you_mean, printable, some_of
from lensbench.core.system.yaml_places import KeyPath
from lensbench.core.tasks import PATTERN_WORDS

Place = Callable[[KeyPath], str]
"""From a key's path to its place, such as `config.yaml:12`."""

_EXPONENT = re.compile(r"[+-]?\d+[eE][+-]?\d+")
_UNITS = {"s": 1, "m": 60, "h": 3600}
"""Seconds of a unit by its first letter."""
_SECRETS = {"pass_env", "token_env"}
"""Keys whose values are not shown: instead of the name of a variable, a key itself may be there."""
_WANTED = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "missing": "is missing",
}
_OF_A_SERVER = {"mcpServers", "command", "args", "env", "url", "headers"}
_EMPTY = {
    "dict_type": "write its keys below it, indented",
    "model_type": "write its keys below it, indented, or {}",
}


def explain(error: ValidationError, model: type[BaseModel], value: Any, place: Place) -> list[str]:
    """One message per problem, in the order of the file: `file:line: key: what is wrong; what to write`."""
    messages: dict[str, str] = {}  # of the branches of a union, the last one speaks
    for problem in error.errors(include_url=False):
        path = _real_path(problem["loc"], value, problem["type"] == "missing")
        messages[f"{place(path)}: {_name(path, value)}"] = _sentence(dict(problem), path, model)
    return [f"{key} {sentence}" for key, sentence in messages.items()]


def has(value: Any, part: str | int) -> bool:
    """True when `part` is a key of the mapping, or an index of the list, `value`."""
    return (
        part in range(len(value))
        if isinstance(value, list)
        else isinstance(value, dict) and part in value
    )


def _real_path(location: Iterable[str | int], value: Any, is_missing: bool) -> KeyPath:
    """The location without the names that pydantic adds for the branches of unions; the last one may be missing."""
    path: KeyPath = ()
    parts = list(location)
    for index, part in enumerate(parts):
        inside = has(value, part)
        if inside:
            value = value[part]
        if inside or (is_missing and index == len(parts) - 1 and isinstance(value, dict)):
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
    kind, value = problem["type"], problem.get("input")
    if kind == "extra_forbidden":
        return _unknown(str(path[-1]), path[:-1], model)
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    if kind == "string_pattern_mismatch":
        pattern = problem["ctx"]["pattern"]
        return f"is {value!r}; {PATTERN_WORDS.get(pattern, 'it must fit ' + pattern)}"
    if value is None and kind in _WANTED:
        return f"is empty; {_EMPTY.get(kind, 'write a value, or remove the key')}"
    advice = _WANTED.get(kind) or problem["msg"].removeprefix("Input ").removeprefix(
        "Value error, "
    )
    advice = advice.replace("should be '', ", "should be ")
    if kind == "missing":
        return advice
    if _SECRETS & set(path):
        return f"{advice}; write names of environment variables, not their values"
    shape = (
        "a mapping"
        if isinstance(value, dict)
        else "a list"
        if isinstance(value, list)
        else repr(value)
    )
    return f"{advice}, not {shape}{_example(kind, value, path, model) or _yaml_hint(kind, value)}"


def _unknown(key: str, section: KeyPath, model: type[BaseModel]) -> str:
    """What to do with a key that is none of its section: it may belong into another one."""
    own_keys = {name: None for field in _models_at(model, section) for name in field.model_fields}
    if key == "name" and section and own_keys:  # each section means something else by it
        return f"is not a key of {'.'.join(map(str, section))!r}; its keys are {some_of([*own_keys], 6)}"
    if section[:1] == ("conditions",) and key in _OF_A_SERVER:
        return "is a key of MCP files; write it into such a file, and mcp: <file> here"
    if homes := sorted((home for name, home in _places(model) if name == key), key=len):
        home, here = (
            f"{'.'.join(map(str, path))!r}" if path else "the top level"
            for path in (homes[0], section)
        )
        return f"is a key of {home}, not of {here}; move it there"
    keys = sorted({name for name, _ in _places(model)})
    hint = did_you_mean(key, own_keys) or did_you_mean(key, keys)
    return f"is not a key that lensbench knows{hint or '; remove it'}"


def _example(kind: str, value: Any, path: KeyPath, model: type[BaseModel]) -> str:
    """How to write a plain value where a list or a mapping is wanted, or a number with a unit; "" for others."""
    if (
        kind == "float_parsing"
        and (number := re.search(r"\d+(\.\d+)?", value))
        and not _EXPONENT.fullmatch(value)
    ):
        have = _UNITS.get(value[number.end() :].strip()[:1].lower(), 0)
        want = _UNITS["h" if str(path[-1]).endswith("_hours") else "s"] if have else 1
        return f"; write {float(number[0]) * (have or 1) / want:g}"
    if kind == "model_type" and isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, (dict, list)):
        return "; begin each item with `- `" if kind == "tuple_type" else ""
    text = printable(
        str(value).lower() if isinstance(value, bool) else str(value).removeprefix("$")
    )
    if kind == "tuple_type":
        return f"; write [{', '.join(text.replace(',', ' ').split())}]"
    if kind == "model_type" and (match := re.match(r"(\w+):(?=[^\s/])", text)):
        return f"; write a space after the colon: {match[0]} {text[match.end() :]}"
    if kind == "model_type":
        text = number[0] if (number := re.match(r"\d+(\.\d+)?", text)) else text
        return f"; write {{{next(iter(_models_at(model, path)[0].model_fields))}: {text}}}"
    return ""


def _yaml_hint(kind: str, value: Any) -> str:
    """What to write when YAML read a value differently than intended; "" otherwise."""
    if kind == "literal_error" and isinstance(value, bool):
        return "; YAML reads yes, no, on and off as true and false"
    if kind == "string_type" and isinstance(value, bool):
        return "; put it in quotes: YAML reads yes, no, on and off as true and false"
    if kind == "string_type" and isinstance(value, (int, float)):
        return "; put it in quotes, or begin it with a letter (on a command line): YAML reads it as a number"
    if kind == "string_type" and isinstance(value, date):
        return "; put it in quotes: YAML reads it as a date"
    if kind in ("int_type", "float_type", "int_parsing", "float_parsing") and _EXPONENT.fullmatch(
        str(value)
    ):
        return f"; write {float(value):g}: YAML reads {value} as text"
    return ""


def _places(model: type[BaseModel], home: KeyPath = ()) -> Iterator[tuple[str, KeyPath]]:
    """All keys of the model and of the models inside it, each with the key of its section."""
    for name, item in model.model_fields.items():
        yield name, home
        inside = (*home, name, "<name>") if get_origin(item.annotation) is dict else (*home, name)
        for inner in _models(item.annotation):
            yield from _places(inner, inside)


def _models_at(model: type[BaseModel], path: KeyPath) -> list[type[BaseModel]]:
    """The models that the value at `path` may have."""
    models = [model]
    for part in path:
        fields = [
            kind.model_fields[part]
            for kind in models
            if isinstance(part, str) and part in kind.model_fields
        ]
        models = [inner for item in fields for inner in _models(item.annotation)] or models
    return models


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _models(part)
