"""Everything the claims demo serves, and the null views."""

from django.urls import path

from bench.null import NullEndpoint, null_view
from claims_demo.urls import urlpatterns as project_urls

urlpatterns = [
    path("null", null_view),
    path("api/v1/null", NullEndpoint.as_view()),
    *project_urls,
]
