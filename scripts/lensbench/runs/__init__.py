"""How a run comes to be, and whether it counts."""
