"""What will be asked: the config, task sets, the frozen plan, waves."""
