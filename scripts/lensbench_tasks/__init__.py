"""Task sets: generated about a repository with every fact proven, drafted, checked, tried (docs/generating.md).

Its contract with the engine is the task file.

parsers/     definitions, imports and history of a tree; the embedded server reads with them too
survey       facts of the tree and its history
mining/      tasks from such facts, without a model
author       tasks written by an agent
problems     problems of a task, each with a typed reason
trial        scores of a single search, an agent without a model, and an agent that knows the facts
rounds       failed tasks are returned with reasons, a limited number of times
changes/     tasks whose answer is a change
drafting/    patterns for criteria in prose
files        the set and the report
review_page  the page for human review
"""

VERBS = {
    "Begin": {
        "generate": ("lensbench_tasks.generate", "write a task set about a repository, with proven facts"),
        "draft": ("lensbench_tasks.drafting", "turn Markdown scenarios into a task set, with draft patterns"),
        "check": ("lensbench_tasks.check", "check a task set: facts that patterns miss or prompts give away"),
        "try": ("lensbench_tasks.try_answer", "judge one answer now, and show which words decided"),
        "prove": ("lensbench_tasks.proofs", "check the proofs of a task set against its repositories"),
    }
}
"""Group -> verb -> its module, and its line in the overview; an entry point of `lensbench.verbs`."""
