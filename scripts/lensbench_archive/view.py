"""Opens the results of a benchmark in a browser, and lists the benchmarks of a folder: `lensbench view`."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from lensbench.core.errors import UserError, printable
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.program import Parser, benchmark, run_program


def benchmarks(place: Path) -> Iterator[tuple[Path, list[str]]]:
    """The benchmarks in `place`: itself, its subfolders, or those in its bench/; each with its headlines."""
    plans = next(
        filter(
            None,
            ([*place.glob(f"{pattern}{RunFolder.plan}")] for pattern in ("", "*/", "bench/*/")),
        ),
        [],
    )
    for plan in sorted(plans):
        yield plan.parent, _headlines(plan.parent)


def _headlines(folder: Path) -> list[str]:
    """The verdicts in plain words, or why there are none."""
    try:
        data = json.loads(RunFolder(folder).results_json.read_text(encoding="utf-8"))
        return [
            f"{words['lead']} {words['facts']}" for words in data.get("plain", {}).values()
        ] or data["headlines"]
    except FileNotFoundError:
        return ["no results yet: lensbench status shows the progress"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"results.json cannot be read ({error})"]


def view(place: Path, opens: bool) -> None:
    """Opens the page of the only benchmark in a place, or lists several. Raises UserError when there are none."""
    entries = list(benchmarks(place))
    if not entries:
        raise UserError(
            f"{place}: there is no benchmark here, below it, or in its bench/; `lensbench run` starts one"
        )
    for folder, headlines in entries:
        print(RunFolder(folder).page, *(f"  {printable(line)}" for line in headlines), sep="\n")
    page = RunFolder(entries[0][0]).page
    if len(entries) == 1 and opens and page.exists():
        webbrowser.open(page.resolve().as_uri())


def main() -> None:
    """Open the results page of a benchmark; for a folder with several, list them with their verdicts."""
    parser = Parser(prog="lensbench view", description=main.__doc__)
    place = "a run id, a run folder, or a folder with several (default: this one)"
    parser.add_argument("folder", nargs="?", type=benchmark, default=Path(), help=place)
    parser.add_argument("--print", dest="only_print", action="store_true", help="open nothing")
    arguments = parser.parse_args()
    has_screen = (
        sys.platform in ("darwin", "win32") or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    )
    view(arguments.folder, bool(has_screen) and not arguments.only_print)


if __name__ == "__main__":
    run_program(main)
