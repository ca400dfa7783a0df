"""The commands in README.md and docs/, with their places, and the reader of the config keys that they show."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.system.places import ROOT
from lensbench.plan.reading import load_config

PROGRAM = (
    r"(?:(?:snakemake|lensbench|make|pip|openssl|cd|unzip|apt-get|npm|kill|ln|mkdir|docker|machine [AB]\$)(?= )"
    r"|python -m lensbench\.|python benchmarks/|tools/\S+\.sh|\.venv\S*/bin/)"
)
SPAN = re.compile(rf"(?<!`)`({PROGRAM}[^`\n]+)`")
FENCE = re.compile(r"^\s*```(\S*)")
SHELL = ("", "sh", "bash")
BASE = {
    "run_id": "x",
    "scenarios": "tasks.yaml",
    "conditions": {
        "without": {},
        **{name: {"mcp": f"{name}.json"} for name in ("v1", "v2", "with", "lens", "search")},
    },
    "agent": {"kind": "claude-code"},
}
"""What some keys of a config are added to."""
ELSEWHERE = re.compile(
    r"there is no (file )?[/\w]|is not there|is not used|cannot be read: No such|has none"
)


def read_keys(config: dict[str, Any]) -> None:
    """Reads some keys as a config is read. Raises UserError, but not for files and servers, which are elsewhere."""
    try:
        load_config({**BASE, **config})
    except UserError as error:
        if found := [line for line in str(error).splitlines() if not ELSEWHERE.search(line)]:
            raise UserError("\n".join(found)) from None


class Documented(NamedTuple):
    """A command without its prompt and its comment."""

    place: str
    command: str


def documented() -> Iterator[Documented]:
    """Lines of code blocks without a language or for a shell, indented lines and code spans that start a command."""
    for file in sorted(
        [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "docs" / "measured" / "index.md"]
    ):
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
