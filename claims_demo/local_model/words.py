"""What the local model says: sentences made of the claim it is shown, by simple rules."""

import json
import re
from zlib import crc32

from claims_demo.local_model.claim import ReadClaim

QUESTION = re.compile(r"^Question: (.+)\Z", re.MULTILINE | re.DOTALL)
PAPERS = {
    "Hail": {"photos": "photo", "an estimate": "EUR"},
    "Glass": {"photos": "photo", "an estimate": "EUR"},
    "Collision": {
        "the accident report": "report",
        "photos": "photo",
        "an estimate": "Workshop|sensors|Expert",
    },
    "Theft": {"the police report": "Police report", "the purchase receipt": "receipt|List"},
    "Water": {
        "a list of what was damaged": "[Ll]ist",
        "photos": "[Pp]hotos",
        "an estimate": "Drying|Parquet|Tiler|Cleaning|units",
    },
    "Fire": {
        "a list of what was damaged": "[Ll]ist",
        "photos": "Photos",
        "the fire brigade's report": "Report of the fire brigade",
    },
}
"""By kind of claim: what a settlement needs, and by which words it is known to be here."""
UNFIT = re.compile(
    r"doubt|doesn't fit|in the yard that day|may be older|isn't known", re.IGNORECASE
)
THIRD = re.compile(r"recourse|other (driver|insurer|side)|another firm|the maker", re.IGNORECASE)
STUCK = re.compile(r"can't (work|sleep|open|lock)|closed since|no other car", re.IGNORECASE)
HIDDEN = re.compile(r"\b(wet|swollen|soot|water)\b", re.IGNORECASE)
LARGE = 25_000


def reply(prompt: str) -> str:
    """The answer to a prompt of the claims platform."""
    claim = ReadClaim.in_prompt(prompt)
    if asked := QUESTION.search(prompt):
        return _answer(claim, asked[1].lower())
    if prompt.endswith("Score this claim."):
        return json.dumps({"score": _score(claim), "reason": _newest(claim)})
    if prompt.endswith("Classify this claim."):
        return json.dumps({"category": _category(claim), "reason": _newest(claim)})
    return "I can only tell about claims."


def _answer(claim: ReadClaim, question: str) -> str:
    if re.search(r"missing|paper|need|settle", question):
        return f"{_missing(claim)} {_newest(claim)}"
    if re.search(r"cover|amount|pay|cost|much", question):
        return _money(claim)
    if re.search(r"unusual|doubt|fit|odd|suspicious", question):
        return _doubts(claim)
    if re.search(r"tell|say|claimant|call|next", question):
        return _next_step(claim)
    return f"{_opening(claim)} {_newest(claim)} What you ask for is not in the file."


def _opening(claim: ReadClaim) -> str:
    kind, insured = claim.field("Kind").lower(), claim.field("Insured")
    return f"This is a {kind} claim over {claim.euros:,} EUR, {insured}."


def _newest(claim: ReadClaim) -> str:
    if not claim.events:
        return "Nothing has happened yet."
    event = claim.events[-1]
    return f"{event.kind} of {event.day}: {event.text}"


def _missing(claim: ReadClaim) -> str:
    wanted = PAPERS.get(claim.field("Kind"), {})
    missing = [paper for paper, word in wanted.items() if not re.search(word, claim.text)]
    if missing:
        return f"Still missing: {' and '.join(missing)}."
    return f"Nothing is missing: {' and '.join(wanted)} are in the file."


def _money(claim: ReadClaim) -> str:
    estimate = claim.last("Estimate")
    if estimate is None:
        return f"{_opening(claim)} No estimate is in the file yet; the workshop could tell."
    return (
        f"{claim.euros:,} EUR are asked for. The estimate of {estimate.day} says: {estimate.text}"
    )


def _doubts(claim: ReadClaim) -> str:
    for event in claim.events:
        if UNFIT.search(event.text):
            return f"Look at the {event.kind.lower()} of {event.day}: {event.text}"
    return f"Dates, place and amount fit together as far as the file goes. {_newest(claim)}"


def _next_step(claim: ReadClaim) -> str:
    call = claim.last("Call")
    if call is None:
        return f"{_missing(claim)} Nobody has called yet."
    return f"On {call.day} the claimant called: {call.text} {_missing(claim)}"


def _score(claim: ReadClaim) -> int:
    """As the guide for scoring says, roughly."""
    if claim.field("Status") in ("Settled", "Declined"):
        return crc32(claim.text.encode()) % 16
    score = 20 + crc32(claim.text.encode()) % 9
    score += 25 * bool(STUCK.search(claim.text))
    score += 15 * (claim.euros > 10_000) + 10 * (claim.euros > LARGE)
    score += 15 * bool(UNFIT.search(claim.text)) + 10 * bool(THIRD.search(claim.text))
    score -= 5 * (claim.field("Kind") == "Glass")
    return max(score, 50 if claim.field("Priority") == "Urgent" else 0)


def _category(claim: ReadClaim) -> str:
    """As the guide for classification says, roughly."""
    if claim.field("Status") in ("Settled", "Declined"):
        return "routine"
    if claim.euros > LARGE:
        return "large_loss"
    if UNFIT.search(claim.text):
        return "doubtful"
    if THIRD.search(claim.text):
        return "recourse"
    if HIDDEN.search(claim.text) and claim.last("Inspection") is None:
        return "inspection"
    return "papers" if _missing(claim).startswith("Still") else "routine"
