"""The Jinja environment of our templates, compiled once for all programs, as Python does with modules."""

from __future__ import annotations

import base64
import hashlib
import os
import sys

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

from lensbench.core.system.places import PACKAGE, TEMPLATES


def template_environment(*, html: bool = False) -> Environment:
    """Text that keeps its last line break, or with `html` pages in which every value is escaped. A name that a template
    uses and nobody gives is an error."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=not html, autoescape=html, bytecode_cache=_compiled(),
    )  # fmt: skip


def csp_hash(content: str) -> str:
    """What a page's content security policy says of a style or script that the page itself holds."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _compiled() -> FileSystemBytecodeCache | None:
    """Beside our own modules: who may write there could change those as well."""
    folder = PACKAGE / "__pycache__"
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return FileSystemBytecodeCache(str(folder), "%s.template")
