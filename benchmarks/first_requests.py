"""What a small server adds to the first request of each supported agent, and whether anything else of it changes.

    python benchmarks/first_requests.py          (docs/agents.md; `make agents` installs the programs)

Starts each program with and without the server, in the sandbox, and sends its first request to a listener of its own:
no key, no network. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("", "support", "agents")]

from live_agents import CLIS  # noqa: E402
from test_first_requests_live import write_project  # noqa: E402

from lensbench.core.run_folder import RunFolder  # noqa: E402
from lensbench.runs.requests_file import RequestFindings  # noqa: E402
from lensbench_tasks.requests import check_requests  # noqa: E402


def row(kind: str, folder: Path) -> str:
    """The row of one program, whose project is made in `folder`."""
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()):
        check_requests(write_project(folder, CLIS[kind]))
    bench = folder / "bench" / "live"
    baseline = (RunFolder(bench).requests / "without.json").stat().st_size
    findings = RequestFindings.read(bench)
    added = findings.additions["with"]
    return f"| {findings.agent} | {baseline:,} | {added.bytes:,} | {added.changed} |"


def main() -> None:
    """Prints the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for key in ("ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"):
        os.environ.pop(key, None)
    print(
        "| agent | bytes of the baseline's first request | added by the server | parts changed or missing |"
    )
    print("|---|--:|--:|--:|")
    for kind in CLIS:
        with tempfile.TemporaryDirectory() as folder:
            print(row(kind, Path(folder)), flush=True)
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
