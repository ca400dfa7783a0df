"""Candidate tasks: running their tests, finding those that the change decides, and proving the task."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from lensbench.agents.sandbox import Sandbox
from lensbench.changes.environment import Environment, prepare_environment
from lensbench.changes.execute import TestRun, run_tests
from lensbench.changes.hidden_files import with_files
from lensbench.changes.reports import MAX_REPORT
from lensbench.changes.task import ChangeTask, Content, FromSource, Tests, content_bytes
from lensbench.core.errors import UserError
from lensbench.core.names import plain_name
from lensbench.repositories.prepare import prepare
from lensbench_tasks.changes.prompts import needs
from lensbench_tasks.changes.proof import ChangeProof, prove
from lensbench_tasks.changes.suites import UNKNOWN_MOMENT, Moment, Suite, suite_of
from lensbench_tasks.changes.telling import is_small, sentences, tells

UNKNOWN = ("?",)
"""A placeholder for the failing tests until they are known."""
_LONGEST_ID = 64


def task_id(name: str) -> str:
    """`name` as an id; of a long one the beginning and a few digits of its hash."""
    plain = plain_name(name) or "task"
    if len(plain) <= _LONGEST_ID:
        return plain
    start = plain[: _LONGEST_ID - 9].rstrip("-")
    digits = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{start}-{digits}"


class ChangeFate(NamedTuple):
    """The outcome for a change: a proven task, or the reasons against it."""

    id: str
    what: str
    """One line that describes the change."""
    task: ChangeTask | None
    reasons: tuple[str, ...] = ()
    proof: ChangeProof | None = None
    note: str = ""
    """A remark for the report."""

    @classmethod
    def refused(cls, name: str, what: str, reason: object) -> Self:
        """The outcome of a change that has one reason against it; several lines become one."""
        return cls(name, what, None, (str(reason).replace("\n", "; "),))

    @property
    def sentence(self) -> str:
        """The outcome as a sentence, with the findings."""
        flaky = ""
        if self.proof and self.proof.flaky:
            flaky = f"; flaky and omitted: {', '.join(self.proof.flaky)}"
        if not self.task or not self.proof:
            return f"not proven: {'; '.join(self.reasons[:3])}{flaky}"
        counts = f"{len(self.proof.fail_to_pass)} failing and {len(self.proof.pass_to_pass)} passing tests"
        counts += f", {self.proof.own} in the project's suite, {self._guarded}"
        return f"proven: {counts}, {self.proof.seconds:.1f} s, {self.proof.memory_mb} MB{flaky}"

    @property
    def _guarded(self) -> str:
        """How many failing tests fail by an assertion in a wrong copy, and the kinds of it."""
        if not self.proof or not self.proof.wrong_copies:
            return "0 fail in a wrong copy"
        kinds = self.proof.wrong_copies.kinds
        counts = Counter(kinds.values())
        names = ", ".join(f"{kind} {count}" for kind, count in counts.items())
        return f"{len(kinds)} fail in a wrong copy ({names})"


@dataclass(frozen=True)
class Prover:
    """Where and how tests are run."""

    sandbox: Sandbox
    cache: Path
    installation: Sequence[str] = ()
    """The user's commands that install what tests need; without any, the project's own files decide."""
    command: str = ""
    """The user's command that runs tests; likewise."""
    timeout_s: float = 120.0

    def suite(self, tree: Path, moment: Moment = UNKNOWN_MOMENT) -> Suite:
        """The suite of the project in `tree`. Raises UserError when nothing tells how it is run."""
        return suite_of(tree, self.installation, self.command, moment)

    def hidden_tests(
        self, suite: Suite, programs: Sequence[str], files: Mapping[str, Content | FromSource]
    ) -> Tests:
        """Tests before it is known which ones fail."""
        return Tests(
            files=dict(files),
            command=(*suite.command, *map(suite.argument, programs)),
            report=suite.report,
            fail_to_pass=UNKNOWN,
            timeout_s=self.timeout_s,
        )

    def environment(self, commands: Sequence[str], tree: Path) -> Environment:
        """The environment for the tests in `tree`. Raises UserError when it cannot be built."""
        return prepare_environment(commands, tree, self.cache, self.sandbox)

    def first_environment(
        self, choices: Sequence[Sequence[str]], tree: Path
    ) -> tuple[tuple[str, ...], Environment]:
        """The first choice that can be installed, with its commands. Raises UserError without one."""
        *others, last = choices
        for commands in others:
            with suppress(UserError):
                return tuple(commands), self.environment(commands, tree)
        return tuple(last), self.environment(last, tree)

    def run(self, tree: Path, patch: bytes, tests: Tests, environment: Environment) -> TestRun:
        """One run of the tests, with all that they print. Raises UserError when they cannot start."""
        result = run_tests(tree, patch, tests, self.sandbox, environment, MAX_REPORT)
        if result.unstarted:
            raise UserError(f"the tests cannot be started: {result.unstarted}")
        return result

    def before_and_after(
        self, tree: Path, reference: bytes, tests: Tests, environment: Environment
    ) -> list[TestRun]:
        """A run without a change, and one with the reference."""
        return [self.run(tree, patch, tests, environment) for patch in (b"", reference)]

    def proven(self, task: ChangeTask) -> ChangeFate:
        """The fate of a task from a task set."""
        what = task.prompt.splitlines()[0]
        if self.sandbox.lack:
            return ChangeFate.refused(task.id, what, self.sandbox.lack)
        if task.repository is None:
            why = "it names no repository; write repository: in the task"
            return ChangeFate.refused(task.id, what, why)
        try:
            tree = prepare(task.repository, self.cache).tree.resolve()
            environment = self.environment(task.environment, tree)
            return self.judged(task, what, tree, environment)
        except UserError as error:
            return ChangeFate.refused(task.id, what, str(error).splitlines()[0])

    def judged(
        self,
        task: ChangeTask,
        what: str,
        tree: Path,
        environment: Environment,
        foreign: bool = False,
        runs: Sequence[TestRun] = (),
    ) -> ChangeFate:
        """The task with its proven tests, or why it is dropped; `runs` as in `prove`."""
        full = with_files(task, self.cache)
        proof = prove(full, tree, self.sandbox, environment, foreign=foreign, runs=runs)
        if proof.reasons:
            return ChangeFate(task.id, what, None, proof.reasons, proof)
        proven = {
            "fail_to_pass": proof.fail_to_pass,
            "pass_to_pass": proof.pass_to_pass,
            "wrong_copies": proof.wrong_copies,
        }
        tests = task.tests.model_copy(update=proven)
        told = is_told(full, tree)
        small = is_small(_text(full.reference))
        task = task.model_copy(update={"tests": tests, "told": told, "small": small})
        return ChangeFate(task.id, what, task, (), proof)


def _text(content: Content) -> str:
    return content_bytes(content).decode(errors="replace")


def is_told(task: ChangeTask, tree: Path) -> bool:
    """True when a sentence of the prompt tells the fix. Names that the hidden tests use are no fix."""
    reference = _text(task.reference)
    texts = [content for content in task.tests.files.values() if isinstance(content, str)]
    needed = needs(reference, texts, tree).own_names
    lines = [line for line in sentences(task.prompt) if not line.startswith("- ")]
    return any(tells(line, reference, needed) for line in lines)


def deciding_tests(before: TestRun, after: TestRun) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tests that pass only after a change, and those that also pass before."""
    new = sorted(after.passing - before.passing)
    old = sorted(after.passing & before.passing)
    return tuple(new), tuple(old)
