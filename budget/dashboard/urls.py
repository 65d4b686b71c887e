"""Addresses of the dashboard."""

from django.urls import path

from budget.dashboard import overview, switches

urlpatterns = [
    path("", overview.overview, name="dashboard"),
    path("<slug:slug>/switch/<slug:verb>/", switches.switch_pool, name="switch_pool"),
    path("classes/<slug:slug>/switch/<slug:verb>/", switches.switch_class, name="switch_class"),
]
