"""Every fenced YAML and JSON of the documents is read by the model that reads it in use, and every link leads somewhere."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from schemas import schemas
from snakemake.cli import get_argument_parser

from documented import read_keys
from lensbench.agents.adapters.command_events import read
from lensbench.core.errors import UserError
from lensbench.core.system.places import ROOT
from lensbench.judging.judges.human import HumanFile
from lensbench.plan.own_files import mcp_problem
from lensbench.plan.task_files import read_scenarios

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"]
FENCED = re.compile(r"^```(yaml|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PLACEHOLDERS = {
    "<64 hex digits of the sdist>": "a" * 64,
    "sha512-<as `npm view ajv@8.17.1 dist.integrity` shows it>": f"sha512-{'A' * 86}==",
    "<id of the sheet>": "a" * 64,
}


class Block(NamedTuple):
    place: str
    kind: str
    text: str


def blocks(file: Path) -> Iterator[Block]:
    text = file.read_text(encoding="utf-8")
    for found in FENCED.finditer(text):
        shown = found[2]
        for placeholder, value in PLACEHOLDERS.items():
            shown = shown.replace(placeholder, value)
        line = text.count("\n", 0, found.start()) + 1
        yield Block(f"{file.name}:{line}", found[1], shown)


BLOCKS = [block for file in PAGES for block in blocks(file)]


def read_block(block: Block, folder: Path) -> None:
    """Reads a block as it is read in use. Raises what the reader raises."""
    if block.kind == "json" and '"verdicts"' in block.text:
        HumanFile.model_validate_json(block.text)
    elif '"mcpServers"' in block.text:
        (folder / "mcp.json").write_text(block.text)
        assert mcp_problem(folder / "mcp.json") == ""
    elif block.kind == "json":
        outcome = read(block.text.splitlines())
        assert outcome.finished
        assert outcome.answer
        kinds = [json.loads(line)["type"] for line in block.text.splitlines()]
        assert set(kinds) == {"start", "tool_call", "tool_result", "answer", "end"}
    elif "\ntasks:" in f"\n{block.text}":
        for hidden in re.findall(r"\{file: ([^\s}]+)", block.text):
            (folder / hidden).parent.mkdir(parents=True, exist_ok=True)
            (folder / hidden).write_text("x")
        text = re.sub(r"(git|path): \.\./\S+(?=[,}])", rf"\1: {ROOT}", block.text)
        (folder / "tasks.yaml").write_text(text)
        read_scenarios([str(folder / "tasks.yaml")])
    else:
        read_keys(yaml.safe_load(block.text))


@pytest.mark.parametrize("block", BLOCKS, ids=[block.place for block in BLOCKS])
def test_a_block_is_what_its_reader_accepts(block: Block, tmp_path: Path) -> None:
    read_block(block, tmp_path)


@pytest.mark.parametrize(
    "planted",
    [
        Block("", "yaml", "agent:\n  kind: claude-code\n  verison: 2.1.329\n"),
        Block("", "yaml", "agent:\n  kind: claude-code\n           version: 2.1.329\n"),
        Block("", "yaml", "tasks:\n  - {id: a, prompt: b}\n"),
        Block("", "json", '{"type": "start"}\n{"typ": "end"}\n'),
        Block("", "json", '{"schema": 1, "judge": "a", "verdicts": []}'),
    ],
)
def test_a_planted_mistake_in_a_block_is_found(planted: Block, tmp_path: Path) -> None:
    with pytest.raises((UserError, ValueError, KeyError, AssertionError, yaml.YAMLError)):
        read_block(planted, tmp_path)


@cache
def named_and_known() -> tuple[re.Pattern[str], set[str]]:
    """What names an option or a config key in a sentence, such as `--pilot` and `agent.served`, and those there are."""
    config = schemas()["config.schema.json"]
    parts = {
        key: config["$defs"].get(part.get("$ref", "").rpartition("/")[2])
        for key, part in config["properties"].items()
    }
    known = {f"{key}.{name}" for key, part in parts.items() if part for name in part["properties"]}
    known |= {
        option for action in get_argument_parser()._actions for option in action.option_strings
    }
    known |= set(
        re.findall(
            r"--[\w-]+", (ROOT / "docs" / "reference" / "verbs.md").read_text(encoding="utf-8")
        )
    )
    with_keys = "|".join(key for key in parts if parts[key])
    return re.compile(rf"(?<!`)`(--[\w-]+|(?:{with_keys})\.(?!json)[a-z_]+)(?=[`:= ])"), known


def unknown_names(text: str) -> list[str]:
    named, known = named_and_known()
    return [name for name in named.findall(text) if name not in known]


@pytest.mark.parametrize(
    "file", [file for file in PAGES if file.name != "CHANGELOG.md"], ids=lambda file: file.stem
)
def test_options_and_keys_in_sentences_are_there(file: Path) -> None:
    assert not unknown_names(file.read_text(encoding="utf-8"))


def test_a_planted_option_or_key_in_a_sentence_is_found() -> None:
    text = "`--pilot bench/x`, `--pilott`, `agent.served: glm-5`, `agent.serverd`, `gate.looks`, `demo.yaml`"
    assert unknown_names(text) == ["--pilott", "agent.serverd"]


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    heads = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"\]\(.*?\)", "", head).lower()).strip().replace(" ", "-")
        for head in heads
    }


def dead_links(file: Path, text: str) -> list[str]:
    """The relative links of a page that lead to no file or no heading."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        path, _, anchor = link.partition("#")
        target = file.parent / path if path else file
        if "://" in link:
            continue
        if not target.exists() or (
            anchor and anchor not in anchors(target.read_text(encoding="utf-8"))
        ):
            dead.append(link)
    return dead


@pytest.mark.parametrize("file", PAGES, ids=[str(file.relative_to(ROOT)) for file in PAGES])
def test_every_link_leads_somewhere_in_the_repository(file: Path) -> None:
    assert not dead_links(file, file.read_text(encoding="utf-8"))


def test_a_planted_dead_link_is_found() -> None:
    text = (
        "[a](docs/gate.md) [b](docs/gat.md) [c](docs/gate.md#the-rules) [d](docs/gate.md#no-rules)"
    )
    assert dead_links(ROOT / "README.md", text) == ["docs/gat.md", "docs/gate.md#no-rules"]


def test_pages_and_sections_that_code_names_are_there() -> None:
    """In messages, comments, templates and pages: docs/<page>.md, `lensbench docs <page>`, and section n of the protocol."""
    protocol = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    folders = (
        "scripts",
        "rules",
        "templates",
        "profiles",
        "scenarios",
        "benchmarks",
        "tools",
        ".claude",
    )
    files = [
        file
        for name in folders
        for file in (ROOT / name).rglob("*")
        if file.suffix in (".py", ".smk", ".j2", ".yaml", ".md", ".sh")
    ]
    named = {
        (file.name, page)
        for file in [*files, *PAGES, ROOT / "Makefile", ROOT / "config.yaml", ROOT / "Snakefile"]
        if "node_modules" not in file.parts
        for page in re.findall(
            r"\bdocs/[\w/-]+\.md|\blensbench docs [\w/-]+|protocol, section \d+",
            file.read_text(encoding="utf-8"),
        )
    }
    assert len(named) > 40
    sections = {
        f"protocol, section {number}"
        for number in re.findall(r"^## (\d+)\.", protocol, re.MULTILINE)
    }
    pages = {
        f"lensbench docs {md.relative_to(ROOT / 'docs').with_suffix('')}"
        for md in (ROOT / "docs").rglob("*.md")
    }
    known = sections | pages | {"lensbench docs examples"}
    assert not {
        (name, page) for name, page in named if page not in known and not (ROOT / page).is_file()
    }
