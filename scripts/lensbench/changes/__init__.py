"""Tasks whose answer is a change of the repository, judged by tests that the agent has not seen.

`task` is the format, `patches` what an agent changed, `environment` what tests need, `execute` runs them, `proof` says
whether a task can be judged at all.
"""

from __future__ import annotations

import json
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder

CHANGE = "change"
"""The `kind` of such a task, in sets and in plans."""


def environments(folder: Path) -> dict[str, str]:
    """The folder with what the tests of each change task need, by task; "" where they need nothing, and where they need
    it in an image, which agents do not see."""
    path = RunFolder(folder).environments
    try:
        return {
            task: "" if found.get("image") else str(found["folder"])
            for task, found in json.loads(path.read_text()).items()
        }
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it, and the next start makes it again") from None
