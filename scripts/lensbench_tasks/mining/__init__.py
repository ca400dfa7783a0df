"""Generates tasks from facts in syntax trees and git history, without a model.

A miner is a module with `drafts(survey, rng)`, which yields its tasks, deterministic for a given rng.
"""
