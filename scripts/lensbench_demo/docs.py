"""Prints a page of the documentation that came with this version: `lensbench docs gate`; without a name, the list."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.system.places import ROOT
from lensbench.core.system.program import Parser, run_program


def pages() -> dict[str, Path]:
    """The pages by their names, such as `gate` or `reference/verbs`."""
    folder = ROOT / "docs"
    files = {
        file.relative_to(folder).with_suffix("").as_posix(): file
        for file in sorted(folder.rglob("*.md"))
    }
    return files | {"examples": ROOT / "examples" / "README.md"}


def page(name: str) -> str:
    """The text of a page, by its name or as messages write it (docs/gate.md). Raises UserError for an unknown one."""
    files = pages()
    short = name.removeprefix("docs/").removesuffix(".md")
    if short not in files:
        raise UserError(
            f"there is no page {name!r}{did_you_mean(short, files) or '; `lensbench docs` lists them'}"
        )
    return files[short].read_text(encoding="utf-8")


def overview() -> str:
    """The name and title of each page, and where the examples and the schemas for editors are."""
    titles = {
        name: file.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
        for name, file in pages().items()
    }
    width = max(map(len, titles))
    lines = [f"{name:{width}}  {title}" for name, title in titles.items()]
    return "\n".join(
        [
            *lines,
            "",
            f"To get the examples: cp -r {ROOT / 'examples'} .",
            f"Schemas: {ROOT / 'schemas'}",
        ]
    )


def main() -> None:
    """Prints the page, or the list of pages."""
    parser = Parser(prog="lensbench docs", description="Print a page of the documentation.")
    parser.add_argument(
        "page", nargs="?", help="its name, such as gate or docs/gate.md (default: a list of all)"
    )
    name = parser.parse_args().page
    print(page(name) if name else overview())


if __name__ == "__main__":
    run_program(main)
