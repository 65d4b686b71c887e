"""What the app tells whoever wants to know."""

from django.dispatch import Signal

enqueued = Signal()
"""A job has its place: `pool` and `workload_class` by slug. It is committed, whatever transaction
the sender is in. What a receiver raises is logged and changes nothing."""
