"""Looking at the pool outlives the connection it is done by."""

from collections.abc import Iterator

import pytest
from django.db import connection

from budget.models import Pool
from claims_demo import lookout
from claims_demo.lookout import Lookout
from claims_demo.processes import ProcessFailed
from tests.claims_demo.cutting import cut_mine
from tests.claims_demo.world import put_policy_into_force

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def mine() -> Iterator[Lookout]:
    """It has looked once."""
    put_policy_into_force("")
    mine = Lookout("claims")
    assert mine.look() is not None
    yield mine
    connection.close()


def is_paused(mine: Lookout) -> bool:
    view = mine.look()
    assert view is not None
    return bool(view["paused"])


def test_a_cut_connection_is_made_anew(mine: Lookout) -> None:
    Pool.objects.update(paused=True)
    cut_mine()
    assert not is_paused(mine), "as it was last seen"
    assert is_paused(mine)


def test_a_database_that_stays_away_is_said_to_be_away(
    mine: Lookout, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()
    with monkeypatch.context() as meanwhile:
        meanwhile.setitem(connection.settings_dict, "NAME", "nowhere")
        mine.look()
        mine.look()
        meanwhile.setattr(lookout, "AWAY_SECONDS", 0.0)
        with pytest.raises(ProcessFailed, match=r"has been away for 0 seconds.*nowhere"):
            mine.look()


def test_one_that_came_back_may_go_away_again(
    mine: Lookout, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_mine()
    mine.look()
    assert mine.look() is not None
    monkeypatch.setattr(lookout, "AWAY_SECONDS", 0.1)
    with monkeypatch.context() as meanwhile:
        connection.close()
        meanwhile.setitem(connection.settings_dict, "NAME", "nowhere")
        mine.look()


def test_a_pool_that_an_edit_took_is_gone(mine: Lookout) -> None:
    Pool.objects.all().delete()
    assert mine.look() is None
