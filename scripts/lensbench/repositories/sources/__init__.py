"""Sources of repositories: one module per kind of source, and shared code."""
