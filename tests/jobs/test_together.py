"""Whatever is asked of the queues, in whatever order: the counts equal the tables.

Invariant 5 for jobs: every one ends in exactly one outcome.
"""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from budget.ledger.ids import new_id
from budget.ledger.job_operations import (
    CancelJob,
    Collect,
    Enqueue,
    Enqueued,
    Finish,
    JobRequest,
    Take,
    Taken,
    TakenJob,
)
from budget.ledger.operations import AdmissionRequest, Admit
from budget.ledger.session import Session
from budget.ledger.submission import Submission
from budget.models import Job, Limit, Pool, WorkloadClass
from tests.committed import _delete_everything
from tests.jobs.accounts import ENDS, check_accounts
from tests.jobs.clock import Clock, clock
from tests.ledger.pools import make_pool

__all__ = ["clock"]

CLASSES: dict[str, dict[str, Any]] = {
    "adjuster": {"tier": "interactive", "deadline_seconds": 5},
    "desk": {"tier": "near_line", "deadline_seconds": 20, "max_attempts": 1},
    "rescore": {"tier": "near_line", "deadline_seconds": 120, "queue_limit": 4},
    "nightly": {
        "tier": "bulk",
        "deadline_seconds": 7200,
        "queue_tokens": 9000,
        "max_call_tokens": 9000,
    },
    "archive": {"tier": "bulk", "deadline_seconds": 7200},
}
QUEUED = ["desk", "rescore", "nightly", "archive"]
EDITS: dict[str, Callable[[], Any]] = {
    "pause": lambda: WorkloadClass.objects.filter(slug="rescore").update(paused=True),
    "drain": lambda: WorkloadClass.objects.filter(slug="nightly").update(draining=True),
    "resume": lambda: WorkloadClass.objects.update(paused=False, draining=False),
    "pause all": lambda: Pool.objects.update(paused=True),
    "resume all": lambda: Pool.objects.update(paused=False),
    "bound": lambda: WorkloadClass.objects.filter(slug="rescore").update(queue_limit=2),
    "narrow": lambda: Limit.objects.filter(algorithm="token_bucket").update(amount=3000),
    "widen": lambda: Limit.objects.filter(algorithm="token_bucket").update(amount=60_000),
    "no batches": lambda: Pool.objects.update(batch=False),
    "batches": lambda: Pool.objects.update(batch=True),
    "observe": lambda: Pool.objects.update(mode="observe"),
    "enforce": lambda: Pool.objects.update(mode="enforce"),
    "remove": lambda: WorkloadClass.objects.filter(slug="archive").delete(),
    "loosen": lambda: WorkloadClass.objects.filter(slug="desk").update(tier="bulk"),
    "quicken": lambda: WorkloadClass.objects.filter(slug="desk").update(tier="interactive"),
    "restore": lambda: [
        WorkloadClass.objects.update_or_create(slug=slug, defaults=CLASSES[slug])
        for slug in ("archive", "desk")
    ],
}

TOKENS = st.sampled_from([0, 10, 500, 1500, 4000])
WHICH = st.integers(1, 8)
"""Counted from the latest."""
ENQUEUE = st.tuples(
    st.just("enqueue"),
    st.sampled_from(QUEUED),
    TOKENS,
    st.sampled_from([None, None, None, "a", "b"]),
    st.sampled_from([None, None, 1000, 15_000]),
    st.sampled_from([None, "small"]),
)
TAKE = st.tuples(
    st.just("take"),
    st.sampled_from([("near_line",), ("bulk",), ("near_line", "bulk")]),
    st.integers(1, 4),
)
OPERATIONS = st.one_of(
    ENQUEUE,
    ENQUEUE,
    ENQUEUE,
    TAKE,
    TAKE,
    st.tuples(st.just("collect"), st.integers(1, 3)),
    st.tuples(
        st.just("finish"),
        WHICH,
        st.sampled_from(
            [
                ("succeeded", "succeeded"),
                ("failed", "failed"),
                ("failed", "cancelled"),
                ("sent_away", "rate_limited"),
                ("sent_away", "cancelled"),
            ]
        ),
        st.sampled_from([None, 0, 700]),
        st.sampled_from([None, 0, 5]),
    ),
    st.tuples(st.just("cancel"), WHICH, st.booleans()),
    st.tuples(st.just("admit"), TOKENS),
)
BATCH = st.tuples(st.just("batch"), st.lists(OPERATIONS, min_size=1, max_size=8), st.booleans())
STEPS = st.one_of(
    BATCH,
    BATCH,
    BATCH,
    st.tuples(st.just("forward"), st.sampled_from([0.5, 3, 30, 130, 3700])),
    st.tuples(st.just("edit"), st.sampled_from(sorted(EDITS))),
)


class World:
    """A pool, what is known of its jobs, and a writer of its own."""

    def __init__(self, clock: Clock) -> None:
        for slug, fields in CLASSES.items():
            WorkloadClass.objects.create(slug=slug, max_call_seconds=60, **fields)
        self.pool = make_pool(
            {
                "unit": "total_tokens",
                "algorithm": "token_bucket",
                "amount": 6000,
                "burst_percent": 100,
            },
            {"unit": "requests", "algorithm": "gauge", "amount": 3},
            batch=True,
            batch_window_hours=1,
        )
        Limit.objects.create(
            pool=self.pool, of_batch=True, unit="total_tokens", algorithm="gauge", amount=6000
        )
        self.clock = clock
        self.session = Session(self.pool.pk)
        self.ids: list[Any] = []
        self.taken: list[TakenJob] = []
        first = [self.enqueue(slug, 500, None, None, None) for slug in 2 * QUEUED]
        self.decide([Submission(operation) for operation in first])

    def live(self, step: tuple[Any, ...]) -> None:
        """Do one step and check every account."""
        if step[0] == "forward":
            self.clock.forward(step[1])
        elif step[0] == "edit":
            EDITS[step[1]]()
        else:
            self.decide([Submission(self.operation(*wanted)) for wanted in step[1]], lost=step[2])
            check_accounts(self.pool)

    def decide(self, submissions: list[Submission], lost: bool = False) -> None:
        """One batch; a second time if its reply was lost."""
        answers = self.session.decide(submissions)
        if lost:
            answers = self.session.decide(submissions)
        for answer in answers:
            if isinstance(answer, Enqueued):
                self.ids.append(answer.id)
            elif isinstance(answer, Taken):
                self.taken += answer.jobs
            else:
                assert answer is not None

    def operation(self, kind: str, *fields: Any) -> Any:
        """What is asked of the ledger."""
        return getattr(self, kind)(*fields)

    def enqueue(
        self, slug: str, tokens: int, key: str | None, deadline_ms: int | None, model: str | None
    ) -> Enqueue:
        request = JobRequest(
            pool="claims",
            workload_class=slug,
            task="t",
            args="{}",
            model=model,
            input_tokens=tokens,
            output_tokens=0,
            deadline_ms=deadline_ms,
            idempotency_key=key,
        )
        return Enqueue(id=self.id(), request=request, fingerprint=f"{slug}{tokens}")

    def take(self, tiers: Any, most: int) -> Take:
        return Take(id=self.id(), tiers=tiers, most=most)

    def collect(self, most: int) -> Collect:
        return Collect(id=self.id(), batch_id=uuid4(), model="small", most=most, most_bytes=1000)

    def finish(
        self, which: int, how: tuple[Any, Any], tokens: int | None, rest: float | None
    ) -> Finish:
        job = self.taken[-(which % len(self.taken))] if self.taken else None
        return Finish(
            id=job.id if job else self.id(),
            call_id=job.call_id if job else self.id(),
            ending=how[0],
            outcome=how[1],
            input_tokens=tokens,
            output_tokens=tokens,
            rest_seconds=rest,
            result="1",
            error="why\0",
        )

    def cancel(self, which: int, forget_key: bool) -> CancelJob:
        job_id = self.ids[-(which % len(self.ids))] if self.ids else self.id()
        return CancelJob(id=job_id, forget_key=forget_key)

    def admit(self, tokens: int) -> Admit:
        request = AdmissionRequest(
            pool="claims", workload_class="adjuster", input_tokens=tokens, output_tokens=0
        )
        return Admit(id=self.id(), request=request)

    def id(self) -> Any:
        return new_id(self.pool.pk)

    def see_all_end(self) -> None:
        """Whatever is left gets run or dropped: nobody takes part in it for ever."""
        for edit in ("resume", "resume all", "restore", "widen", "enforce", "no batches"):
            EDITS[edit]()
        for _ in range(40):
            self.clock.forward(600)
            self.decide([Submission(self.take(("near_line", "bulk"), 3))])
            running, self.taken = self.taken, []
            endings = [
                Finish(id=job.id, call_id=job.call_id, ending="succeeded", outcome="succeeded")
                for job in running
            ]
            if endings:
                self.decide([Submission(ending) for ending in endings])
            if not Job.objects.filter(pool_id=self.pool.pk).exclude(state__in=ENDS).exists():
                return
        raise AssertionError("some jobs never ended")


@pytest.mark.timeout(600)
@settings(
    max_examples=max(25, settings.default.max_examples // 20),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    # Against a database, shrinking takes minutes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(steps=st.lists(STEPS, min_size=10, max_size=40))
def test_the_counts_equal_the_tables_and_every_job_ends_once(
    clock: Clock, steps: list[tuple[Any, ...]]
) -> None:
    clock.forward(-clock.ahead)
    world = World(clock)
    try:
        for step in steps:
            world.live(step)
        world.see_all_end()
        check_accounts(world.pool)
    finally:
        world.session.close()
        _delete_everything(None)  # type: ignore[arg-type]
