"""Change tasks from commits, releases, SWE-bench and Harbor (docs/changes.md)."""
