"""python -m claims_demo.leash MODULE [ARGUMENTS]: runs a module that ends with its parent.

Whoever starts it holds the other end of its standard input. When that end closes, because the
holder was killed, the module is told to end, and killed with its children if it doesn't.
"""

import os
import runpy
import signal
import sys
import threading
import time

GRACE_SECONDS = 15.0


def main() -> None:
    """Become the module."""
    sys.argv = sys.argv[1:]
    threading.Thread(target=_end_with_input, name="leash", daemon=True).start()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    # It leads a session of its own.
    os.killpg(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
