"""Figures with their baselines, measured side by side in one run: `python -m bench`.

Nothing here is part of the service. The naive ways exist to be beaten.
"""
