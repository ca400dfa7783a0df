"""What a server costs before and when it is asked."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lensbench.core.records import Attempt, Record
from lensbench.core.run_folder import RunFolder
from lensbench.results.footprint import footprint
from lensbench.runs.requests_file import Addition, RequestFindings


def made(folder: Path, condition: str, **sizes: int) -> Record:
    """A run whose calls have results of these sizes, and a failed one."""
    entry = RunFolder(folder).attempts / f"a-{condition}" / "1"
    entry.mkdir(parents=True)
    (entry / "answer.md").write_text("x")
    events: list[dict[str, Any]] = [
        {"type": "tool_call", "id": 0, "name": "Read"},
        {"type": "tool_result", "id": 0, "is_error": True, "size": 9**9},
    ]
    for name, size in sizes.items():
        events += [
            {"type": "tool_call", "id": name, "name": name},
            {"type": "tool_result", "id": name, "size": size},
        ]
    (entry / "transcript.jsonl.gz").write_bytes(
        gzip.compress("\n".join(map(json.dumps, events)).encode())
    )
    return Record("a", condition, 1, "run", Attempt(1, "", 1.0, 0.0, 0, False))


OWN = {"Read": 2000, "Grep": 1200}


def told(
    folder: Path, with_: dict[str, int], without: dict[str, int], listed: bool = True
) -> list[str]:
    """What is said of results of these sizes."""
    tables: Any = SimpleNamespace(plan={"baseline": "without", "settings_sha256": "now"})
    tables.valid = [made(folder, "with", **with_), made(folder, "without", **without)]
    if listed:
        tools = dict.fromkeys(("mcp__lens__lens_grep", "mcp__lens__lens_graph"), "")
        found = {"tools": {"with": tools}, "list_tokens": {"with": 1000}}
        RunFolder(folder).preflight.write_text(json.dumps(found))
    return footprint(folder, tables, "with")


def test_the_list_is_paid_for_by_calls_that_spare_larger_results(tmp_path: Path) -> None:
    called = {"mcp__lens__lens_grep": 400, "Grep": 9999}
    assert told(tmp_path / "a", called, OWN, listed=False) == []
    assert told(tmp_path / "b", called, OWN) == [  # a call spares 400 - 100 tokens
        "The tool list and instructions are about 1,000 tokens of every request (4 bytes a token), without what the agent"
        " adds to them.",
        "Estimated tokens of results, on average over calls: lens_grep 100 in 1.",
        "One of the agent's own tools has 400: the list is paid for after 4 calls that spare one of these.",
    ]
    said = told(tmp_path / "one", {"mcp__lens__lens_grep": 400}, {"Read": 8000})[-1]
    assert said.endswith("the list is paid for after one call that spares one of these.")
    said = told(tmp_path / "c", {"mcp__lens__lens_grep": 4000}, OWN)[-1]
    assert said.endswith("the list is paid for by calls that spare several of these.")
    said = told(
        tmp_path / "d", {"mcp__lens__lens_grep": 420_000, "mcp__lens__lens_graph": 100_000}, {}
    )[-1]
    assert said.endswith("the name of a file instead: lens_grep 1 of 1.")


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        (
            "now",
            "The treatment adds about 561 tokens to every request (2,242 bytes in the first request of codex 0.169.0, 4"
            " bytes a token).",
        ),
        (
            "earlier",
            "The tool list and instructions are about 1,000 tokens of every request (4 bytes a token), without what the"
            " agent adds to them.",
        ),
    ],
)
def test_what_was_measured_in_requests_replaces_the_estimate_while_the_settings_are_the_same(
    settings: str, first: str, tmp_path: Path
) -> None:
    findings = RequestFindings("codex 0.169.0", settings, {"with": Addition(2242, 0)})
    findings.write(tmp_path)
    assert told(tmp_path, {"mcp__lens__lens_grep": 400}, OWN)[0] == first
