"""What Prometheus scrapes: the ledger's totals and balances beside django-prometheus' own metrics.

They are read from the ledger at each scrape, not counted in this process: whichever process
answers says the same, and a restart changes nothing. `docs/metrics.md` lists them.
"""
