"""Tasks whose answer is a change of the repository, judged by hidden tests.

`task` is the format, `patches` extracts what an agent changed, `environment` installs what tests need, `execute` runs
them, `proof` checks whether a task can be judged.
"""

CHANGE = "change"
"""The `kind` of such a task, in task sets and plans."""
