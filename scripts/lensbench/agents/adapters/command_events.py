"""Any program that prints the event stream of docs/events.md: as `command`, with everything observed that it shows."""

from lensbench.agents.adapters.command import command
from lensbench.agents.adapters.offline import is_over, read

__all__ = ["command", "is_over", "read"]
