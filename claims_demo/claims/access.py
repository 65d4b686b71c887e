"""Who may enter, and in which form they are answered."""

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

View = Callable[..., HttpResponseBase]
JSON, HTML = "application/json", "text/html"


def wants_json(request: HttpRequest) -> bool:
    """Whether whoever asks is a program rather than a person's browser."""
    return request.get_preferred_type([JSON, HTML]) != HTML


def members_only(view: View) -> View:
    """Decorator: whoever isn't logged in is led there; a program is told so, with 403."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if wants_json(request):
            return JsonResponse({"detail": "You are not logged in any more."}, status=403)
        return _login(request)

    return guarded


def _login(request: HttpRequest) -> HttpResponse:
    return redirect_to_login(request.get_full_path())
