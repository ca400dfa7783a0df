"""The gallery: runs the demo in a separate folder, and shows its pages unmodified."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.sync_api import sync_playwright

QUESTION = "How does click decide which shell to complete for?"
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
        "lensbench run",
    ),
    Example(
        "Both answers of a pair",
        "Criterion by criterion, with the piece of the answer that decided.",
        "bench/demo/answers/anyio-chg-01.html",
        "lensbench run",
    ),
    Example(
        "The judge sheet",
        "On it a person judges answers without knowing the condition.",
        "bench/demo/judge_sheet.html",
        "lensbench judge bench/demo",
    ),
    Example(
        "The review page",
        "Tasks that were written about a repository, with the lines that prove them.",
        "scenarios/click.review.html",
        "lensbench generate --repo click --count 4 --output scenarios/click.yaml",
    ),
    Example(
        "One question",
        "Asked with and without the server, side by side.",
        "bench/evals/*/answers/eval.html",
        f'lensbench ask "{QUESTION}" --repo click',
    ),
)


def add_gallery(source: Path, project: Path, root: Path) -> None:
    """Creates the project, and writes the gallery to the staged sources."""
    make_project(project, root)
    shown = source / "extra" / "docs" / "gallery"
    pages = {example: next(project.glob(example.path)) for example in EXAMPLES}
    for page in pages.values():
        _copy(page, project, shown)
    for folder in [project / "bench" / "demo", *project.glob("bench/evals/*")]:
        linked = [folder / "report.html", folder / "results.md"]
        for page in [*linked, *(folder / "answers").rglob("*.html")]:
            _copy(page, project, shown)
    pictures = take_pictures(list(pages.values()), source / "docs" / "gallery")
    lines = [
        "# Gallery",
        "",
        "The demo's own pages, as the commands below them leave them. No language model answered.",
        "",
    ]
    lines += [
        '<p><a href="gallery/bench/demo/results.md">results.md</a> has the report as text.</p>',
        "",
    ]
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
    if (root / "bench" / "demo" / "report.html").exists() and not (
        folder / "bench" / "demo"
    ).exists():
        shutil.copytree(root / "bench" / "demo", folder / "bench" / "demo", symlinks=True)
    _start(folder, "run", "--cores", "2")
    _start(folder, "judge", "bench/demo")
    if not (folder / "click").exists():
        shutil.copytree(next(fetched.glob("click-*/tree")), folder / "click")
    if not (folder / "scenarios" / "click.yaml").exists():
        _start(
            folder,
            "generate",
            "--repo",
            "click",
            "--count",
            "4",
            "--output",
            "scenarios/click.yaml",
        )
    _start(folder, "ask", QUESTION, "--repo", "click")


def _start(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-P", "-m", "lensbench", *arguments]
    said = subprocess.run(
        command,
        cwd=folder,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    if said.returncode:
        sys.exit(
            f"{said.stdout}\nthe gallery needs this to work, in {folder}: lensbench {shlex.join(arguments)}"
        )


def _copy(page: Path, project: Path, to: Path) -> None:
    target = to / page.relative_to(project)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(page, target)


def take_pictures(
    pages: Sequence[Path], folder: Path, scheme: Literal["light", "dark"] = "light"
) -> dict[Path, str]:
    """A screenshot of the top of each page, by page; empty without Chromium."""
    program = shutil.which("chromium")
    if program is None:
        print("no chromium: the gallery has no pictures")
        return {}
    folder.mkdir()
    names = {page: f"{number}-{page.stem}.png" for number, page in enumerate(pages, 1)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport=SIZE, color_scheme=scheme)
        for page, name in names.items():
            tab.goto(page.resolve().as_uri())
            for name_of_judge in tab.locator("dialog[open] input").all():
                name_of_judge.fill("A. Reader")
                name_of_judge.press("Enter")
            tab.screenshot(path=folder / name)
        browser.close()
    return names
