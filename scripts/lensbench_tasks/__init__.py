"""Task sets: generated about a repository with every fact proven, drafted, checked, tried (docs/generating.md).

Its contract with the engine is the task file.
"""
