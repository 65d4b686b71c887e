"""Token Budget: one LLM token allowance, split between workloads by deadline."""
