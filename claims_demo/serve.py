"""`make serve`: the service without policy or accounts, until Ctrl-C or SIGTERM."""

import argparse
import sys

from django.core.exceptions import ImproperlyConfigured
from django.db import NotSupportedError

from claims_demo.processes import ProcessFailed, end_on_signals, prepare, require_free, web


def serve(host: str, port: int) -> int:
    """Migrates, serves, and returns the exit code of the web process if it ends by itself."""
    require_free(host, port)
    prepare(host)
    with web(host, port) as process:
        print(f"Serving on http://{host}:{port}/ (Ctrl-C stops)", flush=True)
        return process.wait()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    end_on_signals()
    try:
        return serve(arguments.host, arguments.port)
    except (ImproperlyConfigured, NotSupportedError, ProcessFailed) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
