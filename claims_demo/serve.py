"""`make serve`: the service without policy or accounts, until Ctrl-C or SIGTERM."""

from claims_demo.interrupts import end_at_once, end_on_signals

if __name__ == "__main__":
    end_at_once()

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

from claims_demo.clusters import ClusterProcess, clusters
from claims_demo.database.errors import REFUSALS, in_words
from claims_demo.environment import flag
from claims_demo.processes import (
    LOOPBACK,
    ProcessFailed,
    address,
    free_port,
    port_number,
    prepare,
    require_free,
    web,
)

LOOK_SECONDS = 0.5
PLAIN = (
    "This is plain HTTP and can be read on the way: let a proxy speak TLS and set "
    "BEHIND_PROXY=1. Name the hosts it is asked for in ALLOWED_HOSTS."
)


def serve(host: str, port: int) -> int:
    """Migrates, serves, and returns the exit code of the web process if it ends by itself.

    Raises ProcessFailed when a cluster ends by itself.
    """
    require_free(host, port)
    prepare(host)
    with clusters() as jobs, web(host, port) as process:
        print(f"Serving on {address(host, port)}/ (Ctrl-C stops)", flush=True)
        print(f"Jobs run in the clusters {_names(jobs)}", flush=True)
        if host not in LOOPBACK and not flag("HTTPS", default=False):
            print(PLAIN, file=sys.stderr, flush=True)
        return _watch(process, jobs)


def _names(jobs: Sequence[ClusterProcess]) -> str:
    return " and ".join(f"{cluster.name} ({cluster.log})" for cluster in jobs)


def _watch(process: subprocess.Popen[bytes], jobs: Sequence[ClusterProcess]) -> int:
    while (code := process.poll()) is None:
        for cluster in jobs:
            cluster.require_running()
        time.sleep(LOOK_SECONDS)
    return code


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=port_number, default=8000, help="0: any free one")
    arguments = parser.parse_args()
    try:
        end_on_signals()
        return serve(arguments.host, arguments.port or free_port(arguments.host))
    except (ProcessFailed, *REFUSALS) as error:
        print(in_words(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
