"""Policy forms: checked as a whole, never over somebody else's edit, never without a reason."""

from collections.abc import Iterator
from copy import copy
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.forms.models import BaseInlineFormSet, construct_instance
from django.utils.html import format_html

from budget.admin.audit import ReasonForm
from budget.models import Pool, WorkloadClass
from budget.models.terms import pool_terms
from budget.policy.history import (
    Scope,
    change_keys,
    changes,
    fingerprint,
    scope_of_class,
    scope_of_pool,
)
from budget.policy.stored import causes, hold_policy, new_problems, stored_problems
from budget.policy.words import RESERVATION

BLAME = {"share_percent": "max_call_tokens", "headroom_percent": "tier"}
"""Which field of a class is at fault when a pool's reservation is no longer sound."""


class PolicyForm(forms.ModelForm):
    """A form over a policy row that asks why and notices what happened since it was opened."""

    reason = copy(ReasonForm.base_fields["reason"])
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    """What the history ended with when the form was made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.fields["seen"].initial = fingerprint(self.scope())

    def scope(self) -> Scope:
        """The part of the history that concerns what this form shows."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        """Hold off other edits until this one is saved, and refuse to overwrite one."""
        cleaned = super().clean() or self.cleaned_data
        hold_policy()
        if self.instance.pk and cleaned.get("seen") != fingerprint(self.scope()):
            raise ValidationError(self._overtaken())
        return cleaned

    def _overtaken(self) -> str:
        latest = changes(change_keys(self.scope())[:1], self.scope())
        about = latest[0] if latest else None
        return format_html(
            "{} was changed after you opened it{}. Nothing was saved. "
            '<a href="">Reload the page</a> to see it, and enter your change again.',
            self.instance,
            f", by {about.who} at {about.at:%H:%M:%S} UTC" if about else "",
        )


class PoolForm(PolicyForm):
    """A pool; its limits and reservations are checked by their formset."""

    class Meta:
        model = Pool
        exclude: ClassVar[list[str]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "untagged_class" in self.fields:
            field: Any = self.fields["untagged_class"]
            field.empty_label = "none: shed them"

    def scope(self) -> Scope:
        """The pool with all that belongs to it."""
        return scope_of_pool(self.instance.pk)


class WorkloadClassForm(PolicyForm):
    """A class, checked against every pool it may call."""

    class Meta:
        model = WorkloadClass
        exclude: ClassVar[list[str]] = []

    def scope(self) -> Scope:
        """The class alone: its reservations are edited with their pool."""
        kind, condition = next(iter(scope_of_class(self.instance.pk).items()))
        return {kind: condition}

    def clean(self) -> dict[str, Any]:
        """Refuse what would break a pool that was sound."""
        cleaned = super().clean()
        if not self.errors:
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

    others: ClassVar[list[BaseInlineFormSet]] = []
    """The page's other formsets, if this is the last one."""

    def clean(self) -> None:
        """Show each fault at the field where it is best mended."""
        super().clean()
        if not self.others or any(form.errors for form in self._all_forms()):
            return
        self._check_policy()

    def _check_policy(self) -> None:
        faults = causes(
            pool_terms(
                self.instance,
                self._rows("limits"),
                self._rows("reservations"),
                WorkloadClass.objects.all(),
                version=0,
            )
        )
        by_owner = {row.instance.workload_class.slug: row for row in _kept(self)}
        elsewhere = []
        for fault in faults:
            form = by_owner.get(fault.owner)
            if form is not None and fault.field in form.fields:
                form.add_error(fault.field, fault.message)
            else:
                elsewhere.append(fault.message)
        if elsewhere:
            raise ValidationError(elsewhere)

    def _all_forms(self) -> Iterator[forms.ModelForm]:
        for formset in (*self.others, self):
            yield from (form for form in formset.forms if not _deleted(form))

    def _rows(self, prefix: str) -> list[Any]:
        for formset in (*self.others, self):
            if formset.prefix == prefix:
                return [form.instance for form in _kept(formset)]
        return list(getattr(self.instance, prefix).all())


def _kept(formset: BaseInlineFormSet) -> list[forms.ModelForm]:
    """The forms that will be rows after saving."""
    return [
        form
        for form in formset.forms
        if not _deleted(form) and (form.instance.pk or form.has_changed())
    ]


def _deleted(form: forms.ModelForm) -> bool:
    return bool(getattr(form, "cleaned_data", {}).get("DELETE"))
