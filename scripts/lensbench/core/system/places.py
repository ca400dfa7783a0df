"""The files that are not Python, around the package in a checkout, beside it when installed; and their templates."""

from __future__ import annotations

import base64
import hashlib
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment

PACKAGE = Path(__file__).resolve().parents[2]
_INSTALLED = PACKAGE.with_name("lensbench_workflow")
IS_CHECKOUT = not _INSTALLED.is_dir()
ROOT = PACKAGE.parents[1] if IS_CHECKOUT else _INSTALLED
TEMPLATES = ROOT / "templates"
PROTOCOL = ROOT / "docs" / "protocol.md"


def commit() -> str:
    """The commit of this code: of the checkout, or the one that a wheel was built from; unknown without git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--tags", "--abbrev=40"]
    try:
        if not (ROOT / ".git").exists():
            return (ROOT / "commit").read_text(encoding="utf-8").strip()
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", check=True, timeout=60
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def template_environment(*, html: bool = False) -> Environment:
    """For text, or with `html` for pages with all values escaped. Undefined names are errors."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # no run needs it

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        bytecode_cache=_compiled(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not html,
        autoescape=html,
    )


@cache
def _compiled() -> BytecodeCache:
    """What was compiled in this process: compiling takes longer than rendering, and each page has an environment."""
    from jinja2.bccache import Bucket, BytecodeCache

    codes: dict[str, bytes] = {}

    class Compiled(BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            if bucket.key in codes:
                bucket.bytecode_from_string(codes[bucket.key])

        def dump_bytecode(self, bucket: Bucket) -> None:
            codes[bucket.key] = bucket.bytecode_to_string()

    return Compiled()


def csp_hash(content: str) -> str:
    """The content security policy source of an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
