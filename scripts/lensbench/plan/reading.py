"""Reads a config, and reports everything that is wrong with it, with places, in one message."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lensbench.core.errors import UserError
from lensbench.core.pasted import pasted
from lensbench.core.system.yaml_places import Document, DocumentError, KeyPath, read_document
from lensbench.core.validation import explain, has
from lensbench.plan.config import Config
from lensbench.plan.problems import problems_of


def load_config(settings: Mapping[str, Any], files: Iterable[str] = ()) -> Config:
    """The validated config. `settings`: the mapping that Snakemake merged from `files` and `--config`.

    Raises UserError with one line per problem: file and line (or `--config`), key, what is wrong, what to write.
    """
    files = list(map(str, files))
    documents = [read_file(name) for name in files]
    # Converts Snakemake's mappings and dates to plain data.
    value: dict[str, Any] = json.loads(json.dumps(settings, default=str))

    def place(path: KeyPath) -> str:
        return _place(path, value, documents)

    try:
        config = Config.model_validate(value)
    except ValidationError as error:
        raise UserError("\n".join(explain(error, Config, value, place))) from None
    home = "; write the whole path: ~ is not replaced here"
    problems = [f"{place(path)}: {text}{home if ' ~/' in text else ''}" for path, text in problems_of(config, files)]
    if problems:
        raise UserError("\n".join(problems))
    return config


def read_config(path: Path) -> Config:
    """The config in a file, for uses without task sets, which need not exist. Raises UserError for an invalid
    config."""
    _, document = read_file(str(path))
    value = document.value
    return load_config({**value, "scenarios": []} if isinstance(value, dict) else value, [str(path)])


def read_file(name: str) -> tuple[str, Document]:
    """A config file and its name for messages, relative if below the current folder. Raises UserError if unreadable."""
    relative = os.path.relpath(name)
    place = name if relative.startswith("..") else relative
    try:
        document = read_document(Path(name))
        for path, line in document.lines.items():
            if isinstance(value := document.at(path), str) and (why := pasted(value)):
                raise DocumentError(why, line)
        return place, document
    except DocumentError as error:
        raise UserError(f"{place}:{error.line}: {error}") from None
    except OSError as error:
        hint = (
            "; write one with `lensbench init`, or name it: --configfile"
            if isinstance(error, FileNotFoundError)
            else ""
        )
        raise UserError(f"{place}: cannot be read: {error.strerror}{hint}") from None


def insist_on_config(name: str) -> None:
    """Raises UserError, with file, line and column, for a file that is not a YAML mapping."""
    place, document = read_file(name)
    if document.value is None:
        raise UserError(f"{place}:1: is empty; `lensbench init` writes a config, docs/tutorial.md shows one")
    if not isinstance(document.value, dict):
        raise UserError(f"{place}:1: must be a mapping of keys to values, such as `run_id: demo`")


def _place(path: KeyPath, value: Any, documents: list[tuple[str, Document]]) -> str:
    """The place of a key in the config: the last file that has it (with this value), or the command line.

    A missing key has the place of the key around it.
    """
    at: KeyPath = ()
    for part in path:
        if not has(value, part):
            break
        value, at = value[part], (*at, part)
    for name, document in reversed(documents if at else ()):
        if at in document.lines and (isinstance(value, (dict, list)) or str(document.at(at)) == str(value)):
            return f"{name}:{document.lines[at]}"
    return "--config" if at or not documents else documents[-1][0]
