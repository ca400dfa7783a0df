"""Counts the words that are written by hand, by kind: `python tools/docs/words.py`. Generated pages are not counted.

The kinds are the headings of docs/index.md; README, CONTRIBUTING, SECURITY and CHANGELOG are in the last ones.
"""

from __future__ import annotations

import re
from pathlib import Path

from navigation import LINK, SECTION

ROOT = Path(__file__).parents[2]
GENERATED = ("reference/", "measured/")
APART = ("../CHANGELOG", "../README")


def words(page: Path) -> int:
    """The words of a page without what reference.py writes into it."""
    written = re.sub(
        r"<!-- discards -->.*<!-- end -->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    return len(written.split())


def main() -> None:
    """Prints the words of each kind, and of each page."""
    docs = ROOT / "docs"
    total = 0
    kinds = [
        (title, [page for _, page in LINK.findall(body)])
        for title, body in SECTION.findall((docs / "index.md").read_text(encoding="utf-8"))
    ]
    for title, pages in [*kinds, ("README", ["../README"]), ("CHANGELOG", ["../CHANGELOG"])]:
        own = [page for page in pages if not page.startswith(GENERATED) or page == "measured/index"]
        counts = {
            page: words(docs / f"{page}.md")
            for page in own
            if page not in APART or title not in dict(kinds)
        }
        total += sum(counts.values()) if title != "CHANGELOG" else 0
        print(
            f"{sum(counts.values()):6}  {title}: {', '.join(f'{page} {count}' for page, count in counts.items())}"
        )
    print(f"{total:6}  all without the changelog")


if __name__ == "__main__":
    main()
