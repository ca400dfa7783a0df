"""Typical mistakes, each really made, and the one line that answers it: the table of docs/reference/messages.md.

python tests/workflow/test_mistakes.py        prints the table
"""

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from lensbench.core.errors import UserError, printable_lines
from lensbench.core.system.places import ROOT
from lensbench.plan.reading import load_config, read_file
from lensbench.plan.task_files import read_scenarios
from programs import run_module

PAGE = ROOT / "docs" / "reference" / "messages.md"
SHOWN = "/projects/shop"
"""The folder in the messages, wherever they were made."""

SECRET = "sk-live-0123456789abcdef"
Change = tuple[str, str | None, str]
DATA = yaml.safe_load((Path(__file__).parent / "mistakes.yaml").read_text(encoding="utf-8"))
FILES: dict[str, str] = DATA["files"]
IN_FILES: dict[str, Change] = {
    mistake: tuple(change) for mistake, change in DATA["in_files"].items()
}
ON_THE_COMMAND_LINE: dict[str, list[str]] = DATA["on_the_command_line"]


def answer(change: Change, folder: Path) -> str:
    """What a start says when this is changed in a project that is in order; "" when it says nothing."""
    (folder / "repo").mkdir()
    for name, text in FILES.items():
        new = text.replace(change[1] or text, change[2]) if name == change[0] else text
        assert new != text or name != change[0]
        if new or name == change[0] == "config.yaml":
            (folder / name).write_text(new)
    here = Path.cwd()
    os.chdir(folder)
    try:
        read_file("config.yaml")
        config = load_config(
            yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8")), ["config.yaml"]
        )
        read_scenarios(config.scenario_files, config.repository, config.imported)
    except UserError as error:
        return shown(f"error: {error}", folder)
    finally:
        os.chdir(here)
    return ""


def said(arguments: list[str], folder: Path) -> str:
    """What the command says in an empty folder."""
    ended = run_module("lensbench", *arguments, cwd=folder)
    assert ended.returncode == 2
    return shown(ended.stderr.strip(), folder)


def shown(text: str, folder: Path) -> str:
    return printable_lines(text).replace(str(folder), SHOWN)


def row(mistake: str, message: str) -> str:
    lines = (
        f"`` {line} ``" if "`" in line else f"`{line}`"
        for line in message.replace("|", "&#124;").splitlines()
    )
    return f"| {mistake} | {'<br>'.join(lines)} |"


def rows(make: Callable[[], Path]) -> list[str]:
    """All rows of the table; `make` gives a new empty folder."""
    found = [row(mistake, answer(change, make())) for mistake, change in IN_FILES.items()]
    return [
        *found,
        *(
            row(mistake, said(arguments, make()))
            for mistake, arguments in ON_THE_COMMAND_LINE.items()
        ),
    ]


def documented(mistake: str) -> str:
    return "\n".join(
        line for line in PAGE.read_text().splitlines() if line.startswith(f"| {mistake} |")
    )


@pytest.mark.parametrize(
    "change",
    [
        ("config.yaml", "run_id: shop", "run_id: other"),
        ("config.yaml", "run_id: shop", "\ufeffrun_id: shop"),
        (
            "mcp.json",
            None,
            '\ufeff// mine\n{"mcpServers": {"lens": {"command": "lens", "args": [/* none */],},},}',
        ),
    ],
)
def test_a_project_without_a_mistake_is_answered_with_nothing(
    change: Change, tmp_path: Path
) -> None:
    assert answer(change, tmp_path) == ""


@pytest.mark.parametrize("mistake", IN_FILES)
def test_a_mistake_in_a_file_is_answered_as_documented(mistake: str, tmp_path: Path) -> None:
    message = answer(IN_FILES[mistake], tmp_path)
    assert re.match(r"error: (config|tasks)\.yaml(:\d+)?: ", message)
    assert "Traceback" not in message
    assert SECRET not in message
    assert documented(mistake) == row(mistake, message)


@pytest.mark.parametrize("mistake", ON_THE_COMMAND_LINE)
def test_a_mistake_on_the_command_line_is_answered_as_documented(
    mistake: str, tmp_path: Path
) -> None:
    message = said(ON_THE_COMMAND_LINE[mistake], tmp_path)
    assert message.startswith("error: ")
    assert message.count("\n") == 0
    assert documented(mistake) == row(mistake, message)


if __name__ == "__main__":
    print(*rows(lambda: Path(tempfile.mkdtemp())), sep="\n")
