"""The schedule that Snakemake reads with the workflow: which runs, in which order, and which are missing."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

from lensbench.agents import services
from lensbench.changes import CHANGE
from lensbench.core.conditions import compared
from lensbench.core.frozen_plan import TESTS, Plan
from lensbench.core.records import RunId, run_of_stem
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import (
    Store,
    entries,
    journal_of,
    run_files,
    shown_stems,
    state_of,
    view_of,
)
from lensbench.plan import freeze as planning
from lensbench.plan.config import Config
from lensbench.plan.own_files import condition_files, place_of_tasks, run_folder
from lensbench.plan.waves import Wave, opened, waves
from lensbench.runs import requests_file
from lensbench.runs.start_gate import PARTNER_LIMIT_S
from lensbench.runs.validity import planned_runs
from lensbench.workflow.capacity import Claims, JobLimits, JudgeSchedule

SPARE_MIN = 10
LONGEST_PAUSE_S = services.LONGEST_BACK_OFF_S + 2 * services.LONGEST_WAIT_S


@dataclass(frozen=True)
class Schedule:
    """A benchmark as the workflow sees it. Created in `read_schedule.py`."""

    config: Config
    plan: Plan
    """The plan of this start; the one in the run folder may be that of an earlier start."""
    accepted: list[str]
    own: Set[str] = frozenset()
    """The user's own files in the run folder, which no rule may write."""
    store: Store = field(default_factory=dict)
    """The store as this start found it; empty in a job elsewhere."""

    @cached_property
    def folder(self) -> Path:
        return run_folder(self.config)

    @cached_property
    def files(self) -> RunFolder:
        return RunFolder(self.folder)

    @property
    def settings(self) -> str:
        return planning.settings_text(self.config)

    @cached_property
    def plan_mark(self) -> str:
        """A file that exists when the plan was written with these settings."""
        return planning.plan_mark(self.config, self.accepted, self.folder).as_posix()

    @property
    def frozen_tasks(self) -> str:
        return place_of_tasks(self.config, self.folder).as_posix()

    @cached_property
    def runs(self) -> list[RunId]:
        """All runs; with `agent.kind: none`, those that exist."""
        runs = planned_runs(self.plan)
        if self.config.agent.kind != "none":
            return runs
        return [run for run in runs if entries(self.folder, run)]

    @cached_property
    def change_tasks(self) -> list[str]:
        tasks = self.plan["tasks"]
        return [name for name in self.plan["order"] if tasks[name].get("kind") == CHANGE]

    @property
    def inputs(self) -> list[str]:
        prompts = [str(planning.judge_prompt(judge)) for judge in self.judging.models]
        return [*self.config.scenario_files, *condition_files(self.config), *prompts]

    @property
    def preflight(self) -> list[str]:
        """The findings of the last preflight, which a dry run of a new benchmark does not write."""
        return _if_there(self.files.preflight)

    @property
    def requests(self) -> list[str]:
        """The figures of `lensbench check --requests`, where somebody made them."""
        return _if_there(self.files.requests / requests_file.REQUESTS_FILE)

    @property
    def lacks_repositories(self) -> bool:
        """True when a task's repository has not been fetched to this cache yet; imported runs need none."""
        if self.config.agent.kind == "none":
            return False
        try:
            facts = json.loads(self.files.repositories.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return True
        cache = Path(self.config.cache).absolute()
        there = set()
        for name, own in facts.items():
            if Path(own["tree"]).absolute().is_relative_to(cache):
                there.add(name)
        return not self.plan["repositories"].keys() <= there

    @property
    def max_rounds(self) -> int:
        """After how many discards more a run is given up."""
        return self.config.discards.max_rounds

    @cached_property
    def _shown(self) -> frozenset[str]:
        return shown_stems(self.folder)

    @property
    def missing_runs(self) -> list[RunId]:
        """The runs of open waves that rule `run` makes: by an agent, or from the store."""
        return self._missing(self.opened())

    def needs_agent(self, run: RunId) -> bool:
        """True when this start would ask an agent: the run is missing, or discarded with rounds left."""
        if run.stem in self._shown:
            return False
        return not state_of(entries(self.folder, run), self.max_rounds).is_final

    @property
    def starts_agents(self) -> bool:
        """True when this start would run agents, for which the preflight must succeed."""
        if self.config.agent.kind == "none":
            return False
        return any(map(self.needs_agent, self.missing_runs))

    @cached_property
    def waves(self) -> list[Wave]:
        return waves(self.plan)

    @cached_property
    def _waves_of_runs(self) -> dict[tuple[str, int], int]:
        numbers = {}
        for number, wave in enumerate(self.waves, 1):
            for pair in product(wave.tasks, wave.trials):
                numbers[pair] = number
        return numbers

    def wave_of(self, run: RunId) -> int:
        return self._waves_of_runs[run.task, run.trial]

    @property
    def looks(self) -> range:
        """The numbers (from 1) of the looks before the last wave."""
        return range(1, len(self.waves))

    def runs_of_waves(self, count: int) -> list[RunId]:
        """The runs of the first `count` waves; with `only`, those of its tasks, and the finished ones."""
        runs = [run for run in self.runs if self.wave_of(run) <= count]
        only = self.config.only
        return [run for run in runs if not only or run.task in only or run.stem in self._shown]

    def files_of_waves(self, count: int) -> list[str]:
        """The inputs of the stages after the first `count` waves: their missing answers, and their journals, which list
        all others. Finished runs are in no job, so that no option of Snakemake reaches them."""
        journals = (str(journal_of(self.folder, wave)) for wave in range(1, count + 1))
        return [*self._views(count), *filter(os.path.exists, journals)]

    def _views(self, count: int) -> list[str]:
        return [str(view_of(self.folder, run)) for run in self._missing(count)]

    def _missing(self, count: int) -> list[RunId]:
        return [run for run in self.runs_of_waves(count) if run.stem not in self._shown]

    def tests_of_waves(self, count: int) -> list[str]:
        """The test results of the change tasks in the first `count` waves."""
        runs = (run for run in self.runs_of_waves(count) if run.task in self.change_tasks)
        return [f"{self.folder}/tests/{run.stem}.json" for run in runs]

    def patch_source(self, run: RunId) -> str:
        """What a test result is made from: the record of a finished run, or the answer that this start makes."""
        if run.stem in self._shown:
            return str(run_files(self.folder, run).record)
        return str(view_of(self.folder, run))

    def needed_files(self, checkpoint: Any) -> list[str]:
        """The same for the waves that are open after the looks so far."""
        return self.files_of_waves(self._needed_waves(checkpoint))

    def missing_files(self, checkpoint: Any) -> list[str]:
        """The missing answers of open waves. They must be targets themselves, since Snakemake does not restore missing
        inputs of an existing table."""
        if not self.files.validity.exists():
            return []
        return self._views(self._needed_waves(checkpoint))

    def needed_tests(self, judge: str, checkpoint: Any) -> list[str]:
        """The test results that a judge needs: for the judge `tests`, those of all runs in open waves."""
        return self.tests_of_waves(self._needed_waves(checkpoint)) if judge == TESTS else []

    def _needed_waves(self, checkpoint: Any) -> int:
        """How many waves are open after the looks so far; requests the next look while the gate is open."""
        for look in self.looks:
            checkpoint.get(look=look)
            if self.opened() <= look:
                return look
        return len(self.waves)

    def opened(self) -> int:
        """How many waves are open after the looks so far."""
        return opened(self.folder, self.plan)

    @cached_property
    def judging(self) -> JudgeSchedule:
        """The judges, and how many answers they read in parallel."""
        return JudgeSchedule(self.config, self.folder, self._limits, self.plan)

    @cached_property
    def _limits(self) -> JobLimits:
        return JobLimits(self.config, self.folder)

    @cached_property
    def resources(self) -> dict[str, int]:
        """Snakemake's resources other than cores; empty without `limits`."""
        return self._limits.totals

    def claims(self, at_once: Callable[[], int]) -> Claims:
        """The resources that a run takes when `at_once` runs may run together."""

        def claim(resource: str, wildcards: Any) -> int:
            return self.claim(resource, run_of(**wildcards), at_once())

        return {resource: partial(claim, resource) for resource in self.resources}

    def claim(self, resource: str, run: RunId, at_once: int) -> int:
        return self._limits.claim(resource, run.condition, paired=self.gate_s(run, at_once) > 0)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Each run's place in the queue: by trial and task; the order within a pair by seed, balanced over tasks. Runs
        of the control come last: between the runs of a pair they would prevent a simultaneous start."""
        rng = random.Random(self.config.seed)
        names = list(self.config.conditions)
        queue = []
        for trial in range(1, self.config.trials + 1):
            tasks = list(self.plan["order"])
            rng.shuffle(tasks)
            places = {task: place for place, task in enumerate(tasks)}
            for task in self.plan["order"]:
                turn = places[task] % len(names)
                for condition in (*names[turn:], *names[:turn]):
                    queue.append(RunId(task, condition, trial))
        queue += [run for run in self.runs if run.condition not in names]
        return {run.stem: place for place, run in enumerate(queue)}

    def priority(self, stem: str) -> int:
        """The run's priority; higher is earlier. The runs of a task are neighbours in the queue."""
        return len(self._places) - self._places[stem]

    def gate_s(self, run: RunId, at_once: int) -> float:
        """Seconds that the run may wait for the others of its task: 0 if none is wanted, or can run with it."""
        others = compared(self.plan)
        if run.condition not in others:
            return 0.0
        names = [run.condition]
        for name in others:
            if name != run.condition and self.needs_agent(run._replace(condition=name)):
                names.append(name)
        fit = 1 < len(names) <= at_once and self._limits.bears(names)
        return PARTNER_LIMIT_S if fit else 0.0

    @property
    def runtime_min(self) -> int:
        """The maximum minutes of a run, for cluster schedulers: all attempts with pauses, and the start gate."""
        setup_s = max(condition.setup_s for condition in self.config.conditions.values())
        attempt_s = self.config.agent.timeout_s + 2 * setup_s + LONGEST_PAUSE_S
        return SPARE_MIN + math.ceil((PARTNER_LIMIT_S + self.config.agent.retries * attempt_s) / 60)


def _if_there(file: Path) -> list[str]:
    return [file.as_posix()] if file.exists() else []


def run_of(task: str, condition: str, trial: str) -> RunId:
    """The run for the wildcards of a file name; `trial` is a folder such as `t2/`, or empty."""
    return run_of_stem(f"{trial}{task}-{condition}")
