"""Change tasks from commits, releases and SWE-bench (docs/changes.md)."""
