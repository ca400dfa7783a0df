"""Normalises file paths as people and agents write them."""

from __future__ import annotations

import posixpath
import re

SPACED_REMARK = re.compile(r"(?<=[\s`*\"'])\([^()]*\)")
DESCRIPTION = re.compile(r"\s[-\u2013—]\s|:\s")
QUOTES = "`*\"'“”\u2018\u2019"

_LONGEST_PATH = 4096
_LINE_NUMBERS = re.compile(
    r"(?::L?[0-9]+(?:[-:,\u2013]L?[0-9]+){0,20}|#L?[0-9]+(?:-L?[0-9]+)?|\([0-9]+(?:[-,:]\s?[0-9]+)?\))$"
)


def normalise_path(path: str, workspace: str = "") -> str:
    """`path` relative to `workspace`, in the normal form for comparing cited files; "" when nothing is left.

    Removes quotes, backticks, bold, a remark in brackets, commas, line numbers, a leading `./` or `/` and a drive;
    backslashes become `/`, and `..` is resolved within the path. The function is idempotent.
    """
    root = _slashes(workspace).strip("/")
    path, before = path[:_LONGEST_PATH], ""
    while path != before:
        before = path
        path = _slashes(_LINE_NUMBERS.sub("", bare_path(path))).lstrip("/")
        if root and (path == root or path.startswith(root + "/")):
            path = path[len(root) :].lstrip("/")
    return path


def _slashes(path: str) -> str:
    plain = re.sub(r"^(?:file://|[A-Za-z]:(?=[\\/]))", "", path).replace("\\", "/")
    result = posixpath.normpath(plain) if plain else ""
    return "" if result == "." else result


def bare_path(text: str) -> str:
    """The path alone, without quotes, remarks and text after it."""
    path = SPACED_REMARK.sub("", text.strip()).strip().removeprefix("and ")
    if path.startswith("`") and "`" in path[1:]:
        path = path.strip("`").split("`", 1)[0]
    else:
        path = DESCRIPTION.split(path, maxsplit=1)[0]
    return path.strip(QUOTES + " ,;").strip()
