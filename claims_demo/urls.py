"""Everything the claims demo serves."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def no_icon(request: HttpRequest) -> HttpResponse:
    """Spares the log a 404 for each page a browser shows."""
    return HttpResponse(status=204)


urlpatterns = [
    path("", include("claims_demo.claims.urls")),
    path("storm/", include("claims_demo.storm.urls")),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("favicon.ico", no_icon),
    path("admin/", admin.site.urls),
    path("", include("budget.urls")),
]

handler400 = "budget.api.errors.bad_request"
handler403 = "budget.api.errors.permission_denied"
handler404 = "budget.api.errors.not_found"
handler500 = "budget.api.errors.server_error"
