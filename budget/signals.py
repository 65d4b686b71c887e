"""What the app tells whoever wants to know."""

from django.dispatch import Signal

enqueued = Signal()
"""A job has its place: `pool` and `workload_class` by slug. It is committed, whatever transaction
the sender is in. What a receiver raises is logged and changes nothing."""

ended = Signal()
"""A job has ended: `job_id`, and its `state`, which is `succeeded`, `failed`, `expired` or
`cancelled`. It is committed, and sent by the process that ended it: a worker, whoever fetched the
results of its batch, or whoever cancelled it. What a receiver raises is logged and changes nothing.

At best, so look after those that you miss, by `services.jobs_by_id`: none is sent of a job that
expires as it waits or whose last lease runs out, nor if the process dies in between; and after a
connection that broke it may be sent twice."""
