"""Time and memory of the embedded server's index: `python benchmarks/lens_index.py FOLDER [QUERY ...]`."""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from pathlib import Path

from figures import write_figures

from lensbench_demo.lens.grep import grep
from lensbench_demo.lens.scope import Scope
from lensbench_demo.lens.tree import Tree
from lensbench_tasks.parsers.files import list_sources

QUERIES = ("parse", "option parser", "error handling|retry", "get_queryset", "select * from")


def peak_mb() -> float:
    """The largest resident size of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1_000_000 if sys.platform == "darwin" else 1_000)


def main() -> None:
    """Indexes the folder once, asks each query five times, prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("queries", nargs="*", default=QUERIES)
    parser.add_argument("--json", type=Path, help="write the figures for figures.py")
    arguments = parser.parse_args()
    root, before = arguments.folder.resolve(), peak_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    tree = Tree.read(root)
    _ = tree.index
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    again = time.perf_counter()
    assert tree.is_current
    again = time.perf_counter() - again
    first = time.perf_counter()
    grep(tree, Scope(), "handler", 20)
    first = time.perf_counter() - first
    print(f"files listed         {len(list_sources(root)):>9,}")
    print(f"files indexed        {len(tree.texts):>9,}")
    print(f"symbols              {sum(len(facts.symbols) for facts in tree.facts.values()):>9,}")
    print(f"import edges         {sum(map(len, tree.imports.values())):>9,}")
    print(f"index, wall          {wall:>9.2f} s")
    print(f"index, CPU           {cpu:>9.2f} s")
    print(f"nothing to do        {again:>9.2f} s")
    print(f"first answer then    {1000 * first:>9.1f} ms")
    print(f"memory before        {before:>9.0f} MB")
    print(f"memory, peak         {peak_mb():>9.0f} MB")
    figures = {"index": cpu, "nothing to do": again, "first answer": first}
    for query in arguments.queries:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            size = len(grep(tree, Scope(), query, 20))
            times.append(time.perf_counter() - started)
        print(f"{query:<20} {1000 * statistics.median(times):>9.1f} ms  {size:,} characters")
        figures[f"search: {query}"] = statistics.median(times)
    if arguments.json:
        write_figures(arguments.json, figures)


if __name__ == "__main__":
    main()
