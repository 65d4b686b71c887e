"""Running jobs on django-q2: tickets, the workers' threads, the sweeper, provider batches."""
