"""API keys: shown once, bound to classes and pools."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import models
from django.http import HttpRequest, HttpResponse
from rest_framework_api_key.admin import APIKeyModelAdmin

from budget.admin.audit import audit
from budget.models import ApiKey


class ApiKeyForm(forms.ModelForm):
    """A key is good for all classes or for those chosen, never for none."""

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
class ApiKeyAdmin(APIKeyModelAdmin):
    """Making one shows it in a message, and never again."""

    form = ApiKeyForm
    list_display = ("name", "prefix", "scope", "created", "expiry_date", "revoked")
    list_filter: ClassVar[Any] = ("revoked", "all_classes", "all_pools")
    search_fields = ("name", "prefix")
    formfield_overrides = {models.ManyToManyField: {"widget": forms.CheckboxSelectMultiple}}
    fieldsets = [
        (None, {"fields": ["name", "prefix", "expiry_date", "revoked"]}),
        ("May use", {"fields": ["all_classes", "classes", "all_pools", "pools"]}),
    ]

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Edit under the author's name."""
        with audit(request):
            return super().changeform_view(request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Delete under the author's name."""
        with audit(request):
            return super().delete_view(request, *args, **kwargs)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Keys are revoked or deleted one by one."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    @admin.display(description="may use")
    def scope(self, key: ApiKey) -> str:
        """`rescore, nightly on claims`."""
        classes = "all classes" if key.all_classes else ", ".join(map(str, key.classes.all()))
        pools = "all pools" if key.all_pools else ", ".join(map(str, key.pools.all()))
        return f"{classes} on {pools}"
