"""How moments cross between the ledger and its tables: as microseconds since the epoch."""


def as_micros(moment: str) -> str:
    """SQL for the microseconds of a timestamp."""
    return f"(extract(epoch FROM {moment}) * 1000000)::bigint"


def as_moment(micros: str) -> str:
    """SQL for the timestamp of so many microseconds."""
    return f"timestamptz 'epoch' + {micros} * interval '1 microsecond'"
