"""What judges see, their verdicts, and how far these can be trusted.

More than 3,500 lines, because patterns and blinding read natural language (`judges/`, `blinding.py`),
for which there is no library, and because each kind of judge (patterns, tests, models, people) has its own way to be
wrong, which `trust/` measures.
"""
