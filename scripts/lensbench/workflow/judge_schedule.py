"""The judges of a start: what each one waits for, and how many answers it reads at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from lensbench.core.frozen_plan import HUMAN, TESTS
from lensbench.core.run_folder import RunFolder
from lensbench.judging.judges.again import rounds_of
from lensbench.plan.config import Config, ModelJudge, judge_names
from lensbench.workflow.resources import JobLimits

Claims = dict[str, Callable[[Any], int]]
"""Resource name -> how much of it a job takes, as a function of the job's wildcards."""


@dataclass(frozen=True)
class JudgeSchedule:
    """The judges of a benchmark as the workflow sees them."""

    config: Config
    folder: Path
    limits: JobLimits
    change_tasks: Sequence[str]

    @cached_property
    def names(self) -> list[str]:
        """The judges whose verdicts are wanted: those of the config, and every person with a verdict file."""
        judges = [name for name in judge_names(self.config.judges) if name != HUMAN]
        judges += [TESTS] if self.change_tasks else []
        if not self._human_files:
            return judges
        # The import takes 0.1 s, and most benchmarks do not need it.
        from lensbench.judging.judges.human import human_judges

        return [*judges, *human_judges(self.folder)]

    @cached_property
    def _human_files(self) -> list[Path]:
        return sorted(RunFolder(self.folder).human.glob("*.json"))

    @property
    def models(self) -> list[ModelJudge]:
        """The judges that are models."""
        return [judge for judge in self.config.judges if isinstance(judge, ModelJudge)]

    @property
    def guessing(self) -> list[str]:
        """The names of the judges that guess the condition."""
        return [judge.shown_name for judge in self.models if judge.ask_condition]

    @property
    def wants_sheet(self) -> bool:
        """True when people are asked to judge."""
        return HUMAN in self.config.judges

    def threads(self, name: str) -> int:
        """How many answers the judge reads in parallel."""
        return self.at_a_time if name in [judge.shown_name for judge in self.models] else 1

    @property
    def at_a_time(self) -> int:
        """How many answers model judges may read in parallel within the limits of their services."""
        return min(self.config.judging.parallel, self.limits.judges_at_a_time)

    def claims(self) -> Claims:
        """The resources that a judging job takes."""
        return {resource: partial(self._claim, resource) for resource in self.limits.totals}

    def _claim(self, resource: str, wildcards: Any) -> int:
        return self.limits.judge_claim(resource, wildcards.judge, self.threads(wildcards.judge))

    def inputs(self, name: str) -> list[str]:
        """The inputs of this judge alone: people's verdict files."""
        return [str(file) for file in self._human_files if name.startswith(f"{HUMAN}-")]

    @property
    def incomplete(self) -> list[str]:
        """The judges whose last round left criteria without a verdict, and that a start asks again."""
        return [name for name in self.names if 0 < rounds_of(self.folder, name) <= self.config.discards.max_rounds]
