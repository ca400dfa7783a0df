"""Who judges in this start, what each judge waits for, and how many answers are read at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError
from lensbench.core.rows import VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.tables import read_table
from lensbench.judging.judges.again import has_failed, note, rounds_of
from lensbench.plan.config import Config, ModelJudge, judge_names
from lensbench.plan.names import HUMAN, TESTS
from lensbench.workflow.resources import Capacity

Claims = dict[str, Callable[[Any], int]]
"""What a job takes of each resource, as functions of its wildcards."""


@dataclass(frozen=True)
class JudgeSchedule:
    """The judges of a benchmark as the workflow sees them."""

    config: Config
    folder: Path
    capacity: Capacity
    change_tasks: Sequence[str]

    @cached_property
    def names(self) -> list[str]:
        """The judges whose verdicts there are to be: those of the config, and everybody who left a file."""
        named = [name for name in judge_names(self.config.judges) if name != HUMAN]
        named += [TESTS] if self.change_tasks else []
        if not self._human_files:
            return named
        from lensbench.judging.judges.human import human_judges  # a tenth of a second, and most benchmarks need none

        return [*named, *human_judges(self.folder)]

    @cached_property
    def _human_files(self) -> list[Path]:
        return sorted(RunFolder(self.folder).human.glob("*.json"))

    @property
    def models(self) -> list[ModelJudge]:
        """The judges that are models."""
        return [judge for judge in self.config.judges if isinstance(judge, ModelJudge)]

    @property
    def guessing(self) -> list[str]:
        """The judges that are asked for the condition."""
        return [judge.shown_name for judge in self.models if judge.ask_condition]

    @property
    def wants_sheet(self) -> bool:
        """True when people are asked to judge."""
        return HUMAN in self.config.judges

    def threads(self, name: str) -> int:
        """How many answers the judge reads at a time."""
        return self.at_a_time if name in [judge.shown_name for judge in self.models] else 1

    @property
    def at_a_time(self) -> int:
        """How many answers model judges may read at a time, as far as their services bear it."""
        return min(self.config.judging.parallel, self.capacity.judges_at_a_time)

    def claims(self) -> Claims:
        """What judging takes."""
        return {resource: partial(self._claim, resource) for resource in self.capacity.resources}

    def _claim(self, resource: str, wildcards: Any) -> int:
        return self.capacity.judge_claim(resource, wildcards.judge, self.threads(wildcards.judge))

    def inputs(self, name: str) -> list[tuple[str, bool]]:
        """What only this judge needs, and whether it may be a trigger: people's files, and the note that criteria were
        left without a verdict, which asks for another round."""
        files = [(str(file), True) for file in self._human_files if name.startswith(f"{HUMAN}-")]
        again = note(self.folder, name)
        if again.exists():
            asks = has_failed(_verdicts(RunFolder(self.folder).judge_verdicts / f"{name}.csv"))
            files.append((str(again), asks and rounds_of(self.folder, name) <= self.config.discards.max_rounds))
        return files


def _verdicts(path: Path) -> list[VerdictRow]:
    """The rows of a table; none when it is not there or is damaged."""
    try:
        return read_table(path, VerdictRow)
    except UserError:
        return []
