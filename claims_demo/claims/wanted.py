"""Which claims a list is to show."""

from django import forms
from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet

from claims_demo.models import Claim
from claims_demo.models.claim import CLOSED

PAGE_SIZE = 25
EVERY = "all"


class Wanted(forms.Form):
    """The filters above the list; what can't be read filters nothing, and says so."""

    text = forms.CharField(label="Number or claimant", max_length=100, required=False, strip=True)
    status = forms.ChoiceField(
        choices=[("", "All open"), *Claim.Status.choices, (EVERY, "All")], required=False
    )
    priority = forms.ChoiceField(choices=[("", "Any"), *Claim.Priority.choices], required=False)
    category = forms.ChoiceField(choices=[("", "Any"), *Claim.Category.choices], required=False)

    def page(self, number: str | None) -> "Page[Claim]":
        """One page of the claims; the nearest there is to that number."""
        return Paginator(self.claims(), PAGE_SIZE).get_page(number)

    def claims(self) -> "QuerySet[Claim]":
        """The claims that are wanted."""
        self.is_valid()
        wanted = self.cleaned_data
        found = Claim.objects.all()
        if text := wanted.get("text"):
            found = found.filter(Q(number__icontains=text) | Q(claimant__icontains=text))
        if priority := wanted.get("priority"):
            found = found.filter(priority=priority)
        if category := wanted.get("category"):
            found = found.filter(category=category)
        status = wanted.get("status")
        if status == EVERY:
            return found
        return found.filter(status=status) if status else found.exclude(status__in=CLOSED)
