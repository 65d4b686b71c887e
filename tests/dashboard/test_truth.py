"""Pages say of calls what the table of calls says of them, after any traffic."""

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from django.test import Client

from budget.models import Call, Pool
from tests.dashboard.addresses import class_page, pool_page
from tests.dashboard.shedding import offer
from tests.dashboard.test_pool import opened, texts_of
from tests.policies import claims_pool

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.django_db(transaction=True)]

CLASSES = ("adjuster", "rescore", "nightly", None)
WITHOUT = "untagged calls"


def traffic(seed: int, calls: int = 150) -> None:
    """Offers calls of random size and class, more than fit, some of which never could."""
    dice = random.Random(seed)
    for _ in range(calls):
        tokens = dice.choice([900, 4000, 16_000, 30_000])
        offer(dice.choice(CLASSES), dice.choice([tokens, tokens, 9_000_000]))


def calls_of(workload_class: str) -> list[Call]:
    return list(Call.objects.filter(workload_class=workload_class))


def refused(calls: Iterable[Call], decision: str) -> Counter[str]:
    """By reason, what was shed, or what would have been."""
    shed = [call for call in calls if (call.state == Call.State.SHED) is (decision == "shed")]
    return Counter(call.reason for call in shed if call.reason)


def drawn(page: Any, figure: str) -> dict[str, int]:
    """The sum of each line of a figure."""
    (found,) = [told.figure for told in page["figures"] if told.figure.name == figure]
    return {line.name: sum(n or 0 for n in line.values) for line in found.series}


def told(page: Any, name: str, decision: str) -> dict[str, int]:
    row = next(linked.row for linked in page["rows"] if linked.row.member.name == name)
    return {reason.reason: reason.calls for reason in row.reasons if reason.decision == decision}


@pytest.mark.parametrize("mode", ["enforce", "observe"])
@pytest.mark.parametrize("seed", [1, 2])
def test_pages_and_calls_agree(viewer: Client, seed: int, mode: str) -> None:
    claims_pool()
    Pool.objects.update(mode=mode)
    traffic(seed)
    page = opened(viewer, pool_page())
    shed = drawn(page, "shed")
    for slug in ("adjuster", "rescore", "nightly", ""):
        calls, name = calls_of(slug), slug or WITHOUT
        spared, lost = refused(calls, "would_be"), refused(calls, "shed")
        texts = texts_of(page, name)
        assert texts["Offered"] == f"{len(calls):,}"
        assert texts["Admitted"] == f"{len(calls) - lost.total():,}"
        assert texts["Shed"] == f"{lost.total():,}"
        assert (told(page, name, "shed"), told(page, name, "would_be")) == (lost, spared)
        assert shed[name] == lost.total()
        assert shed.get(f"{name}, would be shed", 0) == spared.total()
        own = drawn(opened(viewer, class_page(slug or "~untagged")), "calls")
        assert sum(own.values()) == len(calls)
        for reason, count in (lost + spared).items():
            words = reason.replace("_", " ")
            assert own.get(words, 0) + own.get(f"{words}, would be shed", 0) == count
    assert sum(shed.values()) > 0


@pytest.mark.parametrize("mode", ["enforce", "observe"])
def test_a_link_leads_to_as_many_calls_as_it_says(viewer: Client, mode: str) -> None:
    claims_pool()
    Pool.objects.update(mode=mode)
    traffic(3)
    page = opened(viewer, pool_page())
    links = [link for linked in page["rows"] for link in linked.reasons]
    assert links
    for reason, address in links:
        assert opened(viewer, address)["timeline"].found == reason.calls, address
