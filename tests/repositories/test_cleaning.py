import os
from pathlib import Path

import pytest
import yaml

from lensbench.repositories.sources.cleaning import clean, indexes
from stock import write

ROWS = yaml.safe_load(Path(__file__).with_name("instructions.yaml").read_text(encoding="utf-8"))


CRITERIA = "#### a-exp-01\n- **Prompt**: x\n- **Judge Criteria**:\n  1. y\n"


def plant(tree: Path, *paths: str, text: str = "planted") -> Path:
    return write(tree, dict.fromkeys(paths, text))


def left(tree: Path) -> set[str]:
    return {
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }


AGENT_PATHS = """
    CLAUDE.md claude.md docs/CLAUDE.md CLAUDE.local.md AGENTS.md AGENT.md GEMINI.md .claude/settings.json
    sub/.claude/skills/x/SKILL.md .mcp.json .vscode/mcp.json .cursor/mcp.json .cursor/rules/a.mdc .cursorrules
    .windsurfrules .windsurf/rules/a.md .clinerules .clinerules/a.md .codex/config.toml .gemini/settings.json
    .opencode/agent/a.md opencode.json opencode.jsonc .github/copilot-instructions.md .aider.conf.yml
    .aider.chat.history.md .continue/config.yaml .junie/guidelines.md .serena/memories/a.md .codegraph/index.db
"""
LOOK_ALIKES = (
    "claudemd.md",
    "docs/about-agents.md",
    "src/gemini.py",
    "opencode.json.j2",
    ".raider",
)


@pytest.mark.parametrize("path", AGENT_PATHS.split())
def test_files_that_instruct_or_configure_agents_are_removed(tmp_path: Path, path: str) -> None:
    plant(
        tmp_path,
        path,
        "src/core.py",
        ".vscode/settings.json",
        ".github/workflows/ci.yml",
        "docs/mcp.json",
    )
    removed = clean(tmp_path)
    assert len(removed) == 1
    assert path.startswith(removed[0])
    assert left(tmp_path) == {
        "src/core.py",
        ".vscode/settings.json",
        ".github/workflows/ci.yml",
        "docs/mcp.json",
    }


def test_the_instructions_that_a_stock_agent_keeps_do_not_name_the_servers(tmp_path: Path) -> None:
    plant(
        tmp_path,
        "CLAUDE.md",
        "sub/AGENTS.md",
        ".claude/settings.json",
        ".mcp.json",
        ".serena/x",
        text="Glens is fine.",
    )
    plant(tmp_path, "GEMINI.md", text="Use Lens_grep.")
    assert clean(tmp_path, ["lens"]) == (".claude/", ".mcp.json", ".serena/", "GEMINI.md")


@pytest.mark.parametrize(("files", "links", "removed"), ROWS)
def test_the_instructions_that_a_stock_agent_keeps_import_and_link_to_none_that_name_the_servers(
    tmp_path: Path, files: dict[str, str], links: dict[str, str], removed: list[str]
) -> None:
    write(tmp_path, files)
    for path, target in links.items():
        (tmp_path / path).symlink_to(target)
    assert ([*clean(tmp_path, ["lens"])], clean(tmp_path, [])) == (removed, ())


def test_an_index_is_found_in_any_folder_and_named_once(tmp_path: Path) -> None:
    plant(
        tmp_path,
        ".lens/a/.lens/b",
        "apps/shop/.lens-cache/x",
        "apps/.seek.db",
        ".github/x",
        ".lensing",
        "lens/x",
    )
    assert indexes(tmp_path, ["github", "lens", "seek"]) == [
        ".lens",
        "apps/.seek.db",
        "apps/shop/.lens-cache",
    ]
    assert indexes(tmp_path, []) == []


@pytest.mark.parametrize("path", LOOK_ALIKES)
def test_names_that_only_look_alike_stay(tmp_path: Path, path: str) -> None:
    assert clean(plant(tmp_path, path)) == ()
    assert left(tmp_path) == {path}


def test_the_removed_paths_are_sorted_and_name_the_outermost_folder(tmp_path: Path) -> None:
    plant(tmp_path, "z/CLAUDE.md", ".claude/CLAUDE.md", ".claude/sub/.mcp.json", "AGENTS.md")
    assert clean(tmp_path) == (".claude/", "AGENTS.md", "z/CLAUDE.md")


def test_links_that_leave_the_tree_are_removed_and_their_targets_stay(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    tree = plant(tmp_path / "tree", "a.py", "sub/b.py")
    for name, target in {
        "absolute": "/etc/passwd",
        "to-itself-absolutely": str(tree / "a.py"),
        "up": "../secret",
        "sub/up": "../../secret",
        "around": "../tree/a.py",
        "chain": "up",
        "folder": "..",
        "inside": "sub/b.py",
        "sub/inside": "../a.py",
        "broken": "nothing",
        "loop": "loop",
    }.items():
        (tree / name).symlink_to(target)
    assert clean(tree) == (
        "absolute",
        "around",
        "chain",
        "folder",
        "sub/up",
        "to-itself-absolutely",
        "up",
    )
    assert left(tree) == {"a.py", "sub/b.py", "inside", "sub/inside", "broken", "loop"}
    assert (tmp_path / "secret").read_text() == "s"


def test_repositories_inside_the_repository_lose_their_git_folder(tmp_path: Path) -> None:
    plant(
        tmp_path,
        ".git/config",
        "vendor/lib/.git/hooks/post-checkout",
        "vendor/lib/x.c",
        "sub/.git",
        ".gitmodules",
    )
    assert clean(tmp_path) == ("sub/.git", "vendor/lib/.git/")
    assert left(tmp_path) == {".git/config", "vendor/lib/x.c", ".gitmodules"}


@pytest.mark.parametrize(
    ("answer", "removed"),
    [
        ("bench/2026-02-15-2330/runs/a-exp-01-with.md", "bench/"),
        ("tools/bench/r1/runs/a-with.md", "tools/bench/"),
        ("evals/r1/runs/a-with.md", "evals/r1/"),
        ("r1/runs/a-with.md", "r1/"),
        ("runs/a-with.md", "runs/"),
    ],
)
def test_folders_with_answers_of_a_benchmark_are_removed(
    tmp_path: Path, answer: str, removed: str
) -> None:
    plant(tmp_path, answer, "src/core.py", "evals/other.py", "tools/x.py")
    assert clean(tmp_path) == (removed,)
    assert {"src/core.py", "evals/other.py", "tools/x.py"} == left(tmp_path)


@pytest.mark.parametrize(
    ("scenarios", "removed"),
    [
        ("bench/r1/scenarios.md", "bench/"),
        ("evals/r1/scenarios-rlm.md", "evals/r1/"),
        ("scenarios.md", "scenarios.md"),
    ],
)
def test_scenario_files_with_criteria_go_with_their_folder(
    tmp_path: Path, scenarios: str, removed: str
) -> None:
    plant(tmp_path, "src/core.py")
    plant(tmp_path, scenarios, text=CRITERIA)
    assert clean(tmp_path) == (removed,)


def test_benchmarks_without_answers_stay(tmp_path: Path) -> None:
    paths = ("bench/speed.py", "bench/runs/timing.csv", "docs/scenarios.md", "benchmarks/README.md")
    assert clean(plant(tmp_path, *paths)) == ()
    assert left(tmp_path) == set(paths)


def test_names_that_are_no_text_are_cleaned_like_others(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff\n"
    os.mkdir(odd)
    os.symlink(b"/etc", odd + b"/out\xfe")
    assert [os.fsencode(path) for path in clean(tmp_path)] == [b"\xff\n/out\xfe"]
