"""Task sets: generated about a repository with every fact proven, drafted, checked, tried (docs/generating.md).

Its contract with the engine is the task file.
"""

VERBS = {
    "Begin": {
        "generate": (
            "lensbench_tasks.generate",
            "write a task set about a repository, with proven facts",
        ),
        "draft": (
            "lensbench_tasks.drafting",
            "turn Markdown scenarios into a task set, with draft patterns",
        ),
        "check": (
            "lensbench_tasks.check",
            "check a task set: facts that patterns miss or prompts give away",
        ),
        "try": ("lensbench_tasks.try_answer", "judge one answer now, and show which words decided"),
        "prove": (
            "lensbench_tasks.proofs",
            "check the proofs of a task set against its repositories",
        ),
    }
}
"""Group -> verb -> its module, and its line in the overview."""
