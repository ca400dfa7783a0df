"""The code under test: fetched, cleaned, pinned."""
