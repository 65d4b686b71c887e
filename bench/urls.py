"""Everything the claims demo serves, and the null view."""

from django.urls import path

from bench.null import NullView
from claims_demo.urls import urlpatterns as project_urls

urlpatterns = [path("api/v1/null", NullView.as_view()), *project_urls]
