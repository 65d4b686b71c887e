"""A database with many calls in it: copies of one real call, spread over a day."""

from typing import Any

import httpx2
import psycopg

# Ids are UUIDv7 in order of time with the pool in the last 24 bits, as the ledger makes them.
COPY = """
INSERT INTO budget_call ({columns})
SELECT {values}
FROM (SELECT * FROM budget_call LIMIT 1) AS c
CROSS JOIN generate_series(1, {count}) AS n
CROSS JOIN LATERAL (
    SELECT c.offered_at - interval '1 day' * ({count} - n + 1) / {count} AS offered_at
) AS t
"""
NEW_VALUES = {
    "id": """(
        lpad(to_hex((extract(epoch FROM t.offered_at) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(n & 4095), 3, '0') || '8' || left(md5(n::text), 9)
        || lpad(to_hex(c.pool_id), 6, '0')
    )::uuid""",
    "idempotency_key": "'stored ' || n",
    "offered_at": "t.offered_at",
    "seq": "c.seq - 1 - n",
}


def store_calls(connection: psycopg.Connection[Any], count: int) -> None:
    """Copies the one call there is, then brings the statistics up to date."""
    columns = [
        name
        for (name,) in connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'budget_call'"
        )
    ]
    values = [NEW_VALUES.get(name, f'c."{name}"') for name in columns]
    connection.execute(
        COPY.format(
            columns=", ".join(f'"{name}"' for name in columns),
            values=", ".join(values),
            count=count,
        ).encode()
    )
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")


def make_call(url: str, key: str) -> None:
    """Makes and settles the call that is copied."""
    headers = {"Authorization": f"Api-Key {key}", "Idempotency-Key": "stored"}
    body = {"pool": "bench", "workload_class": "adjuster", "input_tokens": 800}
    with httpx2.Client(base_url=url, headers=headers, trust_env=False) as client:
        made = client.post("/api/v1/admissions", json=body | {"output_tokens": 200})
        admission = made.raise_for_status().json()["id"]
        used = {"outcome": "succeeded", "input_tokens": 800, "output_tokens": 150}
        client.post(f"/api/v1/admissions/{admission}/settle", json=used).raise_for_status()
