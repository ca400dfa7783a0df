"""What a server costs before and when it is asked: tokens of its tool list and of its results, estimated."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from statistics import mean

from lensbench.agents.timeline import read_timeline
from lensbench.core.preflight_results import BYTES_A_TOKEN, read_kept, read_tools_of
from lensbench.judging.tool_talk import sample_of, transcript_lines
from lensbench.scores.run_tables import Tables
from lensbench.scores.scores import short_name


def footprint(folder: Path, tables: Tables, treatment: str) -> list[str]:
    """The figures in sentences; none that are unknown."""
    listed, baseline = read_kept(folder, "list_tokens").get(treatment), tables.plan["baseline"]
    if not isinstance(listed, int):
        return []
    said = [f"The tool list and instructions are about {listed:,} tokens of every request (4 bytes a token)."]
    tools = sorted(map(short_name, read_tools_of(folder, treatment)), key=len, reverse=True)
    served, own = _results(folder, tables, treatment, tools), _results(folder, tables, baseline, [])
    means = (f"{tool} {mean(found):,.0f} in {len(found)}" for tool, found in sorted(served.items()) if tool)
    if each := ", ".join(means):
        said.append(f"Estimated tokens of results, on average over calls: {each}.")
    if each and (usual := own.get("")):
        spared = mean(usual) - mean(size for tool, found in served.items() if tool for size in found)
        paid = f"after {ceil(listed / spared):,} calls that spare one" if spared > 0 else "by calls that spare several"
        said.append(f"One of the agent's own tools has {mean(usual):,.0f}: the list is paid for {paid} of these.")
    return said


def _results(folder: Path, tables: Tables, condition: str, tools: list[str]) -> dict[str, list[float]]:
    """Tool of the server, or "" for the agent's own -> the tokens of each result."""
    found: dict[str, list[float]] = {}
    for run in sample_of(sorted(record.run for record in tables.valid if record.condition == condition)):
        for step in read_timeline(transcript_lines(folder, run)):
            if step.kind == "call" and not step.failed:
                tool = next((name for name in tools if step.title.endswith(name)), "")
                found.setdefault(tool, []).append((step.size or len(step.got.encode())) / BYTES_A_TOKEN)
    return found
