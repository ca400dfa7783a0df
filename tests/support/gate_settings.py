"""The settings of the gate that a config has where it says nothing."""

from typing import Any

from lensbench.plan.config import Gate

DEFAULTS: Any = Gate().model_dump()
