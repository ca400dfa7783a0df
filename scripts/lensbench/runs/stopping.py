"""What stops everything: a rejected key, equal failures, a spent budget. No new attempt starts; running ones finish."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lensbench.core.conditions import of_condition
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import Outcome
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import Discard
from lensbench.core.system.files import write_atomic
from lensbench.core.system.locks import lock
from lensbench.runs.reasons import DiscardReason


class StopEverything(UserError):
    """No other run may start, because the error affects all of them."""


def stop_everything(folder: Path, why: str) -> None:
    """Lets running agents finish and starts no others: a mark stops runs on other machines, SIGTERM this Snakemake."""
    write_atomic(RunFolder(folder).stopped, f"{why}\n")
    if _is_snakemake(os.getppid()):
        os.kill(os.getppid(), signal.SIGTERM)


def why_stopped(folder: Path) -> str:
    """Why this start of the benchmark was stopped; "" when it was not."""
    try:
        return RunFolder(folder).stopped.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def check_not_stopped(folder: Path) -> None:
    """Raises UserError when this start of the benchmark was stopped."""
    if why := why_stopped(folder):
        raise UserError(f"not started, because everything was stopped: {why}")


EQUAL_FAILURES = 5
_BROKEN = (
    DiscardReason.CRASHED,
    DiscardReason.MCP_FAILED,
    DiscardReason.MCP_NOT_OFFERED,
    DiscardReason.MCP_GONE,
    DiscardReason.LOGIN_ENDED,
)
"""What is wrong with an agent or a server, in all their runs."""


def repeated(folder: Path, plan: Plan, condition: str, discard: Discard) -> str:
    """Why everything must stop when that many attempts of a condition in a row failed alike; "" until then."""
    path = RunFolder(folder).crashes / condition
    if discard.reason not in _BROKEN:
        path.unlink(missing_ok=True)
        return ""
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(
            re.sub(r"/\S+|\d+", "", discard.detail) + "\n"
        )  # paths and numbers differ from run to run
    last = path.read_text(encoding="utf-8").split("\n")[-EQUAL_FAILURES - 1 : -1]
    alike = len(last) == EQUAL_FAILURES and len(set(last)) == 1
    if not alike:
        return ""
    whose = of_condition(plan, condition)
    how = f"({discard.reason}: {discard.detail})"
    return f"{EQUAL_FAILURES} attempts {whose} in a row failed alike {how}"


def clear(folder: Path) -> None:
    """What a new start forgets. Attempts that were at work were killed, and nobody will say what they cost."""
    shutil.rmtree(RunFolder(folder).crashes, ignore_errors=True)
    RunFolder(folder).stopped.unlink(missing_ok=True)
    if RunFolder(folder).spent.exists():
        with _ledger(folder) as ledger:
            ledger.unknown += ledger.at_work
            ledger.at_work = 0.0


def _is_snakemake(process: int) -> bool:
    import psutil  # slow, and rarely needed

    try:
        words = psutil.Process(process).cmdline()
    except psutil.Error:
        return False
    return any(word.rpartition("/")[2] == "snakemake" for word in words[:4])


USUAL_USD = 1.19
USUAL_HOURS = 543 / 3600
"""What a run costs and takes at the upper end of the usual range (docs/limits.md)."""
_NAMES = {"runs": "attempts", "hours": "hours of agents' work", "usd": "US dollars"}


@dataclass
class Ledger:
    """What a benchmark has spent. What an attempt cost that nobody said is unknown, and never 0."""

    runs: float = 0.0
    """Attempts."""
    hours: float = 0.0
    """Of agents' work."""
    usd: float = 0.0
    """Of the attempts whose cost is known."""
    usd_requests: float = 0.0
    """Of judges, and of the preflight's question."""
    hours_known: float = 0.0
    """Of the same attempts."""
    largest_usd: float = 0.0
    """The cost of the dearest of them."""
    at_work: float = 0.0
    """Attempts that have not ended, as far as their start knows."""
    unknown: float = 0.0
    """Attempts of unknown cost: killed with lensbench, or of an agent that showed no cost; and requests likewise."""
    cut: list[list[float]] = field(default_factory=list)
    """Attempts whose output was cut off: the least that each cost in US dollars, and its hours."""
    elsewhere: str = ""
    """The attempt of another machine that was added last."""

    @property
    def usd_known(self) -> float:
        return self.usd + self.usd_requests

    @property
    def usd_so_far(self) -> float:
        """The known cost, and that of the attempts that were cut off: by what is seen of them, or by their hours at
        the price of those whose cost is known (until then, of the dearest usual run), whichever is larger."""
        rate = USUAL_USD / USUAL_HOURS
        if self.hours_known:
            rate = self.usd / self.hours_known
        return self.usd_known + sum(max(usd, hours * rate) for usd, hours in self.cut)

    @property
    def knows_a_cost(self) -> bool:
        return self.hours_known > 0 or self.largest_usd > 0

    @property
    def assumed_usd(self) -> float:
        """What an attempt of unknown cost counts: the largest known cost; until one is known, the dearest usual run."""
        if self.knows_a_cost:
            return self.largest_usd
        return USUAL_USD

    @property
    def usd_at_most(self) -> float:
        """The same, with each attempt of unknown cost at `assumed_usd`. Those at work count the largest known cost:
        before any is known, a small limit would else let only one begin."""
        return self.usd_so_far + self.unknown * self.assumed_usd + self.at_work * self.largest_usd

    def add(self, outcome: Outcome, hours: float) -> None:
        """Adds what an ended attempt cost: its hours of work and, as far as its output shows it, dollars."""
        self.hours += hours
        if outcome.tokens_at_least or not outcome.finished:
            self.cut.append([outcome.cost_usd or 0.0, round(hours, 6)])
        elif outcome.cost_usd is None:
            self.unknown += 1
        else:
            self.usd += outcome.cost_usd
            self.hours_known += hours
            self.largest_usd = max(self.largest_usd, outcome.cost_usd)


NOT_STARTED = Outcome(cost_usd=0.0)
"""What an attempt cost whose agent was not started."""


@contextmanager
def free_if_it_fails(folder: Path) -> Iterator[None]:
    """A part of an attempt that costs nothing if it ends with a UserError: the agent was not started then. An error
    raised later books nothing, since the attempt's cost was booked, or is unknown."""
    try:
        yield
    except UserError:
        spend(folder, NOT_STARTED, 0.0)
        raise


def start_attempt(folder: Path) -> None:
    """Counts an attempt, whose cost is unknown until `spend` is told."""
    with _ledger(folder) as ledger:
        ledger.runs += 1
        ledger.at_work += 1


def uncount_attempt(folder: Path) -> None:
    """An attempt that the service refused, because the plan's window was used up, is no attempt."""
    with _ledger(folder) as ledger:
        ledger.runs -= 1


def spend(folder: Path, outcome: Outcome, hours: float) -> None:
    """Adds what a started attempt cost, which has ended."""
    with _ledger(folder) as ledger:
        ledger.add(outcome, hours)
        ledger.at_work -= 1


def spend_elsewhere(folder: Path, attempt: str, outcome: Outcome, hours: float) -> None:
    """Counts an attempt that another machine made, and adds what it cost. The last one is added once: its caller notes
    it afterwards, and may be killed before."""
    with _ledger(folder) as ledger:
        if ledger.elsewhere != attempt:
            ledger.runs += 1
            ledger.add(outcome, hours)
            ledger.elsewhere = attempt


def spend_on_request(folder: Path, outcome: Outcome) -> None:
    """Adds what a request cost that is no attempt: a judge's, or the preflight's question. If that is unknown, as much
    as the dearest attempt."""
    with _ledger(folder) as ledger:
        if outcome.cost_usd is None and outcome.error == "":
            ledger.unknown += 1
        else:
            ledger.usd_requests += outcome.cost_usd or 0.0


@contextmanager
def _ledger(folder: Path) -> Iterator[Ledger]:
    """The ledger, written back after the block. Safe with concurrent runs."""
    path = RunFolder(folder).spent
    path.touch()
    with path.open("r+", encoding="utf-8") as file:
        lock(file)
        before = file.read()
        ledger = _parse(before)
        if ledger is None:
            yield Ledger()  # do not lose a paid answer: `spent` reports the damage before the next attempt
            return
        yield ledger
        amounts = {
            name: round(value, 9) if isinstance(value, float) else value
            for name, value in asdict(ledger).items()
        }
        file.seek(0)
        # Never truncated first: on a full disk the amounts would be lost.
        file.write(json.dumps(amounts).ljust(len(before)))


def spent(folder: Path) -> Ledger:
    """What was spent so far. Raises StopEverything when the ledger is damaged."""
    path = RunFolder(folder).spent
    if not path.exists():
        return Ledger()
    ledger = _parse(path.read_text(errors="replace", encoding="utf-8"))
    if ledger is None:
        raise StopEverything(
            f"{path} is damaged, so the amount spent is unknown; restore it from the records, in the form "
            f'{{"runs": 24, "hours": 0.5, "usd": 3.1}}, or delete it to start from zero'
        )
    return ledger


def _parse(text: str) -> Ledger | None:
    """The ledger in a text; None when it is none. One of an older version has three amounts, all of them known."""
    try:
        amounts = json.loads(text or "{}")
        cut = [[float(usd), float(hours)] for usd, hours in amounts.pop("cut", [])]
        elsewhere = str(amounts.pop("elsewhere", ""))
        known = {"hours_known": amounts.get("hours", 0), **amounts}
        numbers = {name: float(value) for name, value in known.items()}
        return Ledger(**numbers, cut=cut, elsewhere=elsewhere)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def check_budget(folder: Path, limits: Mapping[str, Any]) -> None:
    """Raises StopEverything when one of `max_runs`, `max_hours`, `max_usd` is reached."""
    if any(limits.values()) and (why := why_spent(spent(folder), limits)):
        raise StopEverything(why)


def why_spent(ledger: Ledger, limits: Mapping[str, Any]) -> str:
    """Which limit is reached, and how to go on; "" while none is."""
    amounts = {"runs": ledger.runs, "hours": ledger.hours, "usd": ledger.usd_at_most}
    for name, value in amounts.items():
        limit = limits.get(f"max_{name}")
        if limit is not None and value >= limit:
            return (
                f"the budget is spent ({value:.2f} of {limit:g} {_NAMES[name]}{_shares(name, ledger)}); "
                f"raise budget.max_{name} to continue"
            )
    return ""


def _shares(name: str, ledger: Ledger) -> str:
    """How much of the dollars is no known cost, in words."""
    if name != "usd" or ledger.usd_at_most == ledger.usd_known:
        return ""
    of_cut = ledger.usd_so_far - ledger.usd_known
    unknown = ledger.unknown + ledger.at_work
    why = "as the dearest so far"
    if not ledger.knows_a_cost:
        unknown = ledger.unknown
        why = "as the dearest usual run, since no cost is known: add `prices`"
    return (
        f": {ledger.usd_known:.2f} known, at least {of_cut:.2f} of {len(ledger.cut)} attempts that were cut off,"
        f" {unknown:.0f} of unknown cost at {ledger.assumed_usd:.2f} each ({why})"
    )
