"""Control arms: benchmarks whose outcome is known beforehand, which prove the instrument (docs/controls.md)."""
