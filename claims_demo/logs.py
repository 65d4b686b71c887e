"""What the log leaves out."""

from logging import LogRecord


def without_traceback(record: LogRecord) -> bool:
    """Lets a record pass whose message says it all: where in Django it was raised is no help."""
    record.exc_info = None
    return True
