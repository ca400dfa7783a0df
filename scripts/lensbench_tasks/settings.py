"""Settings of the generator: the agent that writes tasks, and its environment."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lensbench.core.frozen_plan import SandboxSettings
from lensbench.core.tasks import Many, Strict
from lensbench.plan.config import DEFAULT_CACHE, Agent, Price


class Settings(Strict):
    """A subset of the config; all keys have defaults."""

    agent: Agent = Agent()
    """The agent that writes; `offline` and `none` select the miners."""
    seed: Annotated[int, Field(ge=0)] = 1
    """The seed of the miners."""
    tools: Many[str] = ()
    """Tools and servers of the benchmark, which questions must not mention."""
    sandbox: str = "auto"
    """As in the config."""
    sandbox_visible: Many[str] = ()
    """As in the config."""
    max_usd: float | None = None
    """The budget; once it is spent, the agent is not asked again."""
    prices: dict[str, Price] = Field(default={})
    """As in the config."""
    cache: str = DEFAULT_CACHE
    """The cache folder for fetched repositories."""

    def for_sandbox(self) -> SandboxSettings:
        """The settings of the sandbox for agents and tests."""
        return {"mode": self.sandbox, "visible": list(self.sandbox_visible), "hidden": [self.cache]}

    @property
    def offline(self) -> bool:
        """True when no model is asked."""
        return self.agent.kind in ("offline", "none")
