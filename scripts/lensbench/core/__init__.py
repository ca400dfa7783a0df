"""Shared types and utilities: every other package may import this one, and it imports none of them."""
