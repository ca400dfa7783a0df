"""The top layer: entry points for the Snakefile and the command line."""
