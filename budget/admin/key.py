"""API keys: shown once, bound to classes and pools."""

from copy import copy
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from rest_framework_api_key.admin import APIKeyModelAdmin

from budget.admin.reasoned import ReasonedAdmin
from budget.models import ApiKey
from budget.pages.audit import ReasonForm
from budget.policy.history import Scope, scope_of_key


class ApiKeyForm(forms.ModelForm):
    """A key is good for all classes or for those chosen, never for none."""

    reason = copy(ReasonForm.base_fields["reason"])

    def clean(self) -> dict[str, Any]:
        """Say when the choice and the switch contradict each other."""
        cleaned = super().clean() or self.cleaned_data
        for noun in ("classes", "pools"):
            everything, chosen = cleaned.get(f"all_{noun}"), cleaned.get(noun)
            if everything and chosen:
                self.add_error(noun, f"Switch “all {noun}” off to bind the key to these.")
            if everything is False and not chosen:
                self.add_error(noun, f"Choose at least one, or switch “all {noun}” on.")
        return cleaned


@admin.register(ApiKey)
class ApiKeyAdmin(ReasonedAdmin, APIKeyModelAdmin):
    """Making one shows it in a message, and never again."""

    form = ApiKeyForm
    list_display = ("name", "prefix", "rights", "created", "expiry_date", "revoked")
    list_filter: ClassVar[Any] = ("revoked", "all_classes", "all_pools")
    search_fields = ("name", "prefix")
    formfield_overrides = {models.ManyToManyField: {"widget": forms.CheckboxSelectMultiple}}
    fieldsets = [
        (None, {"fields": ["name", "prefix", "expiry_date", "revoked"]}),
        ("May use", {"fields": ["all_classes", "classes", "all_pools", "pools"]}),
    ]

    def scope(self, pk: str) -> Scope:
        """The key with what it is bound to."""
        return scope_of_key(pk)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """With what the list says about rights."""
        return super().get_queryset(request).prefetch_related("classes", "pools")

    @admin.display(description="may use")
    def rights(self, key: ApiKey) -> str:
        """`rescore, nightly on claims`."""
        classes = "all classes" if key.all_classes else ", ".join(map(str, key.classes.all()))
        pools = "all pools" if key.all_pools else ", ".join(map(str, key.pools.all()))
        return f"{classes} on {pools}"
