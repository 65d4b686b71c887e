"""How fast a queue's jobs go, said once more, slowly: everything that happened is kept."""

from itertools import pairwise
from math import exp

MINUTE = 60.0


class Attempt:
    """A job that was taken, at a moment in seconds."""

    def __init__(self, taken: float) -> None:
        self.taken = taken
        self.sent_away = False


class History:
    """A queue's past: when somebody waited for others only, and what was taken."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waiting = 0
        self.running: list[Attempt] = []
        self.over: list[Attempt] = []
        self.last_sent_away: float | None = None
        self.paused = False
        self.spans: list[tuple[float, float, bool]] = []
        """From, until, and whether jobs waited that could be taken, by a provider too."""

    def passes(self, seconds: float) -> None:
        """Time goes by."""
        counts = self.waiting > 0 and self.last_sent_away is None and not self.paused
        self.spans.append((self.now, self.now + seconds, counts))
        self.now += seconds

    def take(self) -> None:
        """A job starts."""
        self.waiting -= 1
        self.running.append(Attempt(self.now))

    def succeed(self, attempt: Attempt) -> None:
        """It ends well; if it began after the last that was sent away, the provider is back."""
        self._end(attempt)
        if self.last_sent_away is not None and attempt.taken >= self.last_sent_away:
            self.last_sent_away = None

    def send_away(self, attempt: Attempt) -> None:
        """It waits again, and so does everybody until the provider is back."""
        self._end(attempt)
        attempt.sent_away = True
        self.waiting += 1
        if self.last_sent_away is None or attempt.taken >= self.last_sent_away:
            self.last_sent_away = self.now

    def waited(self, since: float = 0.0) -> float:
        """Seconds since a moment in which jobs waited of a provider that took them."""
        return sum(end - max(start, since) for start, end, counts in self._since(since) if counts)

    def stood_and_ran(self, since: float) -> bool:
        """Whether such time began anew after a moment."""
        counted = [counts for start, end, counts in self._since(since) if end > start]
        return any(not before and now for before, now in pairwise(counted))

    def pace(self) -> float:
        """Jobs taken per second of such time, the older the less."""
        taken = [a for a in [*self.running, *self.over] if not a.sent_away]
        weight = sum(exp(-self.waited(attempt.taken) / MINUTE) for attempt in taken) / MINUTE
        return weight / (1 - exp(-max(self.waited(), 1.0) / MINUTE))

    def _since(self, moment: float) -> list[tuple[float, float, bool]]:
        return [span for span in self.spans if span[1] > moment]

    def _end(self, attempt: Attempt) -> None:
        self.running.remove(attempt)
        self.over.append(attempt)
