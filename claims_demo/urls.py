"""Everything the claims demo serves."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("budget.urls")),
]

handler400 = "budget.api.errors.bad_request"
handler403 = "budget.api.errors.permission_denied"
handler404 = "budget.api.errors.not_found"
handler500 = "budget.api.errors.server_error"
