"""Batches of jobs that went to a provider's batch endpoint."""

from django.contrib import admin
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.html import format_html

from budget.admin.lists import PoolFilter, ReadOnlyAdmin
from budget.models import Job, JobBatch


@admin.register(JobBatch)
class JobBatchAdmin(ReadOnlyAdmin):
    """Newest first; the id is made of the time, so its index serves the order."""

    ordering = ["-id"]
    sortable_by = ()
    list_display = [
        "created",
        "state_badge",
        "pool",
        "model",
        "requests_in_words",
        "done",
        "provider_id",
    ]
    fields = (
        "id",
        "state_badge",
        "pool",
        "model",
        "requests_in_words",
        "done",
        "jobs",
        "provider_id",
        "input_file",
        "created",
        "submitted",
        "finished",
        "error",
    )
    list_filter = [PoolFilter, "state"]
    search_fields = ["provider_id", "model"]
    search_help_text = "Part of the provider's id or the model, or a whole batch id."

    @admin.display(description="created (UTC)")
    def created(self, batch: JobBatch) -> str:
        """To the second."""
        return f"{batch.created_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="submitted (UTC)")
    def submitted(self, batch: JobBatch) -> str:
        """When it was first about to be sent."""
        return f"{batch.submitted_at:%Y-%m-%d %H:%M:%S}" if batch.submitted_at else "–"

    @admin.display(description="finished (UTC)")
    def finished(self, batch: JobBatch) -> str:
        """To the second."""
        return f"{batch.finished_at:%Y-%m-%d %H:%M:%S}" if batch.finished_at else "–"

    @admin.display(description="state")
    def state_badge(self, batch: JobBatch) -> str:
        """In words."""
        return format_html(
            '<span class="budget-badge budget-{}">{}</span>',
            batch.state,
            batch.get_state_display(),
        )

    @admin.display(description="requests")
    def requests_in_words(self, batch: JobBatch) -> str:
        """`1,204 (2.3 MB)`."""
        return f"{batch.requests:,} ({_size(batch.size)})"

    @admin.display(description="done")
    def done(self, batch: JobBatch) -> str:
        """`1,200 succeeded, 4 failed`."""
        return f"{batch.succeeded:,} succeeded, {batch.failed:,} failed"

    @admin.display(description="jobs")
    def jobs(self, batch: JobBatch) -> str:
        """Where they are listed."""
        address = reverse("admin:budget_job_changelist")
        count = Job.objects.filter(batch_id=batch.pk).count()
        words = f"its {count:,} job{pluralize(count)}"
        return format_html('<a href="{}?batch_id__exact={}">{}</a>', address, batch.pk, words)


def _size(size: int) -> str:
    """`2.3 MB`, `14.2 KB` or `640 bytes`."""
    for unit, name in ((1_000_000, "MB"), (1000, "KB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} bytes"
