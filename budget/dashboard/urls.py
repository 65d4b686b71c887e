"""Addresses of the dashboard."""

from django.urls import path

from budget.dashboard import overview

urlpatterns = [
    path("", overview.overview, name="dashboard"),
]
