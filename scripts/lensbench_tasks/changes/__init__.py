"""Change tasks from commits, releases, SWE-bench and Harbor (docs/change-sets.md)."""
