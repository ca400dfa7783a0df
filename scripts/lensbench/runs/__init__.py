"""Running agents, and deciding which runs are valid."""
