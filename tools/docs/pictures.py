"""Takes the pictures of docs/pictures from the demo in bench/, after `lensbench judge bench/demo`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from gallery import take_pictures

ROOT = Path(__file__).parents[2]
PAGES = {"page": "report.html", "sheet": "judge_sheet.html"}
"""The picture and its page."""


def main() -> None:
    """Replaces the pictures."""
    demo = ROOT / "bench" / "demo"
    with tempfile.TemporaryDirectory() as folder:
        taken = take_pictures([demo / page for page in PAGES.values()], Path(folder) / "taken")
        for name, page in PAGES.items():
            shutil.copy(Path(folder) / "taken" / taken[demo / page], ROOT / "docs" / "pictures" / f"{name}.png")


if __name__ == "__main__":
    main()
