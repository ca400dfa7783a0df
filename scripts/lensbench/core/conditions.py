"""Conditions: their MCP servers, and the commands that register a workspace with a running server."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import BankSettings, Plan, PlannedCondition
from lensbench.core.records import sha256
from lensbench.core.system.processes import run_process
from lensbench.core.system.redaction import literal_secrets

CLOSED_BOOK = "closed_book"
"""The name of the closed-book control: the same prompt in an empty folder, without servers. It is not compared."""
AGAIN = "baseline_again"
"""The name of the control that repeats a fifth of the baseline when an earlier baseline is reused."""
FURTHER = re.compile(r"baseline_[0-9]+")
"""The names of the controls that hold further runs of earlier baselines; the first of them is `baseline_2`."""
NO_SERVERS = '{"mcpServers": {}}\n'
LONGEST_LINE = 300

LENS_CACHE = "lens_cache"
"""In MCP files: the folder with the built-in server's index of the repository."""

Command = Literal["setup", "teardown"]


def compared(plan: Plan) -> dict[str, PlannedCondition]:
    """The planned conditions without the controls."""
    apart = {CLOSED_BOOK, *tasks_of_bank(plan)}
    return {name: condition for name, condition in plan["conditions"].items() if name not in apart}


def tasks_of_bank(plan: Plan) -> dict[str, Sequence[str]]:
    """The controls of a bank of baselines, each with its tasks: those whose baseline is repeated, and those for which a
    further baseline was borrowed."""
    return {AGAIN: plan["bank"]["again"], **plan["bank"].get("further", {})} if "bank" in plan else {}


def further_baselines(plan: Plan) -> list[str]:
    """The controls whose scores are averaged with the baseline's."""
    return list(plan["bank"].get("further", {})) if "bank" in plan else []


def lenders(bank: BankSettings) -> tuple[str, ...]:
    """The run folders of the earlier benchmarks, the first one first."""
    return (bank["baseline"],) if isinstance(bank["baseline"], str) else tuple(bank["baseline"])


def with_further(plan: Plan, further: Mapping[str, Sequence[str]]) -> Plan:
    """The plan with the controls that hold further runs of earlier baselines."""
    if not further or "bank" not in plan:
        return plan
    arms = dict.fromkeys(further, plan["conditions"][plan["baseline"]])
    return {**plan, "conditions": {**plan["conditions"], **arms}, "bank": {**plan["bank"], "further": further}}


def planned_conditions(plan: Plan, task: str) -> list[str]:
    """The conditions of a task: all except the controls that do not have this task."""
    some = tasks_of_bank(plan)
    return [name for name in plan["conditions"] if name not in some or task in some[name]]


def treatments(plan: Plan) -> list[str]:
    """The conditions that are compared with the baseline."""
    return [name for name in compared(plan) if name != plan["baseline"]]


class Contrast(NamedTuple):
    """Two treatments of which one is compared with the other, such as two versions of a server."""

    treatment: str
    baseline: str
    """The treatment that takes the baseline's place."""

    def __str__(self) -> str:
        return f"{self.treatment}{_AGAINST}{self.baseline}"


_AGAINST = " against "


def read_contrast(text: str) -> Contrast:
    """The contrast that a text such as `v2 against v1` means."""
    treatment, _, baseline = text.partition(_AGAINST)
    return Contrast(treatment, baseline)


def decided_contrasts(plan: Plan) -> list[Contrast]:
    """The contrasts that the gate decides."""
    return [read_contrast(text) for text in plan["gate"].get("contrasts", ())]


def fill_mcp_file(condition: PlannedCondition, values: Mapping[str, str]) -> str:
    """The MCP file of a planned condition for one run, with `${workspace}`, `${python}`, `${server_log}` and `${here}`
    (the folder of the file itself) replaced.

    Other `${...}` are kept for agents, which replace them from their environment. Raises UserError when the file
    differs from the planned one.
    """
    if condition["mcp"] is None:
        return NO_SERVERS
    content = Path(condition["mcp"]).read_bytes()
    if sha256(content) != condition["mcp_sha256"]:
        raise UserError(f"{condition['mcp']} was changed during the benchmark; start Snakemake again")
    here = str(Path(condition["mcp"]).resolve().parent)
    return json.dumps(filled(json.loads(content), {"here": here, **values}))


def reads_index(condition: PlannedCondition) -> bool:
    """True when the condition's MCP file names the folder of indexes."""
    with suppress(OSError, UnicodeDecodeError):  # reported when the file is read for a run
        return condition["mcp"] is not None and f"${{{LENS_CACHE}}}" in Path(condition["mcp"]).read_text(
            encoding="utf-8"
        )
    return False


def mcp_secrets(plan: Plan) -> dict[str, str]:
    """The secrets in the MCP files of all planned conditions, by name."""
    found: dict[str, str] = {}
    for condition in plan["conditions"].values():
        with suppress(OSError, ValueError, KeyError, AttributeError):  # a missing file has no secrets
            if condition["mcp"]:
                found |= literal_secrets(json.loads(Path(condition["mcp"]).read_text(encoding="utf-8"))["mcpServers"])
    return found


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """Plain data with `${name}` replaced in all strings except keys; unknown names are kept."""
    if isinstance(value, str):
        return Template(value).safe_substitute(values)
    if isinstance(value, list):
        return [filled(item, values) for item in value]
    return {key: filled(item, values) for key, item in value.items()} if isinstance(value, dict) else value


def filled_command(command: Sequence[str], workspace: str) -> list[str]:
    """A setup or teardown command with the workspace filled in."""
    return [part.replace("{workspace}", workspace) for part in command]


def run_command(condition: PlannedCondition, name: Command, workspace: str) -> str:
    """Runs the condition's `setup` or `teardown` for a workspace; returns why it failed, "" when it did not.

    It runs in the current folder with the user's environment, since it belongs to the user, not to the agent. Without
    such a command nothing happens. Processes that the command leaves running are ended.
    """
    command = condition.get(name, ())
    if not command:
        return ""
    argv = filled_command(command, workspace)
    limit_s = condition["setup_s"]
    try:
        last, ended = run_process(argv, os.environ, os.getcwd(), limit_s, subprocess.STDOUT, _last_line)
    except OSError as error:
        return f"{name} cannot be started: {argv[0]}: {error.strerror}"
    if ended.exit_code == 0:
        return ""
    how = f"not done in {limit_s:g} s" if ended.timed_out else f"exit code {ended.exit_code}"
    return f"{name} failed, {how}" + (f": {last}" if last else "")


def _last_line(lines: Iterator[str]) -> str:
    last = deque((line for line in lines if line.strip()), maxlen=1)
    return " ".join(last[0].split())[:LONGEST_LINE] if last else ""
