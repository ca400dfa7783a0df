"""The navigation, from the lists of links in docs/index.md, with a section for each heading."""

from __future__ import annotations

import re

SECTION = re.compile(r"^## (.+)\n((?:\n|- .*\n?)+)", re.MULTILINE)
LINK = re.compile(r"\[(.+?)\]\((.+?)\.md\)")


def with_toctrees(index: str) -> str:
    """The page with a hidden toctree for each of its sections."""
    trees = [_toctree(title, LINK.findall(body)) for title, body in SECTION.findall(index)]
    return "\n".join([index, *trees])


def _toctree(title: str, links: list[tuple[str, str]]) -> str:
    names = [f"{text} <{re.sub(r'^../', '/', page)}>" for text, page in links]
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```", ""])
