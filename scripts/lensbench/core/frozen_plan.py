"""Types of the frozen plan, and of repositories.json beside it: JSON documents that every stage reads.

Optional keys were added later than the oldest plans that can still be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NotRequired

from typing_extensions import ReadOnly, TypedDict

MECHANICAL: Final = "mechanical"
HUMAN: Final = "human"
TESTS: Final = "tests"
"""The judge of changes, present when there are change tasks."""

GIVEN: Final = "given"
"""The judge that repeats scores from elsewhere (`lensbench verdict`); nobody checked how the runs were made."""

VerdictName = Literal["HARM", "GO", "SAVES", "COSTS", "NO-GO", "INCONCLUSIVE"]
"""The verdicts of the gate on a treatment, in the order in which it looks for them."""


class AgentSettings(TypedDict, total=False):
    """An agent under test or as a judge: the keys of `agent` in the config."""

    kind: ReadOnly[str]
    profile: ReadOnly[str]
    """`stock`; strict where it is missing. The next one is only there when it is true."""
    report: ReadOnly[bool]
    command: ReadOnly[Sequence[str]]
    model: ReadOnly[str]
    models: ReadOnly[Mapping[str, str]]
    served: ReadOnly[str]
    version: ReadOnly[str]
    provider: ReadOnly[str]
    base_url: ReadOnly[str]
    token_env: ReadOnly[str]
    tools: ReadOnly[Sequence[str]]
    tool_search: ReadOnly[bool]
    max_turns: ReadOnly[int]
    retries: ReadOnly[int]
    timeout_s: ReadOnly[float]
    mcp_start_s: ReadOnly[float]
    pass_env: ReadOnly[Sequence[str]]
    tee: ReadOnly[bool]
    """Only there when the config has it."""


ToolFilter = Mapping[str, Sequence[str]]
"""Which tools of its servers a condition has: `only` these, or those `without` these; with or without
`mcp__<server>__`."""


class PlannedCondition(TypedDict):
    """A condition in the plan."""

    mcp: ReadOnly[str | None]
    """The MCP file; None without servers."""
    mcp_sha256: ReadOnly[str]
    """The hash of this file; empty without one."""
    servers: ReadOnly[Sequence[str]]
    """Their names in this file."""
    setup: ReadOnly[NotRequired[Sequence[str]]]
    teardown: ReadOnly[NotRequired[Sequence[str]]]
    setup_s: ReadOnly[NotRequired[float]]
    writes: ReadOnly[NotRequired[Sequence[str]]]
    """Paths in the workspace that belong to its servers."""
    errors: ReadOnly[NotRequired[Mapping[str, Sequence[str]]]]
    """Patterns of answers that are errors, by server."""
    files: ReadOnly[NotRequired[Mapping[str, str]]]
    """What it brings into the workspace: path -> sha256 of the text, which is in the plan's `texts`."""
    without: ReadOnly[NotRequired[Sequence[str]]]
    """Servers of the MCP file, skills and paths that it goes without."""
    tools: ReadOnly[NotRequired[ToolFilter]]
    """The part of its servers' tools that it has; all of them without it."""
    describe: ReadOnly[NotRequired[str]]
    """The sha256 of its servers' other words, which are in the plan's `texts`."""
    agent: ReadOnly[NotRequired[AgentSettings]]
    """The agent's settings that are others than in the other conditions."""


class PlannedTask(TypedDict):
    """A task without its texts, which are in separate files."""

    category: ReadOnly[str]
    repository: ReadOnly[str | None]
    """A key of `repositories`."""
    prompt_sha256: ReadOnly[str]
    criteria: ReadOnly[int]
    criteria_sha256: ReadOnly[NotRequired[str]]
    kind: ReadOnly[NotRequired[str]]
    """`change` when the answer is a change; a question otherwise."""


class PlannedJudge(TypedDict):
    """A judge; a model judge has an agent and a prompt."""

    name: ReadOnly[str]
    prompt: ReadOnly[NotRequired[str]]
    agent: ReadOnly[NotRequired[AgentSettings]]


class JudgingSettings(TypedDict):
    """How judges are asked: the keys of `judging` in the config."""

    human_sample: ReadOnly[float]
    private: ReadOnly[NotRequired[bool]]
    """No model judge may be asked."""


class Aim(TypedDict):
    """The aim of a comparison."""

    effect: ReadOnly[float]
    """The smallest worthwhile effect, in percentage points."""
    alpha: ReadOnly[float]
    power: ReadOnly[float]


class GateSettings(Aim):
    """The rules for a verdict: the keys of `gate` in the config."""

    looks: ReadOnly[int]
    over: ReadOnly[str]
    comparisons: ReadOnly[Sequence[str]]
    """The treatments that are also compared with each other, such as `v2 against v1`."""
    saves: ReadOnly[str]
    """What a treatment may save; the limits are in percentage points of the score and in percent of this quantity."""
    margin: ReadOnly[float]
    least: ReadOnly[float]
    holdout: ReadOnly[NotRequired[float]]
    """The share of the tasks on which the choice of words is confirmed."""


class SandboxSettings(TypedDict, total=False):
    """The settings of the sandbox."""

    mode: ReadOnly[str]
    visible: ReadOnly[Sequence[str]]
    network: ReadOnly[str]
    same_path: ReadOnly[bool]
    hosts: ReadOnly[Sequence[str]]
    limits: ReadOnly[Mapping[str, float]]
    hidden: ReadOnly[Sequence[str]]
    packages: ReadOnly[Sequence[str]]
    """Python packages under test in change tasks: another release of them may contain the fix."""


class PlannedPrices(TypedDict):
    """US dollars per million tokens of each kind."""

    input: ReadOnly[float]
    cache_read: ReadOnly[float]
    cache_write: ReadOnly[float]
    output: ReadOnly[float]


class ModelPrice(PlannedPrices):
    """What a model costs: an entry of `prices` in the config."""

    date: ReadOnly[str]
    source: ReadOnly[str]
    changes: ReadOnly[NotRequired[Mapping[str, PlannedPrices]]]
    """Prices that hold from a day on."""


class Look(TypedDict):
    """Which of the planned waves a plan was restricted to."""

    taken: ReadOnly[int]
    of: ReadOnly[int]
    share: ReadOnly[float]
    """Of the planned runs, 0 to 1."""


class Plan(TypedDict):
    """Everything that a run depends on (protocol, sections 1, 5 and 6)."""

    format: ReadOnly[NotRequired[int]]
    """The layout of the run folder."""
    run_id: ReadOnly[str]
    imported: ReadOnly[bool]
    seed: ReadOnly[int]
    trials: ReadOnly[int]
    baseline: ReadOnly[str]
    conditions: ReadOnly[Mapping[str, PlannedCondition]]
    agent: ReadOnly[AgentSettings]
    agent_sha256: ReadOnly[NotRequired[str]]
    model_mapping: ReadOnly[str]
    max_rounds: ReadOnly[int]
    sandbox: ReadOnly[NotRequired[SandboxSettings]]
    budget: ReadOnly[NotRequired[Mapping[str, float | None]]]
    """The limits on cost: the keys of `budget` in the config."""
    prices: ReadOnly[NotRequired[Mapping[str, ModelPrice]]]
    """The user's prices, by the pattern of a model's name."""
    judges: ReadOnly[Sequence[PlannedJudge]]
    judging: ReadOnly[JudgingSettings]
    gate: ReadOnly[GateSettings]
    order: ReadOnly[Sequence[str]]
    tasks: ReadOnly[Mapping[str, PlannedTask]]
    repositories: ReadOnly[Mapping[str, Mapping[str, Any]]]
    accepted_changes: ReadOnly[Sequence[str]]
    warnings: ReadOnly[Sequence[str]]
    texts: ReadOnly[NotRequired[Mapping[str, str]]]
    """The files that conditions bring, by the sha256 of their text."""
    notes: ReadOnly[NotRequired[Sequence[str]]]
    """The user's note on what is new in this run."""
    holdout: ReadOnly[NotRequired[Sequence[str]]]
    """The tasks on which the choice of words is confirmed; it is made on the others."""
    settings_sha256: ReadOnly[str]
    dealt: ReadOnly[NotRequired[Sequence[str]]]
    """The tasks assigned to waves before others were added."""
    look: ReadOnly[NotRequired[Look]]
    """Present only in a plan restricted to its open waves."""
    planned_agent: ReadOnly[NotRequired[AgentSettings]]
    """The agent in the config, when all runs used another one."""


class RepositoryFacts(TypedDict, total=False):
    """A fetched repository, as in repositories.json; nothing is known about one that was not fetched."""

    tree: ReadOnly[str]
    """Its folder in the cache, from the project's folder."""
    tree_sha256: ReadOnly[str]
    revision: ReadOnly[str]
    removed: ReadOnly[Sequence[str]]
    """The paths that no agent may see."""
    history: ReadOnly[str]
    """`kept`, `kept, without <what>`, `none`, or `dropped: <why>`."""
    has_history: ReadOnly[bool]
    empty: ReadOnly[Sequence[str]]
    """The submodules whose files cannot be had."""
    source: ReadOnly[Mapping[str, Any]]
    """As in the plan."""


Repositories = dict[str, RepositoryFacts]
"""repositories.json: the repositories by their keys in the plan."""
