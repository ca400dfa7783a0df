"""What drives the whole: what the Snakefile or a person at the terminal starts."""
