"""Tasks whose answer is a change of the repository, judged by tests that the agent has not seen.

`task` is the format, `patches` what an agent changed, `environment` what tests need, `execute` runs them, `proof` says
whether a task can be judged at all.
"""
