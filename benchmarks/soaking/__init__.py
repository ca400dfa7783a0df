"""The parts of benchmarks/soak.py: the fault injector, the agent, and the accounts of the outcomes."""
