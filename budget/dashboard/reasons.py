"""Why calls were shed, to finish a sentence with."""

BECAUSE = {
    "paused": "the class or the pool was paused",
    "untagged": "they named no class",
    "never_fits": "they could never fit",
    "deadline_unmeetable": "their deadline could not be met",
    "provider_backoff": "the provider asked for a pause",
    "queue_full": "the queue was full",
    "yielding": "the class yields to the interactive floors",
    "ceiling": "the class had reached its ceiling",
    "pool_exhausted": "the pool was exhausted",
    "floor_protected": "floors are protected",
    "headroom": "headroom is kept for stricter classes",
}


def because(reason: str) -> str:
    """`because floors are protected`; a reason nobody knows is named."""
    return f"because {BECAUSE[reason]}" if reason in BECAUSE else f"as {in_words(reason)}"


def in_words(reason: str) -> str:
    """`floor protected`."""
    return reason.replace("_", " ")
