"""Where the repositories of tasks come from: one module per kind of source, and what they share."""
