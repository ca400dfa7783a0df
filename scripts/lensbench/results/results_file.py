"""Types of results.json. Its numbers (N) are exact fractions until they are written, and floats when they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Generic, Literal, NotRequired

from typing_extensions import TypedDict

from lensbench.core.frozen_plan import AgentSettings, PlannedCondition, VerdictName
from lensbench.judging.trust import ReliabilityFile
from lensbench.runs.made_with import LongerReports
from lensbench.scores.complete_tasks import McNemar
from lensbench.scores.estimates_file import Compared
from lensbench.scores.measures import CategoryResults, ControlCheck, Count, Measure, N, ToolsOfRun
from lensbench.scores.wording import WordsChoice

RESULTS_SCHEMA = 1
"""The version of results.json (docs/versions.md); schemas/results.schema.json has every key with its meaning."""


class PairCounts(TypedDict):
    """Pairs of a comparison."""

    complete: int
    """Pairs in which both runs have a score."""
    planned: int
    """Pairs of the plan."""


class ComparisonResults(TypedDict, Generic[N]):
    """A treatment against the baseline, or against another treatment."""

    measures: dict[str, Measure[N]]
    """Quantity -> its averages and differences."""
    pairs: PairCounts
    """How many pairs there are."""
    wins: int
    """Pairs; the next two, too."""
    ties: int
    """Pairs with equal scores."""
    losses: int
    """Pairs in which the treatment has the lower score."""
    categories: dict[str, CategoryResults[N]]
    """Category -> what is so in its tasks."""
    adoption: dict[str, Count]
    """What happened to the treatment's tools -> in how many of its runs."""
    tools_by_run: list[ToolsOfRun]
    """The calls of each tool in each run of the treatment."""


class RunResult(TypedDict, Generic[N]):
    """A planned run."""

    task: str
    """The id of the task."""
    condition: str
    """The name of the condition."""
    trial: int
    """From 1."""
    category: str
    """That of the task."""
    status: str
    """scored, unjudged, discarded or missing."""
    reason: str
    """Of a discarded run: one of docs/reference/discards.md; else empty."""
    detail: str
    """What was observed of a discarded run."""
    score: N | None
    """A share of 1; None without one."""
    complete: str
    """yes for a score of 0.8 or more, else no; empty without a score."""
    duration_s: N | None
    """Seconds of the attempt that gave the answer; None when unknown, or prolonged by repeated requests."""
    tools_used: str
    """yes or no: whether it called a tool of its servers; empty when unknown."""
    tool_calls_reported: N | None
    """A count, as the agent's report has it."""
    tool_calls_observed: N | None
    """A count, as its transcript shows."""
    files_read_reported: N | None
    """A count, as the agent's report has it."""
    files_read_observed: N | None
    """A count, as its transcript shows."""


class StartSkew(TypedDict, Generic[N]):
    """Seconds between the starts of the runs of a pair."""

    pairs: int
    """Pairs of which both starts are known."""
    median: N | None
    """Seconds."""
    largest: N | None
    """Seconds."""


class BenchmarkFacts(TypedDict, Generic[N]):
    """What the tables and files of a run folder say."""

    schema: NotRequired[int]
    """The version of this file's schema."""
    run_id: str
    """The name of the run folder."""
    lensbench: str
    """The version that wrote this file."""
    imported: bool
    """True for runs that were made elsewhere."""
    baseline: str
    """The condition that the treatments are compared with."""
    treatments: list[str]
    """The compared conditions, in the order of the plan."""
    conditions: Mapping[str, PlannedCondition]
    """Name -> the condition as planned, the control too."""
    names: Mapping[str, str]
    """What readers call each condition and each comparison."""
    brings: dict[str, str]
    """Everything in which a condition may differ from the others, with hashes; empty for none."""
    tools: dict[str, list[str]]
    """Treatment -> the short names of its servers' tools."""
    server_versions: NotRequired[Mapping[str, Mapping[str, str]]]
    """Condition -> its servers -> the version that each reported before the runs."""
    notes: list[str]
    """The user's notes on this run."""
    agent: AgentSettings
    """The settings of the agent that made the runs."""
    agent_versions: list[str]
    """The versions that the agent reported."""
    model_mapping: str
    """Requested=answering models, as in timing.csv."""
    models: list[str]
    """The models that answered, as the service names them; empty when not shown."""
    first_start: str | None
    """Of a run: ISO 8601 in UTC; None for imported runs."""
    last_start: str | None
    """Of a run: ISO 8601 in UTC; None for imported runs."""
    tasks: int
    """How many are planned."""
    trials: int
    """How many are planned of each task and condition."""
    seed: int
    """That of the config."""
    power: float
    """The power of the minimum detectable effect, a share of 1."""
    repositories: list[dict[str, object]]
    """Key, source, revision, removed paths and history of each."""
    counts: dict[str, int]
    """Status in scores.csv -> planned runs."""
    verdicts: int
    """Rows of verdicts.csv."""
    judges: list[str]
    """Names with versions."""
    drafted_verdicts: int
    """Verdicts by drafted patterns."""
    runs: list[RunResult[N]]
    """Every planned run."""
    pairs: list[dict[str, object]]
    """The rows of pairs.csv."""
    comparisons: dict[str, ComparisonResults[N]]
    """Treatment, or `a against b` -> averages."""
    discards: dict[str, Counter[str]]
    """Reason -> condition -> how many rounds were discarded for it, also of runs that count now."""
    given_up: list[dict[str, object]]
    """Rows of validity.csv."""
    disagreements: dict[str, Count]
    """What was compared -> in how many runs report and transcript differ."""
    controls: list[ControlCheck]
    """Checks of the isolation of conditions."""
    start_skew_s: StartSkew[N]
    """How far the runs of a pair started apart."""
    endings: dict[str, dict[str, int]]
    """Condition -> how its answers ended -> runs."""
    longer_reports: dict[str, LongerReports]
    """By condition, of the runs that count."""
    unequal_reports: str
    """A sentence where the conditions differ in them; "" where they do not."""
    accepted_changes: Sequence[str]
    """Changes of the experiment in its middle, one sentence each."""
    polluted_durations: int
    """Runs without a duration, because the agent repeated requests."""
    estimated_costs: Mapping[str, int]
    """By what the cost of how many runs was estimated."""
    models_asked: list[str]
    """The models that the agent requested."""
    stopped: str
    """Why no more runs were started; empty when nothing stopped them."""
    alpha: float
    """The error of an interval, both sides, a share of 1."""
    estimates: Mapping[str, Compared]
    """Treatment, or `a against b` -> differences, and the verdict."""
    wording: WordsChoice | None
    """Which words to take; None without `gate.holdout`."""
    judge_reliability: ReliabilityFile
    """How far the judges can be trusted."""


ExactFacts = BenchmarkFacts[Fraction]
"""Before they are written; read from a file, numbers are floats."""


class Figure(TypedDict):
    """A formatted quantity; unknown values are a dash."""

    label: str
    """The name of the quantity, with its unit."""
    treatment: str
    """The average over complete pairs; if there are none, over all runs with a value."""
    baseline: str
    """The same for the baseline."""
    change: str
    """Points for shares, the geometric mean of relative changes for relative quantities, else the difference."""
    interval: str
    """The interval of `change`, in the same unit."""
    total: str
    """For relative quantities, the ratio of the totals and the share of the largest task; else empty."""
    tasks: int
    """The number of complete pairs."""


class Plain(TypedDict):
    """The first lines for a reader."""

    lead: str
    """The verdict in a few words."""
    facts: str
    """Tasks better, worse and the same, time and price, and categories: two sentences."""
    next: str
    """What to do."""
    sentence: str
    """The gate's verdict in numbers; of the offline agent, lead and facts again."""


class ChosenRun(TypedDict, Generic[N]):
    """A run that a person discarded, the first time that it was."""

    task: str
    """The id of the task."""
    condition: str
    """The name of the condition."""
    trial: int
    """From 1."""
    why: str
    """The person's reason."""
    score: N | None
    """When it was discarded; None when it had none."""
    counts_again: bool
    """True when it was made again since, and counts."""


class ByHand(TypedDict, Generic[N]):
    """The runs that a person discarded, and the deltas with and without them in words."""

    runs: list[ChosenRun[N]]
    """Each run once."""
    sentences: list[str]
    """The deltas as if they counted."""


class ChangesOfCondition(TypedDict, Generic[N]):
    """The tested changes of a condition; sizes are means over its runs."""

    resolved: int
    """Runs whose change passes the hidden tests."""
    runs: int
    """Tested runs."""
    files: N | None
    """Changed files."""
    lines: N | None
    """Added and removed lines."""
    reference_lines: N | None
    """Those of the reference."""
    left_out: int
    """Runs with edits that were not applied: of hidden files, and of what configures tests."""
    untrusted: int
    """Runs whose results do not count: wrong assertions held as well, or the report was written by others."""
    timed_out: int
    """Runs whose tests took too long, or used too much memory or too many processes."""


class ChangedRun(TypedDict, Generic[N]):
    """What the tests said about the change of a run."""

    task: str
    """The id of the task."""
    condition: str
    """The name of the condition."""
    trial: int
    """From 1."""
    resolved: bool
    """All failing tests pass, and no other broke."""
    share: N
    """The failing tests that pass now; 0 where a passing test broke."""
    reason: str
    """Why it is not resolved; empty when it is."""
    suspicions: list[str]
    """What the patch has that can steer a judge; it changes no score."""


class Changes(TypedDict, Generic[N], total=False):
    """The results of change tasks; empty without such tasks."""

    runs: list[ChangedRun[N]]
    """Every tested run."""
    unjudged: int
    """Runs whose tests gave no result."""
    conditions: dict[str, ChangesOfCondition[N]]
    """By condition."""
    treatments: dict[str, McNemar]
    """Treatment -> the test of the tasks that one side resolves."""


LossKind = Literal["unopened", "cut", "failed", "large", "uncalled"]
"""What may be so in the treatment's run of a lost pair (results/lost_pairs.py)."""


class LostRun(TypedDict, Generic[N]):
    """What a run of a lost pair shows. None is what it does not show."""

    step: int | None
    """The number of the step of its first call that the other run did not make in this place; None for no such call."""
    call: str | None
    """That call on one line; empty when it made no further call."""
    unopened: list[str] | None
    """Of the pair's files, those that no call read or named."""
    results_tokens: int | None
    """The tokens of all results of tools, estimated."""
    share: N | None
    """Their part of the largest request, a share of 1."""
    largest: str | None
    """The tool with the largest result; empty without calls."""
    largest_tokens: int | None
    """The tokens of that result, estimated."""
    cut: list[str] | None
    """The tools of results that the agent cut, one for each."""
    failed: list[str] | None
    """The tools of failed calls, one for each."""


class LostPair(TypedDict, Generic[N]):
    """A pair in which the treatment has the lower score. It describes the runs, and proves no cause."""

    task: str
    """The id of the task."""
    trial: int
    """From 1."""
    delta: N
    """A share of 1."""
    files: list[str]
    """Those that the criteria name on which the treatment did worse: by their proofs, or else in their text."""
    baseline: LostRun[N]
    """The baseline's run."""
    treatment: LostRun[N]
    """The treatment's run."""
    kinds: dict[LossKind, bool | None]
    """What is so in the treatment's run; None where it is not shown."""


class Losses(TypedDict, Generic[N]):
    """The lost pairs of a treatment."""

    says: list[str]
    """A line for each kind that occurs more than once."""
    pairs: list[LostPair[N]]
    """Those of the most frequent kind first; in each kind the greatest loss first."""


Word = Literal["earns", "costs", "cannot tell"]
"""`earns`: leaving it out loses, or costs more. `costs`: leaving it out gains, or saves at answers no worse."""


class Member(TypedDict):
    """A row: what leaving out a member changes, against everything. Texts are ready to be shown."""

    member: str
    """The name of what is removed."""
    condition: str
    """The condition without it."""
    word: Word
    """What it does, in a word."""
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
    """What readers should know first, one sentence each."""
    warnings: list[str]
    """What is doubtful about this benchmark, one sentence each."""
    judging: dict[str, object]
    """A Judges (page/judges.py)."""
    unjudged_criteria: int
    """Criteria of runs that count without a verdict."""
    criteria_of_runs: int
    """Criteria of runs that count."""
    figures: dict[str, dict[str, Figure]]
    """Treatment, or `a against b` -> quantity -> how it is shown."""
    plain: dict[str, Plain]
    """Treatment, or `a against b` -> the verdict in words."""
    verdicts_on: dict[str, VerdictName]
    """Treatment, or `a against b` -> the gate's verdict."""
    ladder: list[dict[str, str]]
    """Steps (results/ladder.py)."""
    ladder_says: list[str]
    """What the ladder shows, one sentence each."""
    ablation: list[Member]
    """What leaving out each member changes (results/ablation.py); empty without an ablation."""
    ablation_says: list[str]
    """What the ablation shows, one sentence each."""
    losses: dict[str, Losses[N]]
    """Treatment -> the pairs that it lost; without treatments that lost none."""
    published: list[dict[str, object]]
    """Pairs with the scores that others published."""
    published_delta: dict[str, N | None]
    """Treatment -> the mean published difference, a share of 1; None without any."""
    by_hand: ByHand[N]
    """Runs that a person discarded."""
    uncounted: str
    """What attempts that do not count cost, in a sentence; empty without any."""
    footprints: Mapping[str, Sequence[str]]
    """Treatment -> what its tools take of each request, one sentence each."""
    requests: Mapping[str, str]
    """Treatment -> the file in which its first request differs from the baseline's, where that was measured."""
    changes: Changes[N]
    """The results of change tasks."""
