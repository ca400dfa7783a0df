"""The gallery: runs the demo in a separate folder, and shows its pages unmodified."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import sync_playwright

QUESTION = "How does click decide which shell to complete for?"
TABLES = ("validity", "reports", "verdicts", "decisions", "escalations", "scores", "pairs")
SIZE = {"width": 1100, "height": 700}


class Example(NamedTuple):
    """A page of the gallery, by its path in the project folder."""

    title: str
    about: str
    path: str
    command: str


EXAMPLES = (
    Example(
        "The report",
        "The verdict, every task, every interval. Each point leads to both answers of a pair.",
        "bench/demo/report.html",
        "snakemake --cores 2",
    ),
    Example(
        "Both answers of a pair",
        "Criterion by criterion, with the piece of the answer that decided.",
        "bench/demo/answers/anyio-chg-01.html",
        "snakemake --cores 2",
    ),
    Example(
        "The judge sheet",
        "On it a person judges answers without knowing the condition.",
        "bench/demo/judge_sheet.html",
        "snakemake --cores 2 judge_sheet",
    ),
    Example(
        "A comparison",
        "The demo, and its tasks with another seed: the offline agent gives the same answers.",
        "bench/comparisons/demo-again/comparison.html",
        "lensbench compare bench/demo bench/again",
    ),
    Example(
        "The review page",
        "Tasks that were written about a repository. A person accepts, edits or drops them.",
        "scenarios/click.review.html",
        "snakemake --cores 2 scenarios --config repo=click tasks=4",
    ),
    Example(
        "One question",
        "Asked with and without the server, side by side.",
        "bench/evals/*/eval.html",
        f'lensbench ask "{QUESTION}" --repo click',
    ),
)


def add_gallery(source: Path, project: Path, root: Path) -> None:
    """Creates the project, and writes the gallery and the reference of tables to the staged sources."""
    make_project(project, root)
    (source / "docs" / "reference" / "tables.md").write_text(tables_page(project / "bench" / "demo"), encoding="utf-8")
    shown = source / "extra" / "docs" / "gallery"
    pages = {example: next(project.glob(example.path)) for example in EXAMPLES}
    for page in pages.values():
        _copy(page, project, shown)
    demo = project / "bench" / "demo"
    for page in [demo / "results.md", *(demo / "answers").rglob("*.html")]:
        _copy(page, project, shown)
    pictures = take_pictures(list(pages.values()), source / "docs" / "gallery")
    lines = [
        "# Gallery",
        "",
        "The demo's own pages, as the commands below them leave them. No language model answered.",
        "",
    ]
    lines += ['<p><a href="gallery/bench/demo/results.md">results.md</a> has the report as text.</p>', ""]
    for example, page in pages.items():
        link = f"gallery/{page.relative_to(project).as_posix()}"
        lines += [f"## {example.title}", "", example.about, "", "```", example.command, "```", ""]
        if page in pictures:
            lines += [f"![{example.title}](gallery/{pictures[page]})", ""]
        lines += [f'<p><a href="{link}">Open the page</a></p>', ""]
    (source / "docs" / "gallery.md").write_text("\n".join(lines), encoding="utf-8")


def make_project(folder: Path, root: Path) -> None:
    """Runs the demo and the other commands of the examples. Finished steps are not repeated.

    A finished demo in the checkout is reused, including its downloads.
    """
    (folder / ".cache").mkdir(parents=True, exist_ok=True)
    fetched = root / ".cache" / "repositories"
    fetched.mkdir(parents=True, exist_ok=True)
    if not (folder / ".cache" / "repositories").exists():
        (folder / ".cache" / "repositories").symlink_to(fetched)
    if (root / "bench" / "demo" / "report.html").exists() and not (folder / "bench" / "demo").exists():
        shutil.copytree(root / "bench" / "demo", folder / "bench" / "demo", symlinks=True)
    _start(folder, "run", "--cores", "2")
    _start(folder, "run", "--cores", "2", "judge_sheet")
    _start(folder, "run", "--cores", "2", "--config", "run_id=again", "seed=2")
    _start(folder, "compare", "bench/demo", "bench/again", "--output", "bench/comparisons/demo-again")
    if not (folder / "click").exists():
        shutil.copytree(next(fetched.glob("click-*/tree")), folder / "click")
    _start(folder, "run", "--cores", "2", "scenarios", "--config", "repo=click", "tasks=4")
    _start(folder, "ask", QUESTION, "--repo", "click")


def _start(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-P", "-m", "lensbench", *arguments]
    said = subprocess.run(
        command, cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    if said.returncode:
        sys.exit(f"{said.stdout}\nthe gallery needs this to work, in {folder}: lensbench {shlex.join(arguments)}")


def _copy(page: Path, project: Path, to: Path) -> None:
    target = to / page.relative_to(project)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(page, target)


def take_pictures(pages: Sequence[Path], folder: Path) -> dict[Path, str]:
    """A screenshot of the top of each page, by page; empty without Chromium."""
    program = shutil.which("chromium")
    if program is None:
        print("no chromium: the gallery has no pictures")
        return {}
    folder.mkdir()
    names = {page: f"{number}-{page.stem}.png" for number, page in enumerate(pages, 1)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        for page, name in names.items():
            tab.goto(page.resolve().as_uri())
            tab.screenshot(path=folder / name)
        browser.close()
    return names


def tables_page(bench: Path) -> str:
    """The columns of every table, each with a value from the demo, and the keys of results.json."""
    lines = [
        "# Tables and results.json",
        "",
        "With values from the demo. Lists are joined with `;`, times are in seconds,",
    ]
    lines += [
        "shares between 0 and 1. What the figures mean: [statistics](../statistics.md), [protocol](../protocol.md)."
    ]
    for name in TABLES:
        with (bench / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            examples = dict.fromkeys(rows.fieldnames or (), "")
            for row in rows:
                examples = {key: examples[key] or row[key] for key in examples}
        lines += ["", f"## {name}.csv", "", "| column | a value |", "|---|---|"]
        lines += [f"| `{key}` | {_code(value)} |" for key, value in examples.items()]
    lines += ["", "## results.json", "", "| key | value |", "|---|---|"]
    lines += [
        f"| `{key}` | {text} |"
        for key, text in _keys(json.loads((bench / "results.json").read_text(encoding="utf-8")), "")
    ]
    return "\n".join(lines) + "\n"


def _code(value: str) -> str:
    shown = value if len(value) <= 60 else f"{value[:57]}..."
    return f"`{shown}`".replace("|", "\\|") if shown else ""


def _keys(value: Any, path: str, depth: int = 3) -> Iterator[tuple[str, str]]:
    """Every key down to a depth, with the type of its value; for a list, those of its first item."""
    if isinstance(value, dict) and value and depth:
        for key, inner in value.items():
            yield from _keys(inner, f"{path}.{key}" if path else key, depth - 1)
    elif isinstance(value, list) and value and isinstance(value[0], dict) and depth:
        yield from _keys(value[0], f"{path}[]", depth)
    else:
        kinds = {dict: "mapping", list: "list", str: "text", bool: "true or false", int: "number", float: "number"}
        yield path, kinds.get(type(value), "null in the demo")
