"""Learns the phrases with which answers reveal the use of MCP tools, from the tools' names (`lens_graph`: "the graph
tool"), descriptions ("Semantic search over code": "semantic search returned") and results (`importers=3`)."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import Record, RunId
from lensbench.core.store import run_files
from lensbench.runs.timeline import read_timeline

SAMPLE = 20
"""How many transcripts are read of runs with MCP calls, and of runs without."""
_LONGEST = 2_000_000
"""How many characters of a transcript are read."""
_MIN_RESULTS, _MIN_TASKS = 3, 2
"""The minimum number of results for learning a tool's output format."""
_INSTRUMENT = (
    "analys(?:is|er|es)|atlas|embeddings?|explorer|finder|graphs?|grep|index(?:es)?|lookups?|maps?|navigat(?:ion|or)"
    "|outlines?|overviews?|quer(?:y|ies)|rank(?:ing|er)|retriev(?:al|er)|scan(?:ner)?|search(?:es)?"
)
"""Words for search tools; other words of a description may occur in any answer."""
_PLAIN = frozenset(
    {
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "by",
        "each",
        "every",
        "for",
        "from",
        "in",
        "into",
        "is",
        "it",
        "its",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "over",
        "per",
        "run",
        "runs",
        "same",
        "that",
        "the",
        "their",
        "them",
        "then",
        "this",
        "to",
        "use",
        "uses",
        "using",
        "via",
        "when",
        "which",
        "with",
        "your",
    }
)
_PHRASE = re.compile(
    rf"(?<![a-z-])(?:[a-z]+(?:-[a-z]+)*,? ){{1,2}}(?:{_INSTRUMENT})\b", re.IGNORECASE
)
_FIGURE = re.compile(r"(?<!\w)([A-Za-z][A-Za-z_]{2,29})\\?\"?\s?[=:]\s?-?[0-9]")


class ToolTalk(NamedTuple):
    """Phrases that reveal MCP tools besides their names."""

    phrases: tuple[str, ...] = ()
    """In lower case. A single word, such as graph, counts only as "graph tool"."""
    figures: tuple[str, ...] = ()
    """Names before numbers that occur in results of these tools only."""


NO_TALK = ToolTalk()


def read_tool_talk(folder: Path, records: Mapping[RunId, Record], tools: Iterable[str]) -> ToolTalk:
    """The phrases learned from `tools` (full names) and the runs' transcripts."""
    descriptions = PreflightFindings.read(folder).descriptions
    results: list[tuple[str, str, str]] = []
    elsewhere: set[str] = set()
    calls = {run: record.outcome.calls or () for run, record in records.items()}
    with_calls = [
        run for run in sorted(calls) if any(call.name.startswith("mcp__") for call in calls[run])
    ]
    for run in sample_of(with_calls):
        for tool, result in _results(folder, run):
            if tool.startswith("mcp__"):
                results.append((tool, run.task, result))
            else:
                elsewhere |= figures_of(result)
    if results:
        for run in sample_of(sorted(set(records) - set(with_calls))):
            elsewhere |= figures_of(
                run_files(folder, run).answer.read_text(errors="replace", encoding="utf-8")
            )
            elsewhere |= figures_of("".join(transcript_lines(folder, run)))
    return ToolTalk(learn_phrases(tools, descriptions), learn_figures(results, elsewhere))


def sample_of(runs: Sequence[RunId]) -> Sequence[RunId]:
    return runs[:: max(1, len(runs) // SAMPLE)][:SAMPLE]


def transcript_lines(folder: Path, run: RunId) -> Iterator[str]:
    """A transcript's lines, up to a limit; none when it is missing or damaged."""
    try:
        with gzip.open(
            run_files(folder, run).transcript, "rt", encoding="utf-8", errors="replace"
        ) as file:
            yield from file.readlines(_LONGEST)
    except (OSError, EOFError, zlib.error):
        return


def _results(folder: Path, run: RunId) -> Iterator[tuple[str, str]]:
    for step in read_timeline(transcript_lines(folder, run)):
        if step.kind == "call" and not step.failed:
            yield step.title, step.got


def learn_phrases(tools: Iterable[str], descriptions: Mapping[str, str]) -> tuple[str, ...]:
    """The words of the tools' names without the server's, and search methods in the descriptions; sorted."""
    phrases: set[str] = set()
    for name in tools:
        _, server, short = [*name.split("__", 2), "", ""][:3]
        phrases |= (
            {word for word in words_of(short) if len(word) > 2}
            - set(words_of(server))
            - {"mcp", "tool"}
        )
        for match in _PHRASE.finditer(descriptions.get(name, "")):
            phrases |= set(_tails(match[0].lower().replace(",", "").split()))
    return tuple(sorted(phrases))


def _tails(words: Sequence[str]) -> Iterator[str]:
    """A phrase and its suffixes of at least two words: "ranked code search" and "code search"."""
    for start in range(len(words) - 1):
        if _PLAIN.isdisjoint(words[start:]):
            yield " ".join(words[start:])


def words_of(name: str) -> list[str]:
    """The words of a name in snake, kebab or camel case, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)]


def figures_of(text: str) -> set[str]:
    """The names before numbers, as in `importers=3`, `"score": 1.5` and `hits: 4`."""
    return {match[1] for match in _FIGURE.finditer(text)}


def learn_figures(results: Iterable[tuple[str, str, str]], elsewhere: set[str]) -> tuple[str, ...]:
    """The names of figures in at least half of a tool's `results` (tool, task, text) and not `elsewhere`; sorted.
    Findings differ between tasks; the output format does not."""
    by_tool: dict[str, list[tuple[str, set[str]]]] = defaultdict(list)
    for tool, task, text in results:
        by_tool[tool].append((task, figures_of(text[:_LONGEST])))
    names: set[str] = set()
    for rows in by_tool.values():
        if len(rows) < _MIN_RESULTS:
            continue
        for name in set().union(*(figures for _, figures in rows)):
            tasks = [task for task, figures in rows if name in figures]
            if 2 * len(tasks) >= len(rows) and len(set(tasks)) >= _MIN_TASKS:
                names.add(name)
    return tuple(sorted(names - elsewhere))
