"""Policy forms: checked as a whole, never over somebody else's edit, never without a reason."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.forms.models import BaseInlineFormSet, construct_instance
from django.utils.html import format_html

from budget.models import Pool, Reservation, WorkloadClass
from budget.models.terms import pool_terms
from budget.pages.audit import ReasonForm
from budget.policy.endpoint import endpoint_problems
from budget.policy.history import (
    Scope,
    change_keys,
    changes,
    fingerprint,
    scope_of_class,
    scope_of_pool,
)
from budget.policy.rows import WORKLOAD_CLASS
from budget.policy.stored import causes, hold_policy, new_problems, stored_problems
from budget.policy.words import RESERVATION
from budget.rule.terms import PoolTerms

BLAME = {"share_percent": "max_call_tokens", "headroom_percent": "tier", "batch": "max_call_tokens"}
"""Which field of a class is at fault when a pool's reservation is no longer sound."""


class PolicyForm(forms.ModelForm):
    """A form over a policy row that asks why and notices what happened since it was opened."""

    reason = copy(ReasonForm.base_fields["reason"])
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    """What the history ended with before the row was read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.fields["seen"].initial = self.instance.seen

    @staticmethod
    def scope(pk: int) -> Scope:
        """The part of the history that concerns what this form shows."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        """Hold off other edits until this one is saved, and refuse to overwrite one."""
        cleaned = super().clean() or self.cleaned_data
        hold_policy()
        if self.instance.pk:
            scope = self.scope(self.instance.pk)
            if cleaned.get("seen") != fingerprint(scope):
                raise ValidationError(self._overtaken(scope))
        return cleaned

    def _overtaken(self, scope: Scope) -> str:
        latest = changes(change_keys(scope)[:1], scope)
        about = latest[0] if latest else None
        return format_html(
            "{} was changed after you opened it{}. Nothing was saved. "
            '<a href="">Reload the page</a> to see it, and enter your change again.',
            self.instance,
            f", by {about.who} at {about.at:%H:%M:%S} UTC" if about else "",
        )


class PoolForm(PolicyForm):
    """A pool; its policy as a whole is checked by the last of the page's formsets."""

    alone: ClassVar[bool] = False
    """Whether the page has no formset, because its reader may not see limits and reservations."""

    class Meta:
        model = Pool
        exclude: ClassVar[list[str]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "untagged_class" in self.fields:
            field: Any = self.fields["untagged_class"]
            field.empty_label = "none: shed them"

    @staticmethod
    def scope(pk: int) -> Scope:
        """The pool with all that belongs to it."""
        return scope_of_pool(pk)

    def clean(self) -> dict[str, Any]:
        """Check the pool itself, and the policy as a whole if no formset does."""
        cleaned = super().clean()
        if not self.errors:
            pool = construct_instance(self, copy(self.instance))
            limits, reservations = _stored(pool, "limits"), _stored(pool, "reservations")
            terms = _terms(pool, limits.values(), reservations.values())
            for fault in causes(terms) if self.alone else endpoint_problems(terms):
                self.add_error(fault.field if fault.field in self.fields else None, fault.message)
        return cleaned


class WorkloadClassForm(PolicyForm):
    """A class, checked against every pool it may call."""

    class Meta:
        model = WorkloadClass
        exclude: ClassVar[list[str]] = []

    @staticmethod
    def scope(pk: int) -> Scope:
        """The class alone: its reservations are edited with their pool."""
        return {WORKLOAD_CLASS: scope_of_class(pk)[WORKLOAD_CLASS]}

    def clean(self) -> dict[str, Any]:
        """Refuse what would break a pool that was sound; a taken slug is refused anyway."""
        cleaned = super().clean()
        same = WorkloadClass.objects.filter(slug=cleaned.get("slug", self.instance.slug))
        if not self.errors and not same.exclude(pk=self.instance.pk).exists():
            edited = construct_instance(self, copy(self.instance))
            found = new_problems(stored_problems(), stored_problems(edited))
            for pool, faults in found.items():
                for fault in faults:
                    field = BLAME.get(fault.field) if fault.owner == edited.slug else None
                    self.add_error(field, f"Pool {pool}: {fault.message}")
        return cleaned


class RowForm(forms.ModelForm):
    """A row of a pool; numbers are shown as their author would write them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, value in self.initial.items():
            if isinstance(value, Decimal):
                self.initial[name] = format(value.normalize(), "f")
        for name, field in self.fields.items():
            if not field.required and name in RESERVATION:
                field.widget.attrs["placeholder"] = RESERVATION[name].empty


class PolicyFormSet(BaseInlineFormSet):
    """Rows of one pool. The last formset of the page checks the policy as a whole."""

    page: Sequence["PolicyFormSet"] = ()
    """All formsets of the page, this one too, if this is the last one."""
    editable = True
    """Whether the user may change the rows, so that a fault at one can be mended there."""

    def clean(self) -> None:
        """Show each fault at the field where it is best mended."""
        super().clean()
        if not self.page or any(form.errors for form in self._all_forms()):
            return
        self._check_policy()

    def get_unique_error_message(self, unique_check: Sequence[str]) -> str:
        """Name the fields as the page does."""
        model: Any = self.model
        labels = [str(model._meta.get_field(name).verbose_name) for name in unique_check]
        return super().get_unique_error_message(labels)

    def _check_policy(self) -> None:
        reservations = self._rows("reservations")
        owners = {}
        if self.editable and self.model is Reservation:
            owners = {form.instance.workload_class.slug: form for form in _kept(self)}
        elsewhere = []
        terms = _terms(self.instance, self._rows("limits"), reservations)
        at_pool = endpoint_problems(terms)
        for fault in (fault for fault in causes(terms) if fault not in at_pool):
            form = owners.get(fault.owner)
            if form is not None and fault.field in form.fields:
                form.add_error(fault.field, fault.message)
            else:
                elsewhere.append(fault.message)
        if elsewhere:
            raise ValidationError(elsewhere)

    def _all_forms(self) -> Iterator[forms.ModelForm]:
        for formset in self.page:
            yield from (form for form in formset.forms if not _deleted(form))

    def _rows(self, name: str) -> list[Any]:
        """The pool's rows as they will be: those of the page over the stored ones."""
        rows = _stored(self.instance, name)
        added = []
        for form in (form for each in self.page if each.prefix == name for form in each.forms):
            rows.pop(form.instance.pk, None)
            if _is_kept(form):
                added.append(form.instance)
        return [*rows.values(), *added]


def _terms(pool: Pool, limits: Iterable[Any], reservations: Iterable[Any]) -> PoolTerms:
    return pool_terms(pool, limits, reservations, WorkloadClass.objects.all(), version=0)


def _stored(pool: Pool, name: str) -> dict[Any, Any]:
    """A pool's limits or reservations by primary key; a new pool has none."""
    return {row.pk: row for row in getattr(pool, name).all()} if pool.pk else {}


def _kept(formset: BaseInlineFormSet) -> list[forms.ModelForm]:
    """The forms that will be rows after saving."""
    return [form for form in formset.forms if _is_kept(form)]


def _is_kept(form: forms.ModelForm) -> bool:
    return not _deleted(form) and bool(form.instance.pk or form.has_changed())


def _deleted(form: forms.ModelForm) -> bool:
    return bool(getattr(form, "cleaned_data", {}).get("DELETE"))
