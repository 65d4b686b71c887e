"""Addresses of the storm page, below `/storm/`."""

from django.urls import path

from claims_demo.storm import views

urlpatterns = [
    path("", views.storm, name="storm"),
    path("live", views.storm_live, name="storm_live"),
    path("strength", views.storm_strength, name="storm_strength"),
]
