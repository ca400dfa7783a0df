"""What benchmarks/soak.py is made of: who injects faults, who asks for answers, and who counts what became of them."""
