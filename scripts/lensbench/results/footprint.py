"""What a server costs before and when it is asked: tokens of its tool list and of its results, estimated."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import ceil
from pathlib import Path
from statistics import mean

from lensbench.core.preflight_results import BYTES_A_TOKEN, LONG_RESULT, PreflightFindings
from lensbench.core.records import RunId
from lensbench.core.store import run_files
from lensbench.runs.requests_file import RequestFindings
from lensbench.runs.timeline import Step, read_timeline
from lensbench.scores.run_tables import Tables
from lensbench.scores.scores import short_name

_SAMPLE = 20
"""How many transcripts are read of runs with MCP calls, and of runs without."""
_LONGEST = 2_000_000
"""How many characters of a transcript are read."""
_REPLACED = "exceeds maximum allowed tokens"
"""In what Claude Code gives its model instead of a long result."""


def footprint(folder: Path, tables: Tables, treatment: str) -> list[str]:
    """The figures in sentences; none that are unknown."""
    listing = PreflightFindings.read(folder)
    requests = RequestFindings.read(folder)
    addition = requests.addition(treatment, tables.plan["settings_sha256"])
    if addition:
        tokens = addition.tokens
        sentence = (
            f"The treatment adds about {tokens:,} tokens to every request ({addition.bytes:,} bytes in the first"
            f" request of {requests.agent}, 4 bytes a token)."
        )
    elif treatment in listing.list_tokens:
        tokens = listing.list_tokens[treatment]
        sentence = (
            f"The tool list and instructions are about {tokens:,} tokens of every request (4 bytes a token), without"
            " what the agent adds to them."
        )
    else:
        return []
    tools = sorted(map(short_name, listing.tools.get(treatment, ())), key=len, reverse=True)
    steps: dict[str, list[Step]] = {}
    for tool, step in _calls(folder, tables, treatment, tools):
        if tool:
            steps.setdefault(tool, []).append(step)
    if not steps:
        return [sentence]
    others = [_tokens(step) for _, step in _calls(folder, tables, tables.plan["baseline"], [])]
    return [sentence, *_of_results(steps, tokens, others)]


def _of_results(
    steps: Mapping[str, Sequence[Step]], tokens: int, others: Sequence[float]
) -> Iterator[str]:
    """What the results of each tool's calls cost, and against the agent's own tools (`others`) the list of `tokens`."""
    averages = []
    cut = []
    for tool, calls in sorted(steps.items()):
        averages.append(f"{tool} {mean(map(_tokens, calls)):,.0f} in {len(calls)}")
        long = sum(map(_is_long, calls))
        if long:
            cut.append(f"{tool} {long} of {len(calls)}")
    yield f"Estimated tokens of results, on average over calls: {', '.join(averages)}."
    if cut:
        yield (
            "Results too long for Claude Code, which gives its model the name of a file instead:"
            f" {', '.join(cut)}."
        )
    if others:
        usual = mean(others)
        saving = usual - mean(map(_tokens, chain(*steps.values())))
        own = f"One of the agent's own tools has {usual:,.0f}"
        yield f"{own}: the list is paid for {_paid(tokens, saving)} of these."


def _is_long(step: Step) -> bool:
    return _REPLACED in step.got or _tokens(step) * BYTES_A_TOKEN > LONG_RESULT


def _paid(tokens: float, saving: float) -> str:
    """By which calls a list of so many tokens is paid for, when one call spares `saving` of them."""
    if saving <= 0:
        return "by calls that spare several"
    calls = ceil(tokens / saving)
    if calls == 1:
        return "after one call that spares one"
    return f"after {calls:,} calls that spare one"


def _calls(
    folder: Path, tables: Tables, condition: str, tools: list[str]
) -> Iterator[tuple[str, Step]]:
    """The calls that did not fail, with the tool of the server, or "" for the agent's own."""
    for run in sample_of(
        sorted(record.run for record in tables.valid if record.condition == condition)
    ):
        for step in read_timeline(transcript_lines(folder, run)):
            if step.kind == "call" and not step.failed:
                yield next((name for name in tools if step.title.endswith(name)), ""), step


def _tokens(step: Step) -> float:
    return (step.size or len(step.got.encode())) / BYTES_A_TOKEN


def sample_of(runs: Sequence[RunId]) -> Sequence[RunId]:
    return runs[:: max(1, len(runs) // _SAMPLE)][:_SAMPLE]


def transcript_lines(folder: Path, run: RunId, longest: int = _LONGEST) -> Iterator[str]:
    """A transcript's lines, up to a limit of characters (-1: all); none when it is missing or damaged."""
    try:
        with gzip.open(
            run_files(folder, run).transcript, "rt", encoding="utf-8", errors="replace"
        ) as file:
            yield from file.readlines(longest)
    except (OSError, EOFError, zlib.error):
        return
