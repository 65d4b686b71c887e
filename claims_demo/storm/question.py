"""One question on its way, and when it counts as late."""

import asyncio
from time import monotonic

from claims_demo.claims import ANSWER_SECONDS
from claims_demo.storm.service import ADJUSTERS
from claims_demo.storm.stage import Stage
from claims_demo.storm.tally import count


class OpenQuestion:
    """Counted as late the moment its time is over, not only when it ends: some never do."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._began = monotonic()
        self._judged = False
        self._timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._count_late)
        stage.tally(ADJUSTERS).asked += 1

    @property
    def age(self) -> float:
        """Seconds since it was first asked."""
        return monotonic() - self._began

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return self.age > ANSWER_SECONDS

    def answered(self) -> None:
        """It has its answer."""
        self._note_wait()
        if not self._judged:
            self._stage.tally(ADJUSTERS).in_time += 1
        self.close()

    def given_up(self) -> None:
        """Its adjuster does without an answer; at the end of the storm only if it is late."""
        if self._stage.closing.is_set() and not self.is_late:
            self.close()
        else:
            self._stage.tally(ADJUSTERS).gave_up += 1
            self._unanswered()

    def failed(self, fault: str) -> None:
        """There was neither an answer nor a refusal."""
        tally = self._stage.tally(ADJUSTERS)
        tally.failed += 1
        count(tally.faults, fault)
        self._unanswered()

    def close(self) -> None:
        """Nothing more is to be counted."""
        self._judged = True
        self._timer.cancel()

    def _unanswered(self) -> None:
        if self.is_late:
            self._note_wait()
        self._count_late()
        self.close()

    def _count_late(self) -> None:
        if not self._judged:
            self._judged = True
            self._stage.tally(ADJUSTERS).late += 1

    def _note_wait(self) -> None:
        self._stage.sheet.waits_ms.append(round(1000 * self.age))
