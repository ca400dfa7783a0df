"""Builds the documentation: README.md and its neighbours, docs/, and the gallery.

Sphinx with MyST and Furo: maintained, with permissive licences, and pages that need no network. Broken links and
anchors fail the build.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from gallery import add_gallery
from links import problems
from navigation import home_page, section_pages
from tabs import in_both_colours, tabbed
from terms import link_pages

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".cache" / "docs"
PAGES = (
    "README.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "examples/README.md",
)
GALLERY = "\n## Gallery\n\n- [The demo's pages](gallery.md)\n"
REDIRECT = '<!doctype html><title>lensbench</title><meta http-equiv="refresh" content="0; url=docs/index.html">'


def stage(source: Path) -> None:
    """Copies the sources of all pages to `source`, with the layout of the checkout, so that relative links work."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source / "docs")
    for name in PAGES:
        if (ROOT / name).exists():
            (source / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    link_pages(source / "docs")
    for page in (source / "docs").glob("*.md"):
        page.write_text(in_both_colours(tabbed(page.read_text(encoding="utf-8"))), encoding="utf-8")
    index = source / "docs" / "index.md"
    listed = index.read_text(encoding="utf-8") + GALLERY
    for name, text in section_pages(listed).items():
        index.with_name(f"{name}.md").write_text(text, encoding="utf-8")
    readme = in_both_colours((ROOT / "README.md").read_text(encoding="utf-8"))
    (source / "README.md").write_text(readme, encoding="utf-8")
    index.write_text(home_page(listed, readme), encoding="utf-8")
    extra = source / "extra"
    extra.mkdir()
    (extra / "index.html").write_text(f"{REDIRECT}\n", encoding="utf-8")
    add_gallery(source, WORK / "project", ROOT)


def build(source: Path, site: Path) -> int:
    """Runs Sphinx with warnings as errors. Returns its exit code."""
    shutil.rmtree(site, ignore_errors=True)
    command = [
        ROOT / ".venv-docs" / "bin" / "sphinx-build",
        "-c",
        Path(__file__).parent,
        "-D",
        f"html_extra_path={source / 'extra'}",
    ]
    command += ["-d", WORK / "doctrees", "-E", "-q", "-n", "-W", "--keep-going", source, site]
    return subprocess.run(command, check=False).returncode


def main() -> None:
    """Writes the site. Exit code 1 for errors in pages or links."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "site",
        help="the folder of the site, which is replaced",
    )
    options = parser.parse_args()
    stage(WORK / "source")
    if code := build(WORK / "source", options.output):
        sys.exit(code)
    if found := problems(options.output):
        sys.exit("\n".join(found))
    print(f"{options.output}/index.html")


if __name__ == "__main__":
    main()
