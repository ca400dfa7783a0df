"""Checks the built pages: every link has an existing page and anchor, and nothing is loaded from other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    ("img", "src"),
    ("script", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("source", "srcset"),
}
"""Elements and attributes that a browser loads without a click."""
NOT_LOADED = {"canonical", "index", "search", "next", "prev", "author"}
"""Values of rel for which <link> causes no request."""
REQUEST_IN_CSS = re.compile(r"(?:url\(|@import\s+)['\"]?(?:https?:)?//")


class _Page(HTMLParser):
    """The links, anchors and loaded files of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for name, value in given.items():
            if (tag, name) in LOADED and given.get("rel") not in NOT_LOADED:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)


def problems(site: Path) -> list[str]:
    """One line for each broken link and each file from another host, by page."""
    pages = {
        file.resolve(): _Page(file.read_text(encoding="utf-8"))
        for file in sorted(site.rglob("*.html"))
    }
    found = [
        f"{file.relative_to(site.resolve())}: {text}"
        for file in pages
        for text in _of_page(file, pages)
    ]
    for sheet in sorted(site.rglob("*.css")):
        if REQUEST_IN_CSS.search(sheet.read_text(encoding="utf-8")):
            found.append(f"{sheet.relative_to(site)}: loads a file from another host")
    return found


def _of_page(file: Path, pages: dict[Path, _Page]) -> Iterator[str]:
    page = pages[file]
    if REQUEST_IN_CSS.search(file.read_text(encoding="utf-8")):
        yield "a style loads a file from another host"
    for link in page.loaded:
        if urlsplit(link).scheme != "data" and (
            urlsplit(link).netloc or not _target(file, link).is_file()
        ):
            yield f"loads {link}, which is not in the site"
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = _target(file, link)
        if not target.is_file():
            yield f"links to {link}, which does not exist"
        elif (
            parts.fragment
            and target in pages
            and unquote(parts.fragment) not in pages[target].anchors
        ):
            yield f"links to {link}, an anchor that does not exist"


def _target(file: Path, link: str) -> Path:
    path = unquote(urlsplit(link).path)
    return (file.parent / path).resolve() if path else file
