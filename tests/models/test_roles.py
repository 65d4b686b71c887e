"""The role of docs/roles.md runs the whole service, and can't touch the history."""

import re
import secrets
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_q.models import OrmQ, Schedule, Task

from budget import services
from budget.ledger.operations import AdmissionRequest
from budget.ledger.writers import stop_writers
from budget.models import Job, JobBatch, Limit, PolicyVersion, Pool
from budget.policy import rows
from budget.policy.groups import EDITORS
from tests.jobs.queueing import enqueue, finish, take_one
from tests.policies import CLAIMS, claims_pool, small_pool

pytestmark = pytest.mark.usefixtures("committed")

PAGE = (Path(__file__).parents[2] / "docs" / "roles.md").read_text()
(GRANTS,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
EVENTS = [kind.events._meta.db_table for kind in rows.ALL]
POLICY = [kind.model._meta.db_table for kind in rows.POLICY]


@pytest.fixture
def service(committed: None) -> Iterator[None]:
    """All connections are the service role's, made by the page's statements."""
    role, password = f"budget_service_{secrets.token_hex(4)}", secrets.token_hex(16)
    owner = {name: connection.settings_dict[name] for name in ("USER", "PASSWORD")}
    run(GRANTS.replace("budget_service", role))
    run(f"ALTER ROLE {role} PASSWORD '{password}'")
    _log_in(USER=role, PASSWORD=password)
    yield
    _log_in(**owner)
    run(f"DROP OWNED BY {role}; DROP ROLE {role}")


def _log_in(**account: str) -> None:
    stop_writers()
    connection.close()
    connection.settings_dict.update(account)


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def refused(sql: str) -> str:
    with pytest.raises(ProgrammingError) as error, transaction.atomic():
        run(sql)
    assert isinstance(error.value.__cause__, psycopg.errors.InsufficientPrivilege)
    return str(error.value)


def count(kind: rows.Kind) -> int:
    return int(kind.events.objects.count())


def test_the_page_speaks_of_every_table() -> None:
    tables: set[Any] = {
        model._meta.db_table
        for app in ("budget", "django_q")
        for model in apps.get_app_config(app).get_models(include_auto_created=True)
    }
    assert tables - set(re.findall(r"\w+", GRANTS)) == set()


def test_the_role_loads_a_policy_and_decides_calls(service: None) -> None:
    call_command("load_policy", str(CLAIMS), stdout=StringIO())
    call_command("create_api_key", "batch", "--pools", "claims", stdout=StringIO())
    call = services.admit(
        AdmissionRequest(pool="claims", workload_class="adjuster", input_tokens=9, output_tokens=9)
    )
    assert call.admitted
    assert services.settle(call.id, "succeeded", 5, 5).charged["total_tokens"] == 10
    assert services.pool_view("claims")["slug"] == "claims"
    call_command("prune_calls", stdout=StringIO())
    assert count(rows.LIMIT) == 3
    assert count(rows.KEY_POOL) == 1


def test_the_role_runs_jobs_and_prunes_them(service: None) -> None:
    claims_pool()
    queued = enqueue()
    assert finish(take_one()).state == "succeeded"
    assert services.job(queued.id)["state"] == "succeeded"
    now = timezone.now()
    JobBatch.objects.create(id=uuid4(), pool_id=1, model="m", created_at=now, next_look_at=now)
    for model in (Job, JobBatch):
        model._default_manager.update(finished_at=now)
        assert model._default_manager.all().delete()[0] == 1
    call_command("prune_calls", stdout=StringIO())


def test_the_role_keeps_the_workers_queue(service: None) -> None:
    now = timezone.now()
    OrmQ.objects.create(key="bulk", payload="", lock=now)
    Schedule.objects.create(func="f", next_run=now)
    Task.objects.create(id="t", name="t", func="f", started=now, stopped=now)
    assert OrmQ.objects.update(lock=now) == 1
    assert Schedule.objects.update(next_run=now) == 1
    assert Task.objects.update(stopped=now) == 1
    for model in (OrmQ, Schedule, Task):
        assert model.objects.all().delete()[0] == 1


def test_the_role_serves_the_admin(service: None) -> None:
    pool = small_pool()
    editor = User.objects.create_user("ada", password="secret", is_staff=True)
    editor.groups.add(Group.objects.get(name=EDITORS))
    client = Client()
    assert client.login(username="ada", password="secret")
    switch = reverse("admin:budget_pool_switch", args=["pause"]) + f"?ids={pool.pk}"
    assert client.post(switch, {"reason": "outage"}).status_code == 302
    history = client.get(reverse("admin:budget_policyhistory_changelist"))
    newest = history.context["told"][0]
    assert newest.change.why == "outage"
    assert client.post(newest.revert_url, {"reason": "over"}).status_code == 302
    assert not Pool.objects.get().paused
    assert client.post(
        reverse("admin:budget_pool_delete", args=[pool.pk]), {"post": "yes", "reason": "gone"}
    )
    assert not Pool.objects.exists()
    assert not PolicyVersion.objects.exists()


@pytest.mark.parametrize("table", EVENTS)
def test_the_role_only_reads_events(service: None, table: str) -> None:
    for sql in (
        f"UPDATE {table} SET pgh_label = 'x'",
        f"DELETE FROM {table}",
        f"TRUNCATE {table}",
        f"INSERT INTO {table} DEFAULT VALUES",
    ):
        assert table in refused(sql)


@pytest.mark.parametrize("table", [*POLICY, *EVENTS])
def test_the_role_switches_no_trigger_off(service: None, table: str) -> None:
    assert "must be owner" in refused(f"ALTER TABLE {table} DISABLE TRIGGER USER")


def test_the_role_is_bound_by_triggers_and_versions(service: None) -> None:
    for sql in (
        "SET session_replication_role = replica",
        "UPDATE budget_policyversion SET version = 1",
        "DELETE FROM budget_policyversion",
        "TRUNCATE budget_limit",
    ):
        assert "permission denied" in refused(sql)


def test_a_table_of_its_own_does_not_stand_in_for_the_history(service: None) -> None:
    small_pool()
    run("CREATE TEMPORARY TABLE budget_limitevent AS SELECT * FROM budget_limitevent")
    run("UPDATE budget_limit SET amount = 700")
    run("DROP TABLE pg_temp.budget_limitevent")
    assert rows.LIMIT.events.objects.latest("pgh_id").amount == 700


def test_a_table_of_its_own_writes_no_history(service: None) -> None:
    small_pool()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgfoid::regproc::text FROM pg_trigger "
            "WHERE tgrelid = 'budget_limit'::regclass AND tgname LIKE 'pgtrigger_insert%'"
        )
        function = cursor.fetchone()[0]
    run("CREATE TEMPORARY TABLE forged (LIKE budget_limit)")
    forge = "CREATE TRIGGER forge AFTER INSERT ON forged FOR EACH ROW"
    assert "permission denied for function" in refused(f"{forge} EXECUTE FUNCTION {function}()")


def test_the_database_says_who_whatever_the_context(service: None) -> None:
    small_pool()
    with transaction.atomic():
        run("SELECT set_config('pghistory.context_metadata', '{\"username\": \"ada\"}', true)")
        Limit.objects.update(amount=700)
    event = rows.LIMIT.events.objects.latest("pgh_id")
    assert event.pgh_context == {"username": "ada"}
    assert event.db_role == connection.settings_dict["USER"]
