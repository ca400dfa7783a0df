"""Tasks made of facts that a syntax tree or the history of git shows, without a model.

A miner is a module with `drafts(survey, rng)`: the tasks that it can make, the same ones for the same rng.
"""
