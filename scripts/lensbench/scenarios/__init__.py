"""Generates task sets about a repository, with every fact proven by the repository (docs/generating.md).

pin          the repository and its revision
survey       facts of the tree and its history
mining/      tasks from such facts, without a model
author       tasks written by an agent
problems     problems of a task, each with a typed reason
trial        scores of a single search, an agent without a model, and an agent that knows the facts
rounds       failed tasks are returned with reasons, a limited number of times
files        the set and the report
review_page  the page for human review
"""
