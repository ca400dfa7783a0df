"""Words of the config that stages know, apart from its models: those take longer to import than most stages work."""

from typing import Final, Literal

MECHANICAL: Final = "mechanical"
HUMAN: Final = "human"
TESTS: Final = "tests"
"""The judge of changes; it is there when a task asks for one."""

Verdict = Literal["GO", "NO-GO", "HARM", "INCONCLUSIVE"]
"""What the gate can say about a treatment."""
