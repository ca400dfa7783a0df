"""What earns its place: what leaving out each server, skill, file or tool of an ablation changes (docs/ablation.md).

Everything is the baseline, and each condition that goes without a member is a treatment: the gate's verdict on leaving
it out says whether the member earns its place. All these verdicts share the gate's error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lensbench.core import numbers
from lensbench.core.conditions import is_named, left_out
from lensbench.core.preflight_results import PreflightFindings
from lensbench.plan.ablation import NO_MEMBER
from lensbench.results.presented import shown_difference
from lensbench.scores.estimates_file import decided_by_gate
from lensbench.scores.gate_words import OF_MEMBER

if TYPE_CHECKING:
    from lensbench.core.records import Record
    from lensbench.results.results_file import ExactFacts, Figure, Member, Word
    from lensbench.runs.requests_file import RequestFindings
    from lensbench.scores.estimates_file import Compared
    from lensbench.scores.run_tables import Tables

ORDER: tuple[Word, ...] = ("costs", "earns", "cannot tell")
"""What can be decided comes first."""
SHOWN_QUANTITIES = {
    "Score without it": "score",
    "Tokens in": "tokens_input",
    "Cost": "cost_usd",
    "Time": "duration_s",
}
"""The headings of the quantities that leaving out changes."""


def ablation(
    data: ExactFacts,
    tables: Tables,
    listing: PreflightFindings,
    requests: RequestFindings,
    figures: Mapping[str, Mapping[str, Figure]],
) -> tuple[list[Member], list[str]]:
    """The rows of an ablation, and what they show together in sentences; both empty for other benchmarks."""
    plan = tables.plan
    everything = [record for record in tables.valid if record.condition == data["baseline"]]
    listed = listing.tools.get(data["baseline"], ())
    members: list[Member] = []
    tools: list[str] = []
    for name, comparison in decided_by_gate(data["estimates"]).items():
        members_out = left_out(data, comparison["treatment"])
        if not members_out or name == NO_MEMBER or comparison["baseline"] != data["baseline"]:
            continue
        added = requests.addition(name, plan["settings_sha256"])
        tokens = added.tokens if added else _listed(listing, data["baseline"], name)
        tools += data["conditions"][name].get("tools", {}).get("without", ())
        called = _called(everything, members_out, listed)
        row = _member(name, comparison, members_out, called, tokens)
        for heading, quantity in SHOWN_QUANTITIES.items():
            row["changes"][heading] = _shown(figures[name].get(quantity))
        members.append(row)
    if not members:
        return [], []
    members.sort(key=lambda row: ORDER.index(row["word"]))
    is_whole = not tools or all(_is_one_of(tools, tool) for tool in listed)
    return members, [*_sentences(data, members, plan["gate"]["margin"], is_whole)]


def _is_one_of(names: Iterable[str], tool: str) -> bool:
    return any(is_named(tool, name) for name in names)


def _member(
    name: str,
    comparison: Compared,
    members: Iterable[str],
    called: str,
    tokens: int | None,
) -> Member:
    gate = comparison["gate"]
    word: Word = OF_MEMBER.get(gate.verdict, "cannot tell")
    return {
        "member": " and ".join(members),
        "condition": name,
        "word": word,
        "called": called,
        "tokens": numbers.MISSING if tokens is None else f"{abs(tokens):,}",
        "changes": {},
        "needs": gate.needs if word == "cannot tell" else "",
    }


def _shown(figure: Figure | None) -> str:
    if figure is None:
        return numbers.MISSING
    if figure["interval"] == numbers.MISSING:
        return figure["change"]
    return f"{figure['change']} ({figure['interval']})"


def _listed(listing: PreflightFindings, everything: str, name: str) -> int | None:
    """What the tool lists say that a member adds to a request."""
    if everything not in listing.list_tokens:
        return None
    return listing.list_tokens[everything] - listing.list_tokens.get(name, 0)


def _called(records: list[Record], members: Iterable[str], tools: Iterable[str]) -> str:
    """In how many runs a tool of one of these servers, or one of these tools, was called without an error, of those
    that show their calls. `tools`: those that the servers list."""
    servers: set[str] = set()
    worked: list[set[str]] = []
    for record in records:
        servers.update(record.taps or record.outcome.servers or ())
        if record.seen.calls is not None:
            worked.append({call.name for call in record.seen.calls if call.count > call.errors})
    beginnings = tuple(f"mcp__{member}__" for member in members if member in servers)
    meant = {tool for tool in tools if _is_one_of(members, tool)}
    if not worked or not (beginnings or meant):
        return numbers.MISSING
    called = 0
    for names in worked:
        called += any(name.startswith(beginnings) or name in meant for name in names)
    return f"{called} of {len(worked)}"


def _sentences(
    data: ExactFacts, members: list[Member], margin: float, is_whole: bool
) -> Iterable[str]:
    """Which members can go, and what they do together, if `none` lacks nothing else (`is_whole`). `margin`: by how many
    points answers must not be worse."""
    by_word: dict[Word, list[str]] = {"earns": [], "costs": [], "cannot tell": []}
    for row in members:
        by_word[row["word"]].append(row["member"])
    if not by_word["earns"] and not by_word["costs"]:
        yield "No member is shown to earn its place, and none to cost more than it gives."
    if by_word["costs"]:
        yield f"{_these(by_word['costs'])} can go."
    savers = []
    for row in members:
        if data["estimates"][row["condition"]]["gate"].verdict == "SAVES":
            savers.append(row["member"])
    if len(savers) > 1:
        yield (
            f"{_these(savers)} only save, each alone: take out one and ask again, as they may replace each other."
        )
    if by_word["earns"]:
        verb = "earns its" if len(by_word["earns"]) == 1 else "earn their"
        yield f"{_these(by_word['earns'])} {verb} place."
    nothing = data["estimates"].get(NO_MEMBER) if is_whole else None
    if nothing is None or "gate" not in nothing or nothing["gate"].verdict != "HARM":
        return
    yield f"Without all of them answers are worse ({numbers.points(shown_difference(nothing).delta)})."
    can_go = [_is_no_worse(data["estimates"][row["condition"]], margin / 100) for row in members]
    if not by_word["earns"] and all(can_go):
        count = {2: "two"}.get(len(members), str(len(members)))
        yield (
            f"Leaving out any one of them alone makes answers at most {margin:g} points worse: one of these"
            f" {count} is enough."
        )


def _is_no_worse(comparison: Compared, margin: float) -> bool:
    low = shown_difference(comparison).low
    return low is not None and low > -margin


def _these(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
