"""Judges: the answers they see, their verdicts, and how far these can be trusted."""
