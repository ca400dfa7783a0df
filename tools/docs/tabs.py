"""The site's form of what Markdown shows in a row (a bold name, then a block: tabs), or in two colours (pictures)."""

from __future__ import annotations

import re

LABELLED = re.compile(r"^\*\*([^*\n]+)\*\*\n\n(```.+?^```\n)\n?", re.MULTILINE | re.DOTALL)
IN_A_ROW = re.compile(rf"(?:{LABELLED.pattern}){{2,}}", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r'<picture>.+?<img src="(.+?)\.png" alt="(.+?)"></picture>')


def in_both_colours(page: str) -> str:
    """The page with both pictures in place of a `picture` element; the site's style shows one."""
    return PICTURE.sub(r"![\2](\1.png){.only-light} ![\2](\1-dark.png){.only-dark}", page)


def tabbed(page: str) -> str:
    """The page with a tab for each of several labelled blocks in a row."""
    return IN_A_ROW.sub(lambda row: LABELLED.sub(_tab, row[0]), page)


def _tab(block: re.Match[str]) -> str:
    return f"````{{tab}} {block[1]}\n{block[2]}````\n\n"
