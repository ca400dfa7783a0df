"""Draws the charts of the docs as SVG, from the tables of docs/measured/: `python tools/docs/charts.py`. Tested.

Each chart has its own colours for light and dark pages, and a text for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "docs" / "measured"
FOLDER = ROOT / "docs" / "pictures"
WIDTH = 720
LEFT = 250
"""Where the bars begin."""
RIGHT = 60
"""What is left beside the longest bar for its number."""
ROW = 38
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 12px; fill: #59636e }
.value { paint-order: stroke; stroke: #fff; stroke-width: 4px }
.word { font-weight: 600 } .end { text-anchor: end } .middle { text-anchor: middle }
.ours { fill: #0969da; stroke: #0969da } .other { fill: #b6bec7; stroke: #b6bec7 }
.line { stroke: #59636e; stroke-width: 1 } .limit { stroke: #bc4c00; stroke-width: 1.5; stroke-dasharray: 5 4 }
.limit-text { fill: #bc4c00 } .curve { fill: none; stroke-width: 2.5 }
.bar { stroke-width: 8; stroke-linecap: round } .box { fill: #f6f8fa; stroke: #d1d9e0 }
.arrow { stroke: #59636e; fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .value { stroke: #131416 } .ours { fill: #4493f8; stroke: #4493f8 }
.other { fill: #545d68; stroke: #545d68 } .line { stroke: #9198a1 }
.box { fill: #151b23; stroke: #3d444d } .arrow { stroke: #9198a1 }
.limit { stroke: #f0883e } .limit-text { fill: #f0883e } }"""


class Bar(NamedTuple):
    """Two values of a row, with their label."""

    label: str
    ours: float
    other: float | None = None


class Bars(NamedTuple):
    """A chart of bars. `limit` is a line that ours should not pass."""

    title: str
    ours: str
    other: str
    bars: Sequence[Bar]
    most: float
    limit: float | None = None
    limit_text: str = ""
    unit: str = "%"


def rows(page: str) -> dict[str, list[str]]:
    """The cells of all tables of a measured page, by the first cell of their row."""
    found = {}
    for line in (MEASURED / f"{page}.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| "):
            head, *cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            found[head] = cells
    return found


def shares(page: str, labels: dict[str, str]) -> list[Bar]:
    """Rows of a measured page, in percent: the second column and the third."""
    table = rows(page)
    return [
        Bar(label, 100 * float(table[row][0]), 100 * float(table[row][1]))
        for row, label in labels.items()
    ]


def svg(height: float, title: str, body: Iterator[str]) -> str:
    """A whole picture."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
        f'aria-label="{escape(title)}">'
    )
    return "\n".join([head, f"<style>{STYLE}</style>", *body, "</svg>", ""])


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """A line of text; `kind` are its classes."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


def bars(chart: Bars) -> str:
    """The picture of a chart of bars."""

    def body() -> Iterator[str]:
        scale = (WIDTH - LEFT - RIGHT) / chart.most
        yield text(0, 16, chart.title, "word")
        yield f'<rect class="ours" x="0" y="27" width="10" height="10"/>{text(16, 36, chart.ours, "small")}'
        if chart.other:
            yield f'<rect class="other" x="{LEFT}" y="27" width="10" height="10"/>'
            yield text(LEFT + 16, 36, chart.other, "small")
        if chart.limit is not None:
            x = LEFT + scale * chart.limit
            bottom = 52 + len(chart.bars) * ROW
            yield f'<line class="limit" x1="{x:g}" y1="46" x2="{x:g}" y2="{bottom}"/>'
            yield text(x, bottom + 14, chart.limit_text, "small middle limit-text")
        for number, bar in enumerate(chart.bars):
            top = 52 + number * ROW
            yield text(0, top + 17, bar.label)
            yield from _bar(top, scale * bar.ours, f"{bar.ours:.3g}{chart.unit}", "ours")
            if bar.other is not None:
                shown = f"{bar.other:.3g}{chart.unit}"
                yield from _bar(top + 15, scale * bar.other, shown, "other")

    return svg(52 + len(chart.bars) * ROW + 22, chart.title, body())


def _bar(top: float, length: float, shown: str, kind: str) -> Iterator[str]:
    yield f'<rect class="{kind}" x="{LEFT}" y="{top:g}" width="{max(length, 1):.1f}" height="11"/>'
    yield text(LEFT + max(length, 1) + 6, top + 10, shown, "small value")


POWER = {
    "normal, spread 15, gain of 10": "spread 15",
    "archive-like, 66% ties, spread 19, gain of 10": "spread 19, two of three tasks tie",
    "normal, spread 25, gain of 10": "spread 25",
}
COUNTS = (12, 24, 36, 48)


def power() -> str:
    """How often a gain of 10 points gets a GO, by the number of tasks."""
    title = "How often a true gain of 10 points gets a GO, by the number of tasks (power)"
    table, bottom, top = rows("gate"), 262, 40
    left, right = 50, 480

    def place(count: int, share: float) -> tuple[float, float]:
        x = left + (count - COUNTS[0]) / (COUNTS[-1] - COUNTS[0]) * (right - left)
        return x, bottom - share * (bottom - top)

    def body() -> Iterator[str]:
        yield text(0, 16, title, "word")
        for share in (0, 0.5, 0.8, 1):
            _, y = place(COUNTS[0], share)
            kind = "limit" if share == 0.8 else "line"
            yield f'<line class="{kind}" x1="{left}" y1="{y:g}" x2="{right}" y2="{y:g}" opacity="0.6"/>'
            yield text(left - 8, y + 4, f"{share:.0%}", "small end")
        for count in COUNTS:
            yield text(place(count, 0)[0], bottom + 18, f"{count} tasks", "small middle")
        for row, label in POWER.items():
            found = [float(cell.split(" of ")[0]) for cell in table[row]]
            points = [place(count, share) for count, share in zip(COUNTS, found, strict=True)]
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            yield f'<polyline class="curve ours" style="fill: none" points="{line}"/>'
            yield text(right + 10, points[-1][1] + 4 + 14 * (found[-1] == 0.98), label, "small")

    return svg(290, title, body())


ONLY = "only what does not count is asked for"
REPEATS = {
    f"{ONLY}[forced]": "all jobs forced (-F)",
    f"{ONLY}[all output deleted]": "all outputs deleted",
    f"{ONLY}[touched]": "all files touched",
    "everything that is derived comes back without an agent": "tables and pages deleted",
    "a copy with scrambled times runs nothing again": "a copy, times scrambled",
    "other code makes everything but runs anew": "another version of the code",
    "a finished run that snakemake wants again is copied and not paid twice": "one run demanded again",
}
"""Rows of the measured page about a finished benchmark, and their labels."""


class Position(NamedTuple):
    """A verdict as an interval of the score's difference, in points, and what decides."""

    verdict: str
    low: float
    high: float
    why: str


POSITIONS = (
    Position("GO", 2, 14, "above 0, and reaches the effect"),
    Position("HARM", -13, -2, "below 0"),
    Position("NO-GO", -6, 4, "ends below the effect"),
    Position("SAVES", -7, 4, "above -10, and 30% cheaper"),
    Position("COSTS", -6, 3, "ends below the effect, costs 40% more"),
    Position("INCONCLUSIVE", -3, 12, "0 and the effect both fit"),
)
EFFECT, MARGIN = 5, 10


def gate() -> str:
    """The six verdicts as six positions of an interval."""
    title = "Six verdicts: where the interval of the difference lies"
    left, right, top = 120, 450, 62

    def x(points: float) -> float:
        return left + (points + 16) / 32 * (right - left)

    def body() -> Iterator[str]:
        yield text(0, 16, title, "word")
        bottom = top + len(POSITIONS) * 32 - 6
        for points, words, kind in (
            (-MARGIN, f"-{MARGIN}: margin", "line"),
            (0, "0", "line"),
            (EFFECT, f"+{EFFECT}: effect", "limit"),
        ):
            yield f'<line class="{kind}" x1="{x(points):g}" y1="46" x2="{x(points):g}" y2="{bottom}"/>'
            yield text(x(points), 40, words, "small middle")
        for number, one in enumerate(POSITIONS):
            y = top + number * 32
            yield text(0, y + 5, one.verdict, "word")
            yield f'<line class="ours bar" x1="{x(one.low):g}" y1="{y}" x2="{x(one.high):g}" y2="{y}"/>'
            yield text(right + 8, y + 5, one.why, "small")
        yield text(
            x(0),
            bottom + 18,
            "points: score with the server minus score without it",
            "small middle",
        )

    return svg(top + len(POSITIONS) * 32 + 20, title, body())


class Stage(NamedTuple):
    """A rule, the package whose programs it starts, and what they write."""

    rule: str
    room: str
    files: str


STAGES = (
    Stage("plan", "plan/", "plan.json  prompts/  scenarios.md"),
    Stage("repositories", "repositories/", "repositories.json"),
    Stage("run (one job a run)", "runs/  agents/", "attempts/ (never deleted)  runs/"),
    Stage("validity", "runs/", "validity.csv  reports.csv"),
    Stage("judging, panel", "judging/", "verdicts.csv  decisions.csv"),
    Stage("judge_reliability", "judging/trust/", "judge_reliability.json"),
    Stage("scores", "scores/", "scores.csv  pairs.csv  estimates.json"),
    Stage("results", "results/", "results.json  results.md  report.html"),
)


def architecture() -> str:
    """The stages of the workflow from top to bottom."""
    columns = (0, 210, 390)

    def body() -> Iterator[str]:
        for x, words in zip(columns, ("rule", "package", "files in bench/<run_id>/"), strict=True):
            yield text(x + 12, 18, words, "small")
        for number, stage in enumerate(STAGES):
            top = 30 + number * 44
            for x, width, words in zip(columns, (180, 150, 325), stage, strict=True):
                yield f'<rect class="box" x="{x}" y="{top}" width="{width}" height="30" rx="5"/>'
                yield text(x + 12, top + 20, words, "word" if x == 0 else "")
            for end in columns[1:]:
                yield f'<path class="arrow" d="M{end - 28} {top + 15}H{end - 4}"/>'
            if number < len(STAGES) - 1:
                yield f'<path class="arrow" d="M90 {top + 31}V{top + 43}"/>'

    return svg(
        30 + len(STAGES) * 44, "Stages of the workflow, and the files that they write", body()
    )


def pictures() -> dict[str, str]:
    """Each picture by the name of its file, without the suffix."""
    hostile = [
        cells for head, cells in rows("hostile").items() if not head.startswith(("tried", "-"))
    ]
    tried = len(hostile)
    reached = [
        sum(cells[number] == "reached" for cells in hostile) for number in range(len(hostile[0]))
    ]
    requests = rows("first_requests")
    agents = [head for head in requests if not head.startswith(("agent", "-"))]
    return {
        "gate": gate(),
        "architecture": architecture(),
        "false-go": bars(
            Bars(
                "GO for a server that does nothing",
                "the gate",
                "a t test alone",
                shares(
                    "gate",
                    {
                        **{f"A/A, {n} tasks: GO": f"{n} tasks" for n in (12, 24, 48, 96)},
                        "any 5% lose all, baseline 55%, spread 5, 24 tasks: GO": "24 tasks, 5% lose everything",
                        "a fifth of 8 repositories loses 24, 96 tasks: GO": "96 tasks, one in five projects loses",
                    },
                ),
                25,
                5,
                "5%",
            )
        ),
        "false-saves": bars(
            Bars(
                "SAVES where nothing is saved, or answers are 10 points worse",
                "the gate",
                "two intervals alone",
                shares(
                    "savings",
                    {
                        **{
                            f"equal answers, exactly 10% saved, {n} tasks": f"no more saved than asked, {n}"
                            for n in (24, 48, 96)
                        },
                        **{
                            f"10 lost: a fifth loses all it had, the others spread by 12, {n} tasks": (
                                f"10 points lost by heavy losses, {n}"
                            )
                            for n in (12, 24, 48)
                        },
                    },
                ),
                10,
                5,
                "5%",
            )
        ),
        "power": power(),
        "prompts": bars(
            Bars(
                "Bytes in the first request, and what the server's tools add",
                "added with the server",
                "the same in both conditions",
                [
                    Bar(
                        head,
                        float(requests[head][1].replace(",", "")) / 1000,
                        float(requests[head][0].replace(",", "")) / 1000,
                    )
                    for head in agents
                ],
                1.05 * max(float(requests[head][0].replace(",", "")) / 1000 for head in agents),
                unit=" kB",
            )
        ),
        "sandbox": bars(
            Bars(
                f"What a hostile agent reaches, of {tried} attempts",
                "reached",
                "",
                [
                    Bar(label, float(count))
                    for label, count in zip(
                        ("no sandbox", "bubblewrap, shared network", "bubblewrap, its own network"),
                        reached,
                        strict=True,
                    )
                ],
                tried,
                unit="",
            )
        ),
        "repeats": bars(
            Bars(
                "Agents that are started again in a finished benchmark of four runs",
                "started again",
                "answers that were paid for",
                [Bar(label, float(rows("repeats")[row][1]), 4) for row, label in REPEATS.items()],
                4,
                unit="",
            )
        ),
    }


def main() -> None:
    """Writes all pictures."""
    for name, picture in pictures().items():
        (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
