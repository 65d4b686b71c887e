"""What classes did lately, beside what can be edited."""

from typing import Any

import pytest
from django.test import Client

from budget.models import Pool, Reservation
from tests.admin.conftest import class_url, field_of, opened, pool_url
from tests.ledger.disturbances import bystander


@pytest.mark.usefixtures("committed")
def test_a_pool_is_edited_also_while_somebody_holds_the_tables_of_usage(
    editor: Client, claims: Pool, settings: Any
) -> None:
    settings.BUDGET_DASHBOARD_QUERY_SECONDS = 0.2
    with bystander() as other, other.transaction():
        other.execute("LOCK TABLE budget_usageminute, budget_usagehour IN ACCESS EXCLUSIVE MODE")
        fields = opened(editor, pool_url(claims))
        assert "This can't be read right now" in editor.get(pool_url(claims)).content.decode()
        assert "This can't be read right now" in editor.get(class_url("nightly")).content.decode()
        fields[field_of(fields, "adjuster", "share_percent")] = "45"
        answer = editor.post(pool_url(claims), fields | {"reason": "quiet season"})
        assert answer.status_code == 302
    assert Reservation.objects.get(workload_class__slug="adjuster").share_percent == 45
