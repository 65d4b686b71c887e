"""Requests carry the workload of whoever made them, through Django's own handlers."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View

from budget.client.carried import current
from budget.client.headers import outgoing
from budget.client.workload import workload

HOST = "http://127.0.0.1"
left_open: list[Iterator[None]] = []


def seen(*_: Any) -> HttpResponse:
    """The workload that a view's calls would belong to."""
    work = current()
    if work is None:
        return JsonResponse({"class": None})
    left = work.remaining_seconds
    tags, source = dict(work.tags), work.source
    return JsonResponse(
        {"class": work.workload_class, "left": left, "tags": tags, "source": source}
    )


async def seen_async(request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return seen()


@workload("adjuster", deadline=2.0)
def tagged(request: HttpRequest) -> HttpResponse:
    return seen()


@workload("adjuster", deadline=2.0)
async def tagged_async(request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return seen()


class ByMethod(View):
    @workload("adjuster", deadline=2.0)
    def get(self, request: HttpRequest) -> HttpResponse:
        return seen()


class ByAsyncMethod(View):
    @workload("adjuster", deadline=2.0)
    async def get(self, request: HttpRequest) -> HttpResponse:
        return await seen_async(request)


@method_decorator(workload("adjuster", deadline=2.0), name="dispatch")
class ByDispatch(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return seen()


@method_decorator(workload("adjuster", deadline=2.0), name="dispatch")
class ByAsyncDispatch(View):
    async def get(self, request: HttpRequest) -> HttpResponse:
        return await seen_async(request)


def leaving_open(request: HttpRequest) -> HttpResponse:
    def words() -> Iterator[None]:
        with workload("leaked"):
            yield
            yield

    left_open.append(words())
    next(left_open[-1])
    return seen()


def failing(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError


urlpatterns = [
    path("sync", seen),
    path("async", seen_async),
    path("tagged", tagged),
    path("tagged-async", tagged_async),
    path("method", ByMethod.as_view()),
    path("async-method", ByAsyncMethod.as_view()),
    path("dispatch", ByDispatch.as_view()),
    path("async-dispatch", ByAsyncDispatch.as_view()),
    path("as-view", workload("adjuster", deadline=2.0)(ByAsyncMethod.as_view())),
    path("leaving-open", leaving_open),
    path("failing", failing),
]
TAGGED = [str(route.pattern) for route in urlpatterns[2:9]]
PLAIN = ["sync", "async"]


@pytest.fixture(params=["WSGI", "ASGI"])
def get(request: pytest.FixtureRequest, settings: Any) -> Any:
    """Gets a page as a server of that kind does."""
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = ["budget.middleware.carried_workload"]
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    settings.DEBUG_PROPAGATE_EXCEPTIONS = False

    def by_wsgi(page: str, **headers: str) -> httpx2.Response:
        transport = httpx2.WSGITransport(WSGIHandler(), raise_app_exceptions=False)
        with httpx2.Client(transport=transport) as client:
            return client.get(f"{HOST}/{page}", headers=headers)

    async def ask(page: str, headers: dict[str, str]) -> httpx2.Response:
        transport = httpx2.ASGITransport(ASGIHandler(), raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport) as client:
            return await client.get(f"{HOST}/{page}", headers=headers)

    def by_asgi(page: str, **headers: str) -> httpx2.Response:
        return asyncio.run(ask(page, headers))

    return by_wsgi if request.param == "WSGI" else by_asgi


@pytest.mark.parametrize("page", PLAIN)
def test_a_request_goes_on_with_the_workload_of_whoever_made_it(get: Any, page: str) -> None:
    with workload("adjuster", deadline=2.0, source="claims/ask.py:5 ask", tenant="north"):
        headers = outgoing()
    found = get(page, **headers).json()
    assert 1.5 < found.pop("left") <= 2.0
    assert found == {
        "class": "adjuster",
        "tags": {"tenant": "north"},
        "source": "claims/ask.py:5 ask",
    }
    assert current() is None


@pytest.mark.parametrize("page", PLAIN)
def test_without_headers_nothing_is_tagged(get: Any, page: str) -> None:
    assert get(page, **{"Budget-Remaining-Ms": "5"}).json() == {"class": None}


@pytest.mark.parametrize("page", TAGGED)
def test_a_decorated_view_is_tagged_while_it_runs(get: Any, page: str) -> None:
    found = get(page).json()
    assert found["class"] == "adjuster"
    assert 1.5 < found["left"] <= 2.0
    assert get("sync").json() == {"class": None}


@pytest.mark.parametrize("page", TAGGED)
@pytest.mark.parametrize(("sent", "most"), [("500", 0.5), ("9000", 2.0)])
def test_a_view_only_tightens_the_time_that_came_along(
    get: Any, page: str, sent: str, most: float
) -> None:
    headers = {"Budget-Workload-Class": "rescore", "Budget-Remaining-Ms": sent}
    found = get(page, **headers).json()
    assert found["class"] == "adjuster"
    assert most / 2 < found["left"] <= most


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Budget-Workload-Class", "no slug"),
        ("Budget-Workload-Class", "x" * 8001),
        ("Budget-Remaining-Ms", "soon"),
        ("Budget-Remaining-Ms", "-1"),
        ("Budget-Remaining-Ms", "1.5"),
        ("Budget-Source", "x" * 201),
        ("Budget-Tags", "a=" + "b" * 201),
        ("Budget-Tags", "&".join(f"tag{n}=1" for n in range(21))),
        ("Budget-Tags", "a=%00"),
    ],
)
def test_a_malformed_header_is_answered_with_its_name(get: Any, header: str, value: str) -> None:
    answer = get("sync", **{"Budget-Workload-Class": "adjuster", header: value})
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith(f"{header}: ")


@pytest.mark.parametrize("page", ["leaving-open", "failing"])
def test_a_requests_workload_ends_with_it_whatever_the_view_does(get: Any, page: str) -> None:
    get(page, **{"Budget-Workload-Class": "adjuster"})
    get(page)
    assert get("sync").json() == {"class": None}
    assert current() is None
    left_open.clear()


def test_a_generator_cant_be_decorated() -> None:
    with pytest.raises(TypeError, match="words is a generator"):

        @workload("adjuster")
        def words() -> Iterator[str]:
            yield "word"
