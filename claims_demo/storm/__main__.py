"""The storm's process: orders in, a report a second out, until its input ends."""

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING

import django
import msgspec

from claims_demo.database.renewing import RenewingExecutor
from claims_demo.storm.report import Orders

if TYPE_CHECKING:
    from claims_demo.storm.storm import Storm


async def main(storm: "Storm") -> None:
    """Storms until standard input ends, as it does when the giver of the orders dies."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(RenewingExecutor())

    def close_at_end_of_input() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(storm.stage.closing.set)

    threading.Thread(target=close_at_end_of_input, daemon=True).start()
    await storm.run()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "claims_demo.settings")
    django.setup()
    from claims_demo.storm.storm import Storm  # models, once Django is set up

    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    asyncio.run(main(Storm(orders)))
