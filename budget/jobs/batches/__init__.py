"""Bulk jobs on the provider's batch endpoint: collected, sent, watched, read.

Each batch is a row that goes from `collecting` over `submitting`, `running` and `ended` to
`done` or `failed`. A worker takes a row to itself for one step (`runner`, `hold`), and notes
what it is about to do and what came of it, so that any other worker can go on from there:

- `collector` opens a batch once waiting jobs are enough or old enough, and leases them;
- `submitter` sends it, and after a crash first looks whether it was sent;
- `poller` asks how it stands, less and less often;
- `results` ends each job as the provider says.

What goes wrong with the provider leaves the row as it is, to be tried again later.
"""
