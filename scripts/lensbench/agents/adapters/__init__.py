"""One module is one adapter: `agent.kind` is its name (docs/agents.md)."""
