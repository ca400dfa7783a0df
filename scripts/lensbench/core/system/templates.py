"""The Jinja environment of the templates."""

import base64
import hashlib

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lensbench.core.system.places import TEMPLATES


def template_environment(*, html: bool = False) -> Environment:
    """For text, which keeps its last line break, or with `html` for pages with all values escaped. Undefined names in a
    template are errors."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=not html, autoescape=html,
    )  # fmt: skip


def csp_hash(content: str) -> str:
    """The content security policy source of an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
