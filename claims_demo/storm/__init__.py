"""The claims platform under stress: adjusters ask, claims change, and the night run goes on.

It runs in a process of its own, `python -m claims_demo.storm`. Its adjusters are people: they
log in and ask over HTTP. Claim events and classifications are handed in as the platform's own
jobs are, by this process itself. All draw on one pool; but for classifications that can wait
for the provider's batch endpoint, which has an allowance of its own.
"""
