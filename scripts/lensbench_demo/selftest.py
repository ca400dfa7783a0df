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
from lensbench_demo.controls import CONTROLS, Control, Planted, make_project

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
    ok = False
    is_late = False
    try:
        sandbox = find_sandbox(AUTO)
        if control.looks_around and not sandbox.program:
            found = f"skipped: it needs the sandbox ({sandbox.reason})"
            return ControlOutcome(control.name, control.expected, found, ok=True)
        if control.starts:
            ok, found = _known(control, project)
            discards = _discards(project, control)
            if discards:
                is_late = set(discards) == {DiscardReason.TIMED_OUT}
                counts = [f"{reason} {count}" for reason, count in sorted(discards.items())]
                found = f"{found}; discarded: {', '.join(counts)}"
        else:
            ok, found = _broken(control, project)
    except UserError as error:
        found = str(error)
    except (OSError, ValueError, LookupError, TypeError) as error:
        found = f"unreadable results: {error!r}"
    return ControlOutcome(control.name, control.expected, found, ok, is_late)


def _discards(project: Path, control: Control) -> Counter[str]:
    """How many runs were discarded, by their reason."""
    results = read_json(RunFolder(project / "bench" / control.name).results_json, needed=True)
    return Counter(run["reason"] for run in results["runs"] if run["reason"])


def _known(control: Control, project: Path) -> tuple[bool, str]:
    """Runs a control in which all runs are valid."""
    planted = make_project(control, project)
    return judge(control, planted, _results(control, project))


def judge(control: Control, planted: Planted, results: Results[float]) -> tuple[bool, str]:
    """Whether the results are as expected, and a description.

    Every run must have its planted score, and the delta must follow from these scores. The interval must contain the
    true difference, and may be missing only when nothing varies. A difference must be claimed exactly when there is
    one."""
    scores = {(run["task"], run["condition"]): run["score"] for run in results["runs"]}
    wrong = [key for key, score in planted.items() if scores.get(key) != float(score)]
    estimates = results["estimates"][control.treatment]
    overall = estimates["score"]["overall"]
    verdict = estimates["gate"].verdict
    low = overall.low
    high = overall.high
    if low is None or high is None:
        interval = "no interval"
        holds = control.stated[0] == control.stated[1]
    else:
        interval = f"interval {numbers.points(low)} to {numbers.points(high)}"
        holds = low <= control.delta <= high
    is_right = verdict == "GO" if control.delta else verdict not in CLAIMS
    is_sound = not wrong and scores.keys() == planted.keys()
    ok = is_sound and holds and is_right and _is_delta(control, planted, overall.delta)
    means = results["comparisons"][control.treatment]["measures"]["score"]
    found = [
        f"{len(planted) - len(wrong)} of {len(planted)} scores right",
        f"{control.baseline} {_percent(means['baseline'])}",
        f"{control.treatment} {_percent(means['treatment'])}",
        f"delta {numbers.points(overall.delta)}",
        interval,
        verdict,
    ]
    return ok, ", ".join(found)


def _is_delta(control: Control, planted: Planted, delta: float | None) -> bool:
    """Whether the delta is the mean difference of the planted scores."""
    total = Fraction(0)
    for (_, condition), score in planted.items():
        total += score if condition == control.treatment else -score
    return delta is not None and abs(Fraction(delta) - total / control.tasks) < Fraction(1, 10**5)


def _percent(share: float | None) -> str:
    return numbers.percent(None if share is None else Fraction(share))


def _broken(control: Control, project: Path) -> tuple[bool, str]:
    """A server that does not start: the preflight fails; without the preflight, runs that need the server are
    discarded."""
    make_project(control, project)
    exit_code, output = _start(control, project)
    made = len(list(RunFolder(project / "bench" / control.name).runs.glob("**/*.md")))
    if made or not exit_code or "the preflight failed" not in output:
        why = f"{made} runs made, exit code {exit_code}: {_trouble(output)}"
        return False, f"not refused by the preflight, {why}"
    make_project(control, project, servers_checked=False)
    results = _results(control, project)
    runs = Counter((run["condition"], run["reason"] or run["status"]) for run in results["runs"])
    expected = {
        (control.baseline, "scored"): control.tasks,
        (control.treatment, "mcp_failed"): control.tasks,
    }
    delta = results["comparisons"][control.treatment]["measures"]["score"]["delta"]
    verdict = results["estimates"][control.treatment]["gate"].verdict
    counts = [f"{count} {condition} {word}" for (condition, word), count in sorted(runs.items())]
    found = f"{', '.join(counts)}, delta {numbers.points(delta)}, {verdict}"
    ok = runs == expected and delta is None and verdict == "INCONCLUSIVE"
    return ok, f"refused; without the preflight {found}"


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
    """The most informative line of Snakemake's output: the error of a program, else its last line."""
    errors = re.findall(r"(?m)^[ \t]{0,40}(?:\w{0,40}E|e)rror: .*", output)
    return errors[0].strip() if errors else output.strip().rpartition("\n")[2]


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
    for name in names:
        if name not in CONTROLS:
            known = f"{', '.join(CONTROLS)}{did_you_mean(name, CONTROLS)}"
            raise UserError(f"there is no control {name!r}; known are {known}")
    return [CONTROLS[name] for name in names or CONTROLS]


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
