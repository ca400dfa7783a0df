"""The vocabulary of the design and the ground that it stands on: every room may import it, it imports none."""
