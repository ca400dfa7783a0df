"""What touches the machine: files, processes, locks, clock, terminal."""
