"""Looks at the demo's results as a person would: everything counts, scores spread, what should differ does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path("bench/demo")


def main() -> None:
    """Ends with a message and exit code 1 when the results make no sense."""
    data = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    counts = data["counts"]
    comparison = data["comparisons"]["with"]
    found = data["estimates"]["with"]["score"]
    scores = {
        name: [run["score"] for run in data["runs"] if run["condition"] == name]
        for name in ("with", "without")
    }
    categories = found["categories"]
    tasks = data["tasks"]
    again = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    page = Path("docs/first-result.md").read_text(encoding="utf-8")
    shown = re.search(r"^```text\n(.*?)\n```", page, re.MULTILINE | re.DOTALL)
    interval = f"{100 * found['overall']['low']:+.1f} to {100 * found['overall']['high']:+.1f}"
    checks = {
        "all runs are scored": counts
        == {"scored": 2 * tasks, "unjudged": 0, "discarded": 0, "missing": 0},
        "the server's tools were offered in every run": comparison["adoption"]["offered"]
        == {"runs": tasks, "of": tasks},
        "the server's tools were called in every run": comparison["adoption"][
            "called_without_error"
        ]["runs"]
        == tasks,
        "scores spread, and are neither all high nor all low": all(
            0.4 < sum(each) / tasks < 0.85 and len(set(each)) >= 4 for each in scores.values()
        ),
        "the whole differs": found["overall"]["p"] <= data["alpha"] and found["overall"]["low"] > 0,
        "questions about changes differ, by Holm's p": categories["Change-Impact"]["p_holm"]
        <= data["alpha"],
        "questions for a text search do not": all(
            categories[name]["delta"] == 0 for name in ("Targeted", "Debug")
        ),
        "every control held": all(
            control["runs"] == control["of"] for control in data["controls"][:-1]
        ),
        "results.md says that no model answered": "not a language model"
        in (FOLDER / "results.md").read_text(encoding="utf-8"),
        "the gate gives no verdict where no model answered": data["verdicts_on"]
        == {"with": "INCONCLUSIVE"},
        "the page is there, with both answers of every pair": (FOLDER / "report.html")
        .stat()
        .st_size
        > 50_000
        and len(list((FOLDER / "answers").glob("*.html"))) == tasks,
        "a second start has nothing to do": "Nothing to be done" in again.stderr,
        "docs/first-result.md shows what is printed": shown
        and without_time(shown[1]) in without_time(again.stdout + again.stderr)
        and interval in page,
    }
    failed = [name for name, holds in checks.items() if not holds]
    print("\n".join(f"{'ok  ' if holds else 'FAIL'} {name}" for name, holds in checks.items()))
    sys.exit(1 if failed else 0)


def without_time(text: str) -> str:
    """The text without times, which differ by machine."""
    text = re.sub(r"it took .*?(?=\. [A-Z])", "it took N", text)
    return re.sub(r"(?m)^duration: .*", "duration: N", text)


if __name__ == "__main__":
    main()
