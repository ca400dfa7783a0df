"""Tasks whose answer is a change of the repository, judged by hidden tests.

`task` is the format, `patches` extracts what an agent changed, `environment` installs what tests need, `execute` runs
them, `proof` checks whether a task can be judged.
"""

from __future__ import annotations

import json
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder

CHANGE = "change"
"""The `kind` of such a task, in task sets and plans."""


def environments(folder: Path) -> dict[str, str]:
    """The folder of each change task's test environment, by task; "" for tests that need none or run in an image, which
    agents do not see."""
    path = RunFolder(folder).environments
    try:
        return {
            task: "" if entry.get("image") else str(entry["folder"])
            for task, entry in json.loads(path.read_text(encoding="utf-8")).items()
        }
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it, and the next start rebuilds it") from None
