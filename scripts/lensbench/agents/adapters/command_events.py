"""Any program that prints the event stream of docs/events.md: as `command`, with everything observed that it shows."""

from lensbench.agents.adapters.command import TEE, command
from lensbench.agents.adapters.offline import is_over
from lensbench.agents.adapters.offline import read_events as read

__all__ = ["TEE", "command", "is_over", "read"]
