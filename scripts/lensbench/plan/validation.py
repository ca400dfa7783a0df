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

_PlaceOf = Callable[[KeyPath], str]
"""From a key's path to its place, such as `config.yaml:12`."""

_NUMBER = re.compile(r"\d+(\.\d+)?")
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


def explain(
    error: ValidationError, model: type[BaseModel], value: Any, place: _PlaceOf
) -> list[str]:
    """One message per problem, in the order of the file: `file:line: key: what is wrong; what to write`."""
    messages: dict[str, str] = {}  # of the branches of a union, the last one speaks
    for problem in error.errors(include_url=False):
        path = _real_path(problem["loc"], value, problem["type"] == "missing")
        messages[f"{place(path)}: {_name(path, value)}"] = _sentence(dict(problem), path, model)
    return [f"{key} {sentence}" for key, sentence in messages.items()]


def has(value: Any, part: str | int) -> bool:
    """True when `part` is a key of the mapping, or an index of the list, `value`."""
    if isinstance(value, list):
        return part in range(len(value))
    return isinstance(value, dict) and part in value


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
    kind = problem["type"]
    value = problem.get("input")
    if kind == "extra_forbidden":
        return _unknown(str(path[-1]), path[:-1], model)
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    if kind == "string_pattern_mismatch":
        pattern = problem["ctx"]["pattern"]
        return f"is {value!r}; {PATTERN_WORDS.get(pattern, 'it must fit ' + pattern)}"
    if value is None and kind in _WANTED:
        return f"is empty; {_EMPTY.get(kind, 'write a value, or remove the key')}"
    message = problem["msg"].removeprefix("Input ").removeprefix("Value error, ")
    advice = _WANTED.get(kind) or message.replace("should be '', ", "should be ")
    if kind == "missing":
        return advice
    if _SECRETS & set(path):
        return f"{advice}; write names of environment variables, not their values"
    shape = repr(value)
    if isinstance(value, dict):
        shape = "a mapping"
    elif isinstance(value, list):
        shape = "a list"
    return f"{advice}, not {shape}{_example(kind, value, path, model) or _yaml_hint(kind, value)}"


def _unknown(key: str, section: KeyPath, model: type[BaseModel]) -> str:
    """What to do with a key that is none of its section: it may belong into another one."""
    own_keys: dict[str, Any] = {}
    for inner in _models_at(model, section):
        own_keys |= inner.model_fields
    if key == "name" and section and own_keys:  # each section means something else by it
        return f"is not a key of {'.'.join(map(str, section))!r}; its keys are {some_of([*own_keys], 6)}"
    if section[:1] == ("conditions",) and key in _OF_A_SERVER:
        return "is a key of MCP files; write it into such a file, and mcp: <file> here"
    if section[:1] == ("prices",) and key == "changes":
        return "is not a key of a price any more; write today's price, and the next one on its day"
    homes = [home for name, home in _places(model) if name == key]
    if homes:
        home = _section_name(min(homes, key=len))
        return f"is a key of {home}, not of {_section_name(section)}; move it there"
    keys = sorted({name for name, _ in _places(model)})
    hint = did_you_mean(key, own_keys) or did_you_mean(key, keys)
    return f"is not a key that lensbench knows{hint or '; remove it'}"


def _section_name(path: KeyPath) -> str:
    return repr(".".join(map(str, path))) if path else "the top level"


def _example(kind: str, value: Any, path: KeyPath, model: type[BaseModel]) -> str:
    """How to write a plain value where a list or a mapping is wanted, or a number with a unit; "" for others."""
    if kind == "float_parsing" and not _EXPONENT.fullmatch(value):
        number = _NUMBER.search(value)
        if number:
            return f"; write {_in_its_unit(number, str(path[-1])):g}"
    if kind == "model_type" and isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, (dict, list)):
        return "; begin each item with `- `" if kind == "tuple_type" else ""
    text = printable(str(value).removeprefix("$"))
    if isinstance(value, bool):
        text = text.lower()
    if kind == "tuple_type":
        return f"; write [{', '.join(text.replace(',', ' ').split())}]"
    if kind != "model_type":
        return ""
    glued = re.match(r"(\w+):(?=[^\s/])", text)
    if glued:
        return f"; write a space after the colon: {glued[0]} {text[glued.end() :]}"
    number = _NUMBER.match(text)
    if number:
        text = number[0]
    first, *_ = _models_at(model, path)[0].model_fields
    return f"; write {{{first}: {text}}}"


def _in_its_unit(number: re.Match[str], key: str) -> float:
    """A number in the unit of its key, from the unit behind it, if there is one."""
    value = float(number[0])
    unit = _UNITS.get(number.string[number.end() :].strip()[:1].lower())
    if unit is None:
        return value
    return value * unit / _UNITS["h" if key.endswith("_hours") else "s"]


def _yaml_hint(kind: str, value: Any) -> str:
    """What to write when YAML read a value differently than intended; "" otherwise."""
    if kind == "literal_error" and isinstance(value, bool):
        return "; YAML reads yes, no, on and off as true and false"
    if kind == "string_type":
        if isinstance(value, bool):
            return "; put it in quotes: YAML reads yes, no, on and off as true and false"
        if isinstance(value, (int, float)):
            return "; put it in quotes, or begin it with a letter (on a command line): YAML reads it as a number"
        if isinstance(value, date):
            return "; put it in quotes: YAML reads it as a date"
    is_number = kind in ("int_type", "float_type", "int_parsing", "float_parsing")
    if is_number and _EXPONENT.fullmatch(str(value)):
        return f"; write {float(value):g}: YAML reads {value} as text"
    return ""


def _places(model: type[BaseModel], home: KeyPath = ()) -> Iterator[tuple[str, KeyPath]]:
    """All keys of the model and of the models inside it, each with the key of its section."""
    for name, item in model.model_fields.items():
        yield name, home
        inside: KeyPath = (*home, name)
        if get_origin(item.annotation) is dict:
            inside = (*inside, "<name>")
        for inner in _models(item.annotation):
            yield from _places(inner, inside)


def _models_at(model: type[BaseModel], path: KeyPath) -> list[type[BaseModel]]:
    """The models that the value at `path` may have."""
    models = [model]
    for part in path:
        inside: list[type[BaseModel]] = []
        for kind in models:
            if part in kind.model_fields:
                inside += _models(kind.model_fields[str(part)].annotation)
        models = inside or models
    return models


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _models(part)
