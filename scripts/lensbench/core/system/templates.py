"""The Jinja environment of the templates, which are compiled once for all programs, as Python does with modules."""

from __future__ import annotations

import base64
import hashlib
import os
import sys

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

from lensbench.core.system.places import PACKAGE, TEMPLATES


def template_environment(*, html: bool = False) -> Environment:
    """For text, which keeps its last line break, or with `html` for pages with all values escaped. Undefined names in a
    template are errors."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=not html, autoescape=html, bytecode_cache=_compiled(),
    )  # fmt: skip


def csp_hash(content: str) -> str:
    """The content security policy source of an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _compiled() -> FileSystemBytecodeCache | None:
    """A cache beside the package's modules, where only those who can change the modules can write."""
    folder = PACKAGE / "__pycache__"
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return FileSystemBytecodeCache(str(folder), "%s.template")
