"""What the app serves besides the admin; include it at any prefix."""

from django.urls import include, path

from budget.api import (
    admissions,
    callers,
    calls,
    health,
    jobs,
    observations,
    pools,
    schema,
    untagged,
    usage,
)
from budget.metrics.views import metrics

app_name = "budget"

api = [
    path("admissions", admissions.AdmissionsView.as_view(), name="admissions"),
    path("admissions/batch", admissions.BatchView.as_view(), name="batch"),
    path("admissions/<str:admission_id>", calls.AdmissionView.as_view(), name="admission"),
    path("admissions/<str:admission_id>/settle", calls.SettleView.as_view(), name="settle"),
    path("admissions/<str:admission_id>/renew", calls.RenewView.as_view(), name="renew"),
    path("callers", callers.CallersView.as_view(), name="callers"),
    path("jobs", jobs.JobsView.as_view(), name="jobs"),
    path("jobs/<str:job_id>", jobs.JobDetailView.as_view(), name="job"),
    path("jobs/<str:job_id>/cancel", jobs.CancelJobView.as_view(), name="cancel_job"),
    path("observations", observations.ObservationsView.as_view(), name="observations"),
    path("pools/<str:slug>", pools.PoolDetailView.as_view(), name="pool"),
    path("untagged", untagged.UntaggedView.as_view(), name="untagged"),
    path("usage", usage.UsageView.as_view(), name="usage"),
]

urlpatterns = [
    path("api/v1/", include(api)),
    path("api/schema/", schema.SchemaView.as_view(), name="schema"),
    path("api/docs/", schema.DocsView.as_view(), name="docs"),
    path("dashboard/", include("budget.dashboard.urls")),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
