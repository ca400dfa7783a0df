"""Control arms: benchmarks with a known outcome, which test lensbench itself (docs/controls.md)."""
