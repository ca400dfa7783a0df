"""Types of results.json. Its numbers (N) are exact fractions until they are written, and floats when they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Generic, Literal, NotRequired

from typing_extensions import TypedDict

from lensbench.core.frozen_plan import AgentSettings, PlannedCondition, Verdict
from lensbench.judging.trust import InstrumentFile
from lensbench.runs.made_with import LongerReports
from lensbench.scores.complete_tasks import McNemar
from lensbench.scores.estimates_file import Compared
from lensbench.scores.measures import CategoryResults, ControlCheck, Count, Measure, N, ToolsOfRun


class PairCounts(TypedDict):
    """Pairs of a comparison."""

    complete: int
    planned: int


class ComparisonResults(TypedDict, Generic[N]):
    """A treatment against the baseline, or against another treatment."""

    measures: dict[str, Measure[N]]
    pairs: PairCounts
    wins: int
    """Pairs; the next two, too."""
    ties: int
    losses: int
    categories: dict[str, CategoryResults[N]]
    adoption: dict[str, Count]
    tools_by_run: list[ToolsOfRun]


class RunResult(TypedDict, Generic[N]):
    """A planned run."""

    task: str
    condition: str
    trial: int
    category: str
    status: str
    reason: str
    detail: str
    score: N | None
    complete: str
    duration_s: N | None
    tools_used: str
    tool_calls_reported: N | None
    tool_calls_observed: N | None
    files_read_reported: N | None
    files_read_observed: N | None


class StartSkew(TypedDict, Generic[N]):
    """Seconds between the starts of the runs of a pair."""

    pairs: int
    median: N | None
    largest: N | None


class BenchmarkFacts(TypedDict, Generic[N]):
    """What the tables and files of a run folder say."""

    run_id: str
    lensbench: str
    imported: bool
    baseline: str
    treatments: list[str]
    conditions: Mapping[str, PlannedCondition]
    names: Mapping[str, str]
    """What readers call each condition and each comparison."""
    brings: dict[str, str]
    """Everything in which a condition may differ from the others, with hashes; empty for none."""
    tools: dict[str, list[str]]
    server_versions: NotRequired[Mapping[str, Mapping[str, str]]]
    """Condition -> its servers -> the version that each reported before the runs."""
    notes: list[str]
    agent: AgentSettings
    agent_versions: list[str]
    model_mapping: str
    models: list[str]
    first_start: str | None
    last_start: str | None
    tasks: int
    trials: int
    seed: int
    power: float
    repositories: list[dict[str, object]]
    counts: dict[str, int]
    verdicts: int
    judges: list[str]
    drafted_verdicts: int
    runs: list[RunResult[N]]
    pairs: list[dict[str, object]]
    """The rows of pairs.csv."""
    comparisons: dict[str, ComparisonResults[N]]
    discards: dict[str, Counter[str]]
    given_up: list[dict[str, object]]
    """Rows of validity.csv."""
    disagreements: dict[str, Count]
    controls: list[ControlCheck]
    start_skew_s: StartSkew[N]
    endings: dict[str, dict[str, int]]
    longer_reports: dict[str, LongerReports]
    """By condition, of the runs that count."""
    unequal_reports: str
    """A sentence where the conditions differ in them; "" where they do not."""
    accepted_changes: Sequence[str]
    polluted_durations: int
    estimated_costs: Mapping[str, int]
    """By what the cost of how many runs was estimated."""
    models_asked: list[str]
    stopped: str
    alpha: float
    estimates: Mapping[str, Compared]
    instrument: InstrumentFile


class Figure(TypedDict):
    """A formatted quantity; unknown values are a dash."""

    label: str
    treatment: str
    """The average over complete pairs; if there are none, over all runs with a value."""
    baseline: str
    change: str
    """Points for shares, the typical relative change for relative quantities, else the difference."""
    interval: str
    """The interval of `change`, in the same unit."""
    total: str
    """For relative quantities, the ratio of the totals and the share of the largest task; else empty."""
    tasks: int
    """The number of complete pairs."""


class Plain(TypedDict):
    """The first lines for a reader."""

    lead: str
    facts: str
    """Tasks better, worse and the same, time and price, and categories: two sentences."""
    next: str
    sentence: str
    """The gate's verdict in numbers; of the offline agent, lead and facts again."""


class ChosenRun(TypedDict, Generic[N]):
    """A run that a person discarded, the first time that it was."""

    task: str
    condition: str
    trial: int
    why: str
    score: N | None
    """When it was discarded; None when it had none."""
    counts_again: bool
    """True when it was made again since, and counts."""


class ByHand(TypedDict, Generic[N]):
    """The runs that a person discarded, and the deltas with and without them in words."""

    runs: list[ChosenRun[N]]
    sentences: list[str]


class ChangesOfCondition(TypedDict, Generic[N]):
    """The tested changes of a condition; sizes are means over its runs."""

    resolved: int
    runs: int
    files: N | None
    lines: N | None
    reference_lines: N | None
    left_out: int
    """Runs with edits that were not applied: of hidden files, and of what configures tests."""
    untrusted: int
    """Runs whose results do not count: wrong assertions held as well, or the report was written by others."""
    timed_out: int
    """Runs whose tests took too long, or used too much memory or too many processes."""


class ChangedRun(TypedDict, Generic[N]):
    """What the tests said about the change of a run."""

    task: str
    condition: str
    trial: int
    resolved: bool
    """All failing tests pass, and no other broke."""
    share: N
    """The failing tests that pass now; 0 where a passing test broke."""
    reason: str
    suspicions: list[str]
    """What the patch has that can steer a judge; it changes no score."""


class Changes(TypedDict, Generic[N], total=False):
    """The results of change tasks; empty without such tasks."""

    runs: list[ChangedRun[N]]
    unjudged: int
    conditions: dict[str, ChangesOfCondition[N]]
    treatments: dict[str, McNemar]


Word = Literal["earns", "costs", "cannot tell"]
"""`earns`: leaving it out loses, or costs more. `costs`: leaving it out gains, or saves at answers no worse."""


class Member(TypedDict):
    """A row: what leaving out a member changes, against everything. Texts are ready to be shown."""

    member: str
    condition: str
    word: Word
    called: str
    """In how many runs with everything its tools were called; a dash for what has no tools."""
    tokens: str
    """What it adds to every request, estimated."""
    changes: dict[str, str]
    """Of score, tokens, cost and time, by the headings of the table: the change with its interval."""
    needs: str
    """What would be needed to tell; empty where the word is told."""


class Results(BenchmarkFacts[N], Generic[N]):
    """results.json: the facts, and the words for them."""

    headlines: list[str]
    warnings: list[str]
    judging: dict[str, object]
    """A Judges (page/judges.py)."""
    unjudged_criteria: int
    criteria_of_runs: int
    figures: dict[str, dict[str, Figure]]
    plain: dict[str, Plain]
    verdicts_on: dict[str, Verdict]
    ladder: list[dict[str, str]]
    """Steps (results/ladder.py)."""
    ladder_says: list[str]
    ablation: list[Member]
    """What leaving out each member changes (results/ablation.py); empty without an ablation."""
    ablation_says: list[str]
    published: list[dict[str, object]]
    published_delta: dict[str, N | None]
    by_hand: ByHand[N]
    uncounted: str
    footprints: Mapping[str, Sequence[str]]
    requests: Mapping[str, str]
    """Treatment -> the file in which its first request differs from the baseline's, where that was measured."""
    changes: Changes[N]
