"""The config, task sets, the frozen plan, and waves."""
