"""The way in: all pools at a glance."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from budget import services
from budget.models import Pool, WorkloadClass
from tests.admin.conftest import client_with
from tests.dashboard.addresses import pool_page
from tests.dashboard.test_pool import opened
from tests.dashboard.usage import MINUTE, record
from tests.policies import small_pool

pytestmark = pytest.mark.django_db

OVERVIEW = "/dashboard/"


def pools_of(client: Client) -> dict[str, Any]:
    return {now.pool.slug: now for now in opened(client, OVERVIEW)["pools"]}


def test_each_pool_tells_what_came_of_its_last_hour(viewer: Client, history: datetime) -> None:
    small_pool()
    pools = pools_of(viewer)
    (told,) = pools["claims"].told
    assert told.text.startswith("462 of ")
    assert told.text.endswith(", 324 of nightly because floors are protected.")
    assert [told.text for told in pools["small"].told] == ["Nobody called in the last hour."]


def test_what_would_be_shed_is_told_and_linked(viewer: Client, claims: Pool) -> None:
    minute = datetime.now(UTC).replace(second=0, microsecond=0) - 5 * MINUTE
    record(claims, minute, "nightly", offered=9, admitted=9, would_shed={"headroom": 4})
    none, would = pools_of(viewer)["claims"].told
    assert none.text == "None of 9 jobs was shed in the last hour."
    assert would.text == (
        "4 of 9 jobs would have been (44 %), all of nightly because headroom is kept for "
        "stricter classes, had the pool enforced."
    )
    assert would.address.endswith("?range=1h&decision=would_be")
    assert viewer.get(would.address).status_code == 200


def test_one_pool_is_a_list_too(viewer: Client, claims: Pool) -> None:
    html = opened(viewer, OVERVIEW).html
    assert pool_page(query="").rstrip("?") in html
    assert "<h1>Pools</h1>" in html


def test_states_and_queues_are_shown(viewer: Client, claims: Pool) -> None:
    Pool.objects.update(paused=True)
    WorkloadClass.objects.filter(slug="rescore").update(draining=True)
    now = pools_of(viewer)["claims"]
    assert now.states == ["paused", "enforce"]
    assert [(queue.slug, queue.states) for queue in now.queues] == [
        ("adjuster", ["no queue"]),
        ("rescore", ["draining", "red"]),
        ("nightly", ["red"]),
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("committed")
def test_the_limit_of_which_least_is_left_is_shown(viewer: Client) -> None:
    small_pool()
    for _ in range(30):
        services.admit(
            services.AdmissionRequest(
                pool="small", workload_class="chat", input_tokens=1, output_tokens=1
            ),
            services.IN_PROCESS,
        )
    level = pools_of(viewer)["small"].level
    assert level.name == "requests per minute"
    assert 0 < level.used_percent <= 20, "less with every moment"


def test_it_leads_to_the_sheds_of_those_who_may_see_them(viewer: Client, history: datetime) -> None:
    sheds = f"{reverse('budget:sheds', args=['claims'])}?range=1h&amp;decision=shed"
    assert f'href="{sheds}"' in opened(viewer, OVERVIEW).html
    assert "sheds/" not in opened(client_with("una", "view_usageminute"), OVERVIEW).html


def test_without_a_pool_it_says_how_to_get_one(viewer: Client, editor: Client) -> None:
    assert "Whoever edits the policy adds them" in opened(viewer, OVERVIEW).html
    assert reverse("admin:budget_pool_add") in opened(editor, OVERVIEW).html
