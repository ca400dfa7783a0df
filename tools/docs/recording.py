"""Records a command in a terminal of 80 columns as a moving picture.

    python tools/docs/recording.py docs/pictures/run.svg -- make run

Lines appear when they were printed, pauses are cut to a second, and the last picture stays. The colours are those of
light and dark pages.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from fcntl import ioctl
from html import escape
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ
from typing import NamedTuple

from lensbench.core.system.files import write_atomic

COLUMNS = 80
LINES = 40
LONGEST_PAUSE_S = 1.0
LINE = 18
CHARACTER = 8
PARTS = re.compile(r"\x1b\[(?P<up>\d+)A|\x1b\[[0-9;?]*[A-Za-z]|\r\n|\r|\n|[^\r\n\x1b]+")
STYLE = """\
rect { fill: #f6f8fa; stroke: #d1d9e0 } text { font: 13px ui-monospace, monospace; fill: #1f2328; white-space: pre }
.typed { font-weight: 600 } g { opacity: 0; animation: show 1ms both } @keyframes show { to { opacity: 1 } }
.gone { animation: show 1ms both, hide 1ms forwards } @keyframes hide { from { opacity: 1 } to { opacity: 0 } }
@media (prefers-color-scheme: dark) { rect { fill: #151b23; stroke: #3d444d } text { fill: #e6edf3 } }"""


class Shown(NamedTuple):
    """What a line of the terminal shows from a time on, in seconds."""

    line: int
    at_s: float
    text: str


def shown(printed: Iterable[tuple[float, str]]) -> Iterator[Shown]:
    """What stands in each line, and since when, from pieces of output with the seconds at which they came. A carriage
    return begins a line again, and programs move up to write lines anew."""
    line = 0
    text = ""
    clock = 0.0
    before = 0.0
    for at_s, piece in printed:
        clock += min(at_s - before, LONGEST_PAUSE_S)
        before = at_s
        for part in PARTS.finditer(piece):
            if part["up"]:
                line -= int(part["up"])
            elif part[0] in ("\n", "\r\n"):
                line += 1
                text = ""
            elif part[0] == "\r":
                text = ""
            elif not part[0].startswith("\x1b"):
                text += part[0]
                yield Shown(line, clock, text)


def folded(lines: Sequence[Shown]) -> list[Shown]:
    """The same with lines that are no longer than the terminal is wide: the rest of a long one goes into the next."""
    added: dict[int, int] = {}
    for each in lines:
        more = (len(each.text) - 1) // COLUMNS
        added[each.line] = max(added.get(each.line, 0), more)
    found = []
    for each in lines:
        row = each.line + sum(more for line, more in added.items() if line < each.line)
        for begin in range(0, len(each.text), COLUMNS):
            found.append(Shown(row, each.at_s, each.text[begin : begin + COLUMNS]))
            row += 1
    return found


def picture(command: str, lines: Sequence[Shown]) -> str:
    """The SVG: the command, and below it the last lines of what it printed."""
    first = max(0, max((each.line for each in lines), default=0) - LINES + 2)
    kept = [each for each in lines if each.line >= first]
    width = COLUMNS * CHARACTER + 32
    height = (max((each.line - first for each in kept), default=0) + 2) * LINE + 28
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(command)}</title><style>{STYLE}</style>",
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>',
        f'<text class="typed" x="16" y="28">$ {escape(command)}</text>',
    ]
    for index, each in enumerate(kept):
        later = [other.at_s for other in kept[index + 1 :] if other.line == each.line]
        y = 28 + (each.line - first + 1) * LINE
        style = f"animation-delay: {each.at_s:.1f}s"
        kind = ""
        if later:
            kind = ' class="gone"'
            style += f", {later[0]:.1f}s"
        parts.append(
            f'<g{kind} style="{style}"><text x="16" y="{y}">{escape(each.text)}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


def record(command: Sequence[str]) -> Iterator[tuple[float, str]]:
    """Pieces of what the command prints in a terminal, with the seconds since its start."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", LINES, COLUMNS, 0, 0))
    start = time.monotonic()
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=_environment()
    ) as program:
        os.close(theirs)
        while True:
            select.select([ours], [], [])
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the terminal's end on Linux
                break
            if not piece:
                break
            yield time.monotonic() - start, piece.decode(errors="replace")
    os.close(ours)
    if program.returncode:
        sys.exit(f"{' '.join(command)}: exit code {program.returncode}")


def _environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": str(COLUMNS), "LINES": str(LINES), "TERM": "xterm"}


def main() -> None:
    """Writes the picture of a command, which is started here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    lines = folded([*shown(record(given.command))])
    write_atomic(given.picture, picture(" ".join(given.command), lines))


if __name__ == "__main__":
    main()
