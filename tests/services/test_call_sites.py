"""However many calls there are, call sites are read from the index of the untagged ones alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from budget import services
from budget.services import call_sites
from tests.ledger.pools import make_classes, make_pool

pytestmark = pytest.mark.django_db(transaction=True)

CALLS = 20_000
FILL = f"""
INSERT INTO budget_call (
    id, pool_id, workload_class, untagged, key_prefix, fingerprint, input_tokens, output_tokens,
    source, tags, offered_at, deadline, seq, position, policy_version, state, reason, "limit",
    detail, arithmetic, charges, outcome, refunded, overrun, of_batch
)
SELECT gen_random_uuid(), %s, 'nightly', n %% 10 = 0, 'k', '', 9, 1, 'source ' || n %% 50, '{{}}',
    now() - n * interval '1 s', now(), n, 0, 1, 'settled', '', '', '', '[]', '[]', '', '{{}}',
    '{{}}', false
FROM generate_series(1, {CALLS}) AS n
"""


def test_no_other_call_is_touched() -> None:
    make_classes()
    pool = make_pool()
    now = datetime.now(UTC)
    bounds: dict[str, Any] = {
        "pools": [pool.pk],
        "start": now - timedelta(days=1),
        "end": now,
        "classes": None,
        "key": "",
        "calls": call_sites.MOST_CALLS,
        "sites": call_sites.MOST_SITES,
    }
    with connection.cursor() as cursor:
        cursor.execute(FILL, [pool.pk])
        cursor.execute("VACUUM ANALYZE budget_call")
        cursor.execute(f"EXPLAIN {call_sites.CALL_SITES}", bounds)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index Only Scan" in plan
    assert "using budget_untagged on budget_call" in plan
    assert "Sort Key: budget_call.offered_at" not in plan, "the index has them in order"
    found = services.untagged(None, bounds["start"], bounds["end"])
    assert sum(site.calls for site in found.call_sites) == CALLS / 10
    assert len(found.call_sites) == 5
