"""Every output block of the tutorials is what their commands print, the times of a machine aside."""

import csv
import json
import os
import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

from documented import documented
from small_benchmark import CHECKOUT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
STORIES = {
    "mine": ("tutorial",),
    "servers": ("tutorial-servers", "tutorial-archive"),
    "task": ("first-task",),
}
"""The pages of a story are read one after the other, beside the other story."""

RUN = (
    r"pip download|tar|mv|mkdir|echo|grep|"
    r"lensbench (init --yes|run --cores 2|run --configfile|size|archive|verify|prove|try|check)"
)
"""The commands that are run here, as they are printed; the others need a model, or have tests of their own."""

TOOK = r"it took (\d+% (longer|less time)|[\d.]+ times as long \([\d.]+ to [\d.]+\))"
"""It differs by machine."""


def found(pattern: str, page: str) -> list[str]:
    """What a pattern with one group finds in a page."""
    text = (CHECKOUT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(pattern, text, re.MULTILINE | re.DOTALL)


def outputs(page: str) -> list[str]:
    """The output blocks of a page."""
    return found(r"^```text\n(.*?)^```", page)


def plain(line: str) -> str:
    """A line without what differs by machine."""
    line = re.sub(TOOK, "it took so long", line.rstrip())
    return re.sub(r"\d[\d.]*", "N", line) if line.startswith("duration:") else line


def missing(block: str, said: str) -> list[str]:
    """The lines of a block, from the first one that the output does not have after the one before; none if all."""
    printed = iter([plain(line) for line in said.splitlines()])
    lines = [plain(line) for line in block.splitlines() if line != "..."]
    return next((lines[place:] for place, line in enumerate(lines) if line not in printed), [])


@cache
def told(base: Path, story: str) -> dict[str, str]:
    """What the commands of each page print in a folder of the story, with the results that they write."""
    folder = base / story
    folder.mkdir()
    for name, module in (("lensbench", "lensbench"), ("pip", "pip")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m {module} "$@"\n')
        (folder / name).chmod(0o755)
    for needed in (".cache", "examples", "scenarios", ".claude"):
        (CHECKOUT / ".cache").mkdir(exist_ok=True)
        (folder / needed).symlink_to(CHECKOUT / needed)
    return {page: commands(page, folder) for page in STORIES[story]}


def commands(page: str, folder: Path) -> str:
    place = folder / "mine" if page == "tutorial" else folder
    place.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": str(CHECKOUT / "scripts"),
    }
    for content in found(r"`mine.yaml`:\n\n```yaml\n(.*?)^```", page):
        (place / "mine.yaml").write_text(content)
    said = []
    for command in (shown for where, shown in documented() if where.startswith(f"docs/{page}.md:")):
        if re.match(RUN, command) and "<" not in command:
            ended = subprocess.run(
                ["sh", "-c", command],
                cwd=folder / "bench" if "verify" in command else place,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=1200,
                check=False,
            )
            assert ended.returncode == 0, f"{command}\n{ended.stdout}"
            said.append(ended.stdout)
    said += [file.read_text(encoding="utf-8") for file in place.glob("bench/*/results.md")]
    if page == "tutorial-archive":
        said.append(verified_with_a_raised_score(folder / "bench" / "two-servers.zip", environment))
    return "\n".join(said)


def verified_with_a_raised_score(archive: Path, environment: dict[str, str]) -> str:
    changed = archive.with_name("raised.zip")
    with zipfile.ZipFile(archive) as packed, zipfile.ZipFile(changed, "w") as copy:
        for entry in packed.infolist():
            content = packed.read(entry)
            copy.writestr(
                entry,
                content.replace(b"0.5", b"0.6")
                if entry.filename.endswith("/scores.csv")
                else content,
            )
    ended = subprocess.run(
        ["lensbench", "verify", changed], env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 1
    return ended.stdout + ended.stderr


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tutorials")


@pytest.mark.parametrize(
    ("story", "page"),
    [
        pytest.param(story, page, marks=pytest.mark.xdist_group(f"tutorial_{story}"))
        for story, pages in STORIES.items()
        for page in pages
    ],
)
def test_every_output_block_is_what_the_commands_print(story: str, page: str, base: Path) -> None:
    said = told(base, story)[page]
    assert outputs(page)
    for block in outputs(page):
        assert not missing(block, said), f"not printed by the commands of docs/{page}.md:\n{said}"


@pytest.mark.xdist_group("tutorial_servers")
def test_the_embedded_server_gains_more_than_the_example_s(base: Path) -> None:
    told(base, "servers")
    made = base / "servers" / "bench" / "two-servers"
    with (made / "pairs.csv").open() as file:
        pairs = list(csv.DictReader(file))
    assert all(pair["called"] == "yes" for pair in pairs)
    gained = {
        row["treatment"]: float(row["delta"].lstrip("'"))
        for row in pairs
        if row["task"] == "httpcore-chg-01"
    }
    assert gained["lens"] > gained["search"]
    assert len(json.loads((made / "results.json").read_text())["estimates"]) == 3


def test_a_planted_mistake_in_an_output_is_found() -> None:
    said = "a: 1\nb\nit took 12% longer\nc\n"
    assert missing("a: 1\n...\nit took 9.9 times as long (8 to 11)\nc\n", said) == []
    assert missing("a: 2\n", said) == ["a: 2"]
    assert missing("c\na: 1\n", said) == ["a: 1"]
