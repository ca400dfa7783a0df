"""The closing lines on the terminal: the headline, what is missing, and which file to open."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from lensbench.core.errors import printable
from lensbench.core.rows import RunStatus
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_typed
from lensbench.core.system.program import run_stage
from lensbench.results.plain_verdict import how_to_judge
from lensbench.results.results_file import Results
from lensbench.scores.gate_words import with_noun
from lensbench.workflow.status import Status

MOST_COLUMNS = 100  # longer lines are hard to read


def members(data: Results[float]) -> Iterator[str]:
    """What an ablation says of its members, and why there is no verdict on some."""
    yield from data["ablation_says"]
    for row in data["ablation"]:
        score = row["changes"]["Score without it"]
        yield f"{row['member']}: {row['word']}; score without it {score}. {row['needs']}".strip()
    withheld = data["judge_reliability"]["belief"].withheld.values()
    reasons = dict.fromkeys(chain.from_iterable(withheld))
    if reasons:
        yield f"Why no verdict: {' '.join(reasons)}"


def lines(folder: Path, data: Results[float]) -> Iterator[str]:
    steps = set[str]()
    plain = data.get("plain", {})
    if data.get("ablation"):
        yield from members(data)
        plain = {}
    for treatment, words in plain.items():
        yield f"{words['lead']} {words['facts']}"
        for figure in data.get("figures", {}).get(treatment, {}).values():
            if figure["total"]:
                change = f"per task {figure['change']} ({figure['interval']})"
                amounts = f"{figure['treatment']} against {figure['baseline']}"
                yield f"{figure['label']}: {amounts}; {change}; total {figure['total']}"
        if reasons := data["judge_reliability"]["belief"].withheld.get(treatment):
            yield f"Why no verdict: {' '.join(reasons)}"
        if (step := words["next"]) not in steps:
            yield f"Next: {step}"
        steps.add(step)
    yield from data["headlines"]
    counts = data["counts"]
    if counts[RunStatus.DISCARDED] or counts[RunStatus.MISSING] or counts[RunStatus.UNJUDGED]:
        yield (
            f"{with_noun(counts['discarded'], 'run')} discarded, {counts['missing']} missing,"
            f" {counts['unjudged']} unjudged."
        )
        if data["agent"]["kind"] != "none" and (left := (status := Status(folder)).left):
            if not data["stopped"]:
                for name, discard in status.last_discards()[:1]:
                    yield f"The last discard: {name}: {': '.join(filter(None, (discard.reason, discard.detail)))}"
                again = "run that is" if left == 1 else "runs that are"
                yield f"Start again for the {left} {again} discarded or missing: no other is repeated."
            elif f"{data['stopped']}." not in steps:
                yield f"Stopped: {data['stopped']}"
    if unread := data.get("unjudged_criteria"):
        count = f"{unread} of {data['criteria_of_runs']} criteria"
        yield f"{count} of runs that count have no verdict. {how_to_judge(data)}"
    yield f"open {RunFolder(folder).page} or {RunFolder(folder).results}"


def print_headline(folder: Path) -> None:
    """Prints the headline; in a GitHub Actions job, also adds it to the job summary."""
    data = read_typed(RunFolder(folder).results_json, Results[float])
    width = min(shutil.get_terminal_size().columns, MOST_COLUMNS) if sys.stdout.isatty() else 0
    wrap = textwrap.TextWrapper(
        width or sys.maxsize, break_long_words=False, break_on_hyphens=False
    )
    texts = [wrap.fill(printable(line)) for line in lines(folder, data)]
    print("", *texts, sep="\n", flush=True)
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(page, "a", encoding="utf-8") as file:
            file.write(RunFolder(folder).summary.read_text(encoding="utf-8"))


if __name__ == "__main__":
    run_stage(print_headline)
