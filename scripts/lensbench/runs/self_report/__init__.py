"""Parsing the report in an answer: its sections, the values of its fields, and the paths in it."""
