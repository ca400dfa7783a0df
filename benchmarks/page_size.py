"""Time and size of the page by the number of tasks: `python benchmarks/page_size.py [TASKS ...]`."""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
import time
from pathlib import Path

from lensbench.results.page.page import read_inputs, render

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from benches import Shape, make_bench

TASKS = (12, 48, 200, 1000)


def main() -> None:
    """Makes a synthetic benchmark of each size, writes its pages once, prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", type=int, default=TASKS)
    print(f"{'tasks':>6}{'seconds':>9}{'report.html':>13}{'zipped':>9}{'answers':>11}")
    for tasks in parser.parse_args().tasks:
        with tempfile.TemporaryDirectory() as folder:
            shape = Shape(tasks, repositories=max(4, tasks // 8), discarded=0.03)
            bench = make_bench(Path(folder), shape)
            inputs = read_inputs(bench)
            started = time.perf_counter()
            pages = {path: text.encode() for path, text in render(bench, inputs)}
            seconds = time.perf_counter() - started
            report = pages.pop("report.html")
        zipped, answers = len(gzip.compress(report)), sum(map(len, pages.values()))
        print(f"{tasks:>6}{seconds:>9.1f}{_kb(len(report)):>13}{_kb(zipped):>9}{_kb(answers):>11}")


def _kb(size: int) -> str:
    return f"{size / 1000:,.0f} kB"


if __name__ == "__main__":
    main()
