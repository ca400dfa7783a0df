"""What the generator is told about the agent that writes tasks, and about its surroundings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lensbench.core.frozen_plan import SandboxSettings
from lensbench.core.tasks import Many, Strict
from lensbench.plan.config import DEFAULT_CACHE, Agent


class Settings(Strict):
    """A part of the config; all of it has defaults."""

    agent: Agent = Agent()
    """Who writes: `offline` and `none` mean the miners."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Fixes what the miners draw."""
    tools: Many[str] = ()
    """Tools and servers of the benchmark, which no question may name."""
    sandbox: str = "auto"
    """As in the config."""
    sandbox_visible: Many[str] = ()
    """As in the config."""
    max_usd: float | None = None
    """When so much is spent, nothing more is asked."""
    cache: str = DEFAULT_CACHE
    """Where fetched repositories are kept."""

    def for_sandbox(self) -> SandboxSettings:
        """The sandbox in which agents and tests are started."""
        return {"mode": self.sandbox, "visible": list(self.sandbox_visible), "hidden": [self.cache]}

    @property
    def offline(self) -> bool:
        """No model is asked."""
        return self.agent.kind in ("offline", "none")
