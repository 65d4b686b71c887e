"""python -m claims_demo.local_model --port N"""

import argparse
import os
import sys
import time
from threading import Thread
from typing import Any

import llmock.completion
import uvicorn
from llmock.journal import Journal
from llmock.main import create_app
from llmock.routers import batch
from llmock.simulation import MockResponseSettings

from claims_demo.local_model.words import reply

FIRST_TOKEN_SECONDS, TOKENS_PER_SECOND = 0.25, 120
CHARACTERS_A_TOKEN = 4
GRACE_SECONDS = 3
"""For answers under way when it is to end."""
MOST_BATCHES, MOST_REQUESTS = 20, 100
"""It remembers: a demo that runs for days sends many."""


class NewestBatches(dict[str, Any]):
    """Forgets the oldest."""

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        while len(self) > MOST_BATCHES:
            del self[next(iter(self))]


def say(*, settings: MockResponseSettings, model: str, prompt: str = "") -> str:
    """What the model says to a prompt; in a batch, which has time."""
    return reply(prompt)


def say_slowly(*, settings: MockResponseSettings, model: str, prompt: str = "") -> str:
    """The same, after as long as a model takes for it."""
    text = reply(prompt)
    time.sleep(FIRST_TOKEN_SECONDS + len(text) / CHARACTERS_A_TOKEN / TOKENS_PER_SECOND)
    return text


def end_with_input(server: uvicorn.Server) -> None:
    """Stop serving once nobody holds the other end of standard input any more."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    server.should_exit = True


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument(
        "--attached", action="store_true", help="end with standard input, and so with the parent"
    )
    arguments = parser.parse_args()
    # llmock has no place for words of one's own that depend on the prompt.
    llmock.completion.build_mock_text = say_slowly
    batch.build_mock_text = say
    batch._batches = NewestBatches()
    app = create_app()
    app.state.llmock.journal = Journal(MOST_REQUESTS)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host="127.0.0.1",
            port=arguments.port,
            log_level="warning",
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    if arguments.attached:
        Thread(target=end_with_input, args=(server,), daemon=True).start()
    server.run()


if __name__ == "__main__":
    main()
