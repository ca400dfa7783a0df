"""Links each word of the glossary where a page of the site uses it first."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
EVERYDAY = {
    "called",
    "complete",
    "effect",
    "least",
    "level",
    "look",
    "offered",
    "p",
    "point",
    "resolved",
    "round",
    "run",
    "total",
    "z",
}
"""Words that pages also use in another meaning: they are explained, and not linked."""
APART = re.compile(
    r"^```.*?^```|^#.*?$|^<!--.*?-->|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>\n]+>",
    re.MULTILINE | re.DOTALL,
)
"""What is no prose, or a link already."""


def terms(glossary: str) -> list[str]:
    """The words that are linked, the longest first, so that a word inside a longer one is left alone."""
    found = re.findall(r"^## (.+)$", glossary, re.MULTILINE)
    return sorted((term for term in found if term not in EVERYDAY), key=len, reverse=True)


def linked(page: str, words: list[str], glossary: str) -> str:
    """The page with a link to `glossary`, a path, at the first use of each of the words."""
    for word in words:
        kept = [*APART.finditer(page)]
        flags = 0 if word != word.lower() else re.IGNORECASE
        use = re.compile(rf"(?<![\w/.-]){re.escape(word)}s?(?![\w/-])", flags)
        for found in use.finditer(page):
            if not any(part.start() < found.end() and found.start() < part.end() for part in kept):
                anchor = word.lower().replace(" ", "-")
                link = f"[{found[0]}]({glossary}#{anchor})"
                page = page[: found.start()] + link + page[found.end() :]
                break
    return page


def link_pages(docs: Path) -> None:
    """Links the words in the hand-written pages of a copy of docs/."""
    glossary = docs / "glossary.md"
    words = terms(glossary.read_text(encoding="utf-8"))
    for page in [*docs.glob("*.md"), *(docs / "decisions").glob("*.md")]:
        if page.name not in ("glossary.md", "index.md"):
            up = "" if page.parent == docs else "../"
            text = linked(page.read_text(encoding="utf-8"), words, f"{up}glossary.md")
            page.write_text(text, encoding="utf-8")
