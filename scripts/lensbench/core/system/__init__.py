"""Access to the machine: files, processes, locks, clock, terminal."""
