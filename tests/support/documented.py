"""The commands in README.md and docs/, with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lensbench.core.system.places import ROOT

PROGRAM = (
    r"(?:(?:snakemake|lensbench|make|pip|openssl|cd|unzip|apt-get|npm|kill|ln|mkdir|docker|machine [AB]\$)(?= )"
    r"|python -m lensbench\.|python benchmarks/|tools/\S+\.sh|\.venv\S*/bin/)"
)
SPAN = re.compile(rf"(?<!`)`({PROGRAM}[^`\n]+)`")
FENCE = re.compile(r"^\s*```(\S*)")
SHELL = ("", "sh", "bash")


class Documented(NamedTuple):
    """A command without its prompt and its comment."""

    place: str
    command: str


def documented() -> Iterator[Documented]:
    """Lines of code blocks without a language or for a shell, indented lines and code spans that start a command."""
    for file in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "docs" / "measured" / "index.md"]):
        if file.name not in ("CHANGELOG.md", "protocol.md"):
            yield from _of_page(file)


def _of_page(file: Path) -> Iterator[Documented]:
    language: str | None = None
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{file.relative_to(ROOT)}:{number}"
        if fence := FENCE.match(line):
            language = None if language is not None else fence[1]
        elif language is not None:
            if language in SHELL and line.strip():
                yield Documented(place, _plain(line))
        elif re.match(rf"    {PROGRAM}", line):
            yield Documented(place, _plain(line))
        else:
            yield from (Documented(place, _plain(span)) for span in SPAN.findall(line))


def _plain(line: str) -> str:
    return re.sub(r"\s+#( .*)?$", "", re.sub(r"^machine [AB]\$ ", "", line.strip()))
