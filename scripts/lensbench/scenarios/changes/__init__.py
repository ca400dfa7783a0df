"""Tasks whose answer is a change, from where changes are found already (docs/change-sets.md).

kinds       which files of a project are source, tests, neither
pieces      the difference of two trees in parts that can be applied alone
reducing    which parts a test needs
history     commits that touch source and tests
releases    two releases of a package
swebench    JSONL of the SWE-bench kind
harbor      task folders of Harbor and Terminal-Bench
prompts     what a task asks, and whether it gives the change away
"""
