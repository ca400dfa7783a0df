"""Names from the config that stages use, separate from its models, which take longer to import than most stages run."""

from typing import Final, Literal

MECHANICAL: Final = "mechanical"
HUMAN: Final = "human"
TESTS: Final = "tests"
"""The judge of changes, present when there are change tasks."""

Verdict = Literal["HARM", "GO", "SAVES", "COSTS", "NO-GO", "INCONCLUSIVE"]
"""The verdicts of the gate on a treatment, in the order in which it looks for them."""
