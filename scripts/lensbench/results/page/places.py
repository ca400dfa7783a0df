"""Where the pages of tasks and runs are, relative to report.html."""

from __future__ import annotations

import re

from lensbench.core.records import RunId, trial_folder
from lensbench.core.run_folder import RunFolder


def stem(task: str, trial: int) -> str:
    """The name of a task's page in a trial: `<task>`, in `t2/` for trial 2 and so on, like the answers."""
    return f"{trial_folder(trial)}{re.sub('[^A-Za-z0-9._-]', '_', task)}"


def pair_address(task: str, trial: int) -> str:
    """The path of a task's page."""
    return f"{RunFolder.answers}/{stem(task, trial)}.html"


def run_address(run: RunId) -> str:
    """The path of a run's page; it cannot collide with a task's."""
    return f"{RunFolder.answers}/runs/{stem(run.task, run.trial)}-{run.condition}.html"
