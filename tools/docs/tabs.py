"""Tabs on the site from what Markdown shows in a row: a bold name, then a block, two times or more."""

from __future__ import annotations

import re

LABELLED = re.compile(r"^\*\*([^*\n]+)\*\*\n\n(```.+?^```\n)\n?", re.MULTILINE | re.DOTALL)
IN_A_ROW = re.compile(rf"(?:{LABELLED.pattern}){{2,}}", re.MULTILINE | re.DOTALL)


def tabbed(page: str) -> str:
    """The page with a tab for each of several labelled blocks in a row."""
    return IN_A_ROW.sub(lambda row: LABELLED.sub(_tab, row[0]), page)


def _tab(block: re.Match[str]) -> str:
    return f"````{{tab}} {block[1]}\n{block[2]}````\n\n"
