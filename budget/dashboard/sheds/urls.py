"""Addresses of sheds."""

from django.urls import path

from budget.dashboard.calls import call_page
from budget.dashboard.sheds import views

urlpatterns = [
    path("<slug:slug>/sheds/", views.sheds, name="sheds"),
    path("<slug:slug>/sheds.csv", views.sheds_csv, name="sheds_csv"),
    path("calls/<uuid:call_id>/", call_page, name="dashboard_call"),
]
