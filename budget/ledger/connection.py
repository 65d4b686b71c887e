"""The ledger's own connection: apart from Django's, so that it commits by itself.

It relies on session settings and prepared statements, so no proxy that shares sessions
between transactions may stand before the server.
"""

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

# A writer that dies or stalls with the lock is cut off by the server after 2 s. Plans go by
# index whatever statistics say: the hot tables grow from empty to millions between analyses.
SESSION = {
    "lock_timeout": "1s",
    "idle_in_transaction_session_timeout": "2s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "5s",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
# Also cuts off a writer that is stopped between the messages of one round trip.
TRANSACTION_TIMEOUT = "SET transaction_timeout = '5s'"
TRANSACTION_TIMEOUT_SINCE = 170_000
CLIENT = {
    "application_name": "budget-ledger",
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}


def connect() -> psycopg.Connection:
    """Connect to Django's default database. Raises psycopg.OperationalError."""
    try:
        params = connections["default"].get_connection_params()
    except ImproperlyConfigured as error:
        # A server that Django's backend starts itself may not start for a while.
        raise psycopg.OperationalError(str(error)) from error
    for name in ("cursor_factory", "context", "prepare_threshold"):
        params.pop(name, None)
    options = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    params["options"] = f"{params.get('options', '')} {options}".strip()
    connection = psycopg.connect(**{**params, **CLIENT}, autocommit=True)
    if connection.info.server_version >= TRANSACTION_TIMEOUT_SINCE:
        connection.execute(TRANSACTION_TIMEOUT)
    return connection
