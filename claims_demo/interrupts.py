"""How a program of the command line ends when it is interrupted: without a traceback."""

import signal
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_at_once() -> None:
    """Makes Ctrl-C end the program where it is, for as long as there is nothing to stop.

    For before the imports, which take a second. A program that is to ignore it still does.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def end_on_signals() -> None:
    """Makes the first SIGINT, SIGTERM or SIGHUP unwind the program; more are ignored.

    So everything is stopped in order, also when Ctrl-C is pressed twice.
    """
    for number in ENDING:
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt
