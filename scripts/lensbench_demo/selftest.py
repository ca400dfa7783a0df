"""Checks lensbench itself: runs the whole pipeline on benchmarks whose outcome is known.

    python -P -m lensbench_demo.selftest

It works offline, in a temporary folder. docs/testing.md explains each control.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from lensbench.agents.sandbox import find_sandbox
from lensbench.core import numbers
from lensbench.core.errors import CheckFailed, UserError, did_you_mean
from lensbench.core.frozen_plan import SandboxSettings
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json, read_typed, write_atomic
from lensbench.core.system.places import ROOT
from lensbench.core.system.processes import end_children
from lensbench.core.system.program import Parser, positive, run_program
from lensbench.core.system.progress import Progress, say
from lensbench.results.results_file import Results
from lensbench.runs.reasons import DiscardReason
from lensbench_demo.controls import BROKEN_SERVER, CONTROLS, OUTSIDE, Control, Planted, make_project

CLAIMS = ("GO", "HARM")
"""The verdicts that claim a difference."""
AUTO: SandboxSettings = {"mode": "auto", "visible": [], "hidden": []}


@dataclass(frozen=True)
class ControlOutcome:
    """The expected and the actual outcome of a control."""

    control: str
    expected: str
    found: str
    ok: bool
    is_late: bool = False
    """True when runs were ended by their time limit: a busy machine, and no finding about lensbench."""

    @property
    def line(self) -> str:
        """The finding on one line."""
        mark = "ok" if self.ok else "late" if self.is_late else "FAIL"
        return f"{mark:5}{self.control:8}expected: {self.expected}; found: {self.found}"


def selftest(controls: Iterable[Control], folder: Path, at_once: int) -> Iterator[ControlOutcome]:
    """Runs the controls in `folder`, `at_once` at a time; yields the findings in the given order."""
    pool = ThreadPoolExecutor(at_once)
    try:
        yield from pool.map(lambda control: _finding(control, folder / control.name), controls)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        end_children()
        pool.shutdown()


def _finding(control: Control, project: Path) -> ControlOutcome:
    try:
        sandbox = find_sandbox(AUTO)
        if control == OUTSIDE and not sandbox.program:
            return ControlOutcome(
                control.name,
                control.expected,
                f"skipped: it needs the sandbox ({sandbox.reason})",
                ok=True,
            )
        ok, outcome = (_broken if control == BROKEN_SERVER else _known)(control, project)
        if discards := _discards(project, control):
            is_late = set(discards) == {DiscardReason.TIMED_OUT}
            counts = ", ".join(f"{reason} {count}" for reason, count in sorted(discards.items()))
            found = f"{outcome}; discarded: {counts}"
            return ControlOutcome(control.name, control.expected, found, ok, is_late)
    except UserError as error:
        ok, outcome = False, str(error)
    except (OSError, ValueError, LookupError, TypeError) as error:
        ok, outcome = False, f"unreadable results: {error!r}"
    return ControlOutcome(control.name, control.expected, outcome, ok)


def _discards(project: Path, control: Control) -> Counter[str]:
    """How many runs were discarded, by their reason; none of a server that is broken on purpose."""
    file = RunFolder(project / "bench" / control.name).results_json
    if control == BROKEN_SERVER or not file.exists():
        return Counter()
    runs = read_json(file, needed=True)["runs"]
    return Counter(run["reason"] for run in runs if run["reason"])


def _known(control: Control, project: Path) -> tuple[bool, str]:
    """Runs a control in which all runs are valid."""
    plan = make_project(control, project)
    return judge(control, plan, _results(control, project))


def judge(control: Control, plan: Planted, results: Results[float]) -> tuple[bool, str]:
    """Whether the results are as expected, and a description.

    Every run must have its planted score, and the delta must follow from these scores. The interval must contain the
    true difference, and may be missing only when nothing varies. A difference must be claimed exactly when there is
    one."""
    scores = {(run["task"], run["condition"]): run["score"] for run in results["runs"]}
    wrong = [key for key, score in plan.items() if scores.get(key) != float(score)]
    comparison = results["estimates"][control.treatment]
    overall, verdict = comparison["score"]["overall"], comparison["gate"].verdict
    delta, low, high = overall.delta, overall.low, overall.high
    holds = (
        control.least == control.most
        if low is None or high is None
        else low <= control.delta <= high
    )
    sound = not wrong and scores.keys() == plan.keys() and _is_delta(control, plan, delta)
    ok = sound and holds and (verdict == "GO" if control.delta else verdict not in CLAIMS)
    interval = "no interval" if low is None else f"interval {_points(low)} to {_points(high)}"
    means = ", ".join(f"{name} {_mean(control, results, name)}" for name in control.servers)
    right = f"{len(plan) - len(wrong)} of {len(plan)} scores right"
    return ok, f"{right}, {means}, delta {_points(delta)}, {interval}, {verdict}"


def _is_delta(control: Control, plan: Planted, delta: float | None) -> bool:
    sides = [
        (score if condition == control.treatment else -score)
        for (_, condition), score in plan.items()
    ]
    return delta is not None and abs(
        Fraction(delta) - sum(sides, Fraction(0)) / control.tasks
    ) < Fraction(1, 10**5)


def _mean(control: Control, results: Results[float], condition: str) -> str:
    score = results["comparisons"][control.treatment]["measures"]["score"]
    share = score["treatment"] if condition == control.treatment else score["baseline"]
    return numbers.percent(None if share is None else Fraction(share))


def _points(share: float | None) -> str:
    return numbers.points(None if share is None else Fraction(share))


def _broken(control: Control, project: Path) -> tuple[bool, str]:
    """A server that does not start: the preflight fails; without the preflight, runs that need the server are
    discarded."""
    make_project(control, project)
    exit_code, output = _start(control, project)
    runs_made = len(list(RunFolder(project / "bench" / control.name).runs.glob("**/*.md")))
    if runs_made or not exit_code or "the preflight failed" not in output:
        return (
            False,
            f"not refused by the preflight, {runs_made} runs made, exit code {exit_code}: {_trouble(output)}",
        )
    make_project(control, project, servers_checked=False)
    results = _results(control, project)
    runs = Counter((run["condition"], run["reason"] or run["status"]) for run in results["runs"])
    expectation = {
        (control.baseline, "scored"): control.tasks,
        (control.treatment, "mcp_failed"): control.tasks,
    }
    delta = results["comparisons"][control.treatment]["measures"]["score"]["delta"]
    verdict = results["estimates"][control.treatment]["gate"].verdict
    counts = ", ".join(
        f"{count} {condition} {word}" for (condition, word), count in sorted(runs.items())
    )
    ok = runs == expectation and delta is None and verdict == "INCONCLUSIVE"
    return ok, f"refused; without the preflight {counts}, delta {_points(delta)}, {verdict}"


def _results(control: Control, project: Path) -> Results[float]:
    """The content of results.json after the whole pipeline. Raises UserError when it fails."""
    exit_code, output = _start(control, project)
    if exit_code:
        raise UserError(f"the pipeline failed: {_trouble(output)}")
    return read_typed(RunFolder(project / "bench" / control.name).results_json, Results[float])


def _start(control: Control, project: Path) -> tuple[int, str]:
    """Runs Snakemake as a user would; returns its exit code and output, which is also kept in snakemake.log."""
    argv = [
        *(sys.executable, "-m", "snakemake", f"bench/{control.name}/results.json", "--cores", "2"),
        *("--snakefile", str(ROOT / "Snakefile"), "--configfile", "config.yaml"),
    ]
    process = subprocess.run(
        argv,
        cwd=project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    write_atomic(project / "snakemake.log", process.stdout)
    return process.returncode, process.stdout


def _trouble(output: str) -> str:
    """The most informative line of Snakemake's output: the error of a program, else Snakemake's own."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it printed nothing"]
    causes = (
        line
        for form in (r"(\w+E|e)rror: ", r"(?i).*\berror\b")
        for line in lines
        if re.match(form, line)
    )
    return next(causes, lines[-1])


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """The folder for the projects: `keep`, or a temporary one that is removed afterwards."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="selftest-", ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    if keep.exists() and any(keep.iterdir()):
        raise UserError(f"--keep: {keep} is not empty; name a new folder")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep.resolve()


def _chosen(names: Sequence[str]) -> list[Control]:
    by_name = {control.name: control for control in CONTROLS}
    if unknown := [name for name in names if name not in by_name]:
        raise UserError(
            f"there is no control {unknown[0]!r}; known are {', '.join(by_name)}{did_you_mean(unknown[0], by_name)}"
        )
    return [by_name[name] for name in names] or list(CONTROLS)


def main() -> None:
    """Run the control arms and print a line for each. The exit code is 1 when one has an unexpected outcome."""
    parser = Parser(prog="lensbench selftest", description=main.__doc__)
    parser.add_argument("controls", nargs="*", help="the controls to run (default: all)")
    parser.add_argument(
        "--cores",
        type=positive,
        default=2,
        help="how many controls run at a time, each with two agents (default: 2)",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the projects in this new folder"
    )
    arguments = parser.parse_args()
    controls = _chosen(arguments.controls)
    failures: list[str] = []
    late: list[str] = []
    with _folder(arguments.keep) as folder, Progress("running the controls") as progress:
        for done, outcome in enumerate(selftest(controls, folder, arguments.cores), 1):
            if not outcome.ok and outcome.is_late:
                late.append(outcome.control)
            elif not outcome.ok:
                failures.append(outcome.control)
            say(outcome.line)
            progress.now("running the controls", done, len(controls))
    if late and not failures:
        raise UserError(
            f"the self-test is not finished ({', '.join(late)}): runs exceeded their time limit, as on a busy machine; "
            f"repeat it when this one is idle: lensbench selftest {' '.join(late)}"
        )
    if failures:
        raise CheckFailed(
            f"the self-test failed ({', '.join(failures)}): do not trust results computed with this code"
        )


if __name__ == "__main__":
    run_program(main)
