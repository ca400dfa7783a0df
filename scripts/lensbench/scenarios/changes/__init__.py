"""Change tasks from existing changes (docs/change-sets.md).

kinds       whether a file is source, test or neither
pieces      the difference of two trees in independently applicable parts
reducing    the parts that a test needs
history     commits that touch source and tests
releases    two releases of a package
swebench    JSONL in the format of SWE-bench
harbor      task folders of Harbor and Terminal-Bench
prompts     prompts of tasks, checked not to give the change away
"""
