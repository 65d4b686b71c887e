"""create_api_key."""

import pytest
from django.core.management import CommandError

from budget.models import ApiKey
from tests.commands.conftest import Run
from tests.policies import claims_pool

pytestmark = pytest.mark.django_db


def test_the_key_stands_alone_on_the_last_line(run: Run) -> None:
    key = run("create_api_key", "rescorer")[-1]
    record = ApiKey.objects.get_from_key(key)
    assert record.name == "rescorer"
    assert (record.all_classes, record.all_pools) == (True, True)


def test_a_key_can_be_bound(run: Run) -> None:
    claims_pool()
    key = run("create_api_key", "batch", "--classes", "rescore, nightly", "--pools=claims")[-1]
    record = ApiKey.objects.get_from_key(key)
    assert (record.all_classes, record.all_pools) == (False, False)
    assert [str(row) for row in record.classes.all()] == ["rescore", "nightly"]
    assert [str(row) for row in record.pools.all()] == ["claims"]


@pytest.mark.parametrize(
    "options",
    [
        ["--classes", "rescore,nightly"],
        ["--classes", "rescore", "nightly"],
        ["--classes", "rescore,", "nightly"],
        ["--classes", "rescore", "--classes=nightly"],
    ],
)
def test_several_classes_are_named_as_comes_to_hand(run: Run, options: list[str]) -> None:
    claims_pool()
    record = ApiKey.objects.get_from_key(run("create_api_key", "batch", *options)[-1])
    assert [str(row) for row in record.classes.all()] == ["rescore", "nightly"]
    assert (record.all_classes, record.all_pools) == (False, True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--classes", "rescore,nobody"], "There is no workload class nobody. There are: adjuster"),
        (["--pools", "nowhere"], "There is no pool nowhere. There are: claims"),
        (["--classes", ","], "Name at least one workload class"),
    ],
)
def test_an_unknown_name_makes_no_key(run: Run, options: list[str], says: str) -> None:
    claims_pool()
    with pytest.raises(CommandError, match=says):
        run("create_api_key", "batch", *options)
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("name", ["", "x" * 51])
def test_a_name_has_1_to_50_characters(run: Run, name: str) -> None:
    with pytest.raises(CommandError, match="1 to 50"):
        run("create_api_key", name)
