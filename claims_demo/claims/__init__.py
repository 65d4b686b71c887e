"""The claims platform: its pages, and the three services that ask a model about claims.

- `assistant`: an adjuster, with somebody on the phone, asks about a claim (interactive);
- `intake`: what happens to a claim has it scored again (near-line; `claims_demo.tasks`);
- `nightly`: claims that changed are classified through the batch endpoint (bulk).

All of them draw on one pool.
"""

POOL = "claims"

ANSWER_SECONDS = 2.0
"""Within which an adjuster is to have an answer, from the question to the page."""
