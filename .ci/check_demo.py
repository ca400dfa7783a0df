"""Looks at the demo's results as a person would: everything counts, nothing is trivial, a second start does nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path("bench/demo")


def main() -> None:
    """Ends with a message and exit code 1 when the results make no sense."""
    data = json.loads((FOLDER / "results.json").read_text())
    counts, comparison = data["counts"], data["comparisons"]["with"]
    scores = {name: [run["score"] for run in data["runs"] if run["condition"] == name] for name in ("with", "without")}
    again = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2"], capture_output=True, text=True, check=False
    )
    checks = {
        "all 24 runs are scored": counts == {"scored": 24, "unjudged": 0, "discarded": 0, "missing": 0},
        "the server's tools were offered in 12 of 12 runs": comparison["adoption"]["offered"] == {"runs": 12, "of": 12},
        "the server's tools were called": comparison["adoption"]["called_without_error"]["runs"] >= 6,
        "scores are neither all full nor all zero": all(0 < sum(each) < 12 for each in scores.values()),
        "the conditions differ": scores["with"] != scores["without"],
        "every control held": all(control["runs"] == control["of"] for control in data["controls"][:-1]),
        "results.md says that no model answered": "No language model" in (FOLDER / "results.md").read_text(),
        "the gate gives no verdict where no model answered": data["verdicts_on"] == {"with": "INCONCLUSIVE"},
        "the page is there, with both answers of every pair": (FOLDER / "report.html").stat().st_size > 50_000
        and len(list((FOLDER / "answers").glob("*.html"))) == 12,
        "a second start has nothing to do": "Nothing to be done" in again.stderr,
    }
    failed = [name for name, holds in checks.items() if not holds]
    print("\n".join(f"{'ok  ' if holds else 'FAIL'} {name}" for name, holds in checks.items()))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
