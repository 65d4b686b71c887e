"""Addresses of the dashboard."""

from django.urls import include, path

from budget.dashboard import live, overview, pool, switches, workload

urlpatterns = [
    path("", overview.overview, name="dashboard"),
    path("<slug:slug>/", pool.pool_page, name="dashboard_pool"),
    path("<slug:slug>/live/", live.live, name="dashboard_live"),
    path("<slug:slug>/classes/<str:name>/", workload.class_page, name="dashboard_class"),
    path("<slug:slug>/switch/<slug:verb>/", switches.switch_pool, name="switch_pool"),
    path("classes/<slug:slug>/switch/<slug:verb>/", switches.switch_class, name="switch_class"),
    path("", include("budget.dashboard.sheds.urls")),
]
