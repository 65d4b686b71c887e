"""Addresses of the claims platform."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from claims_demo.claims.asking import ask
from claims_demo.claims.pages import claim, claims, run_nightly


class NumberConverter(StringConverter):
    """What may be a claim's number."""

    regex = "C-[0-9]{4}-[0-9]{6}"


register_converter(NumberConverter, "number")

urlpatterns = [
    path("", claims, name="claims"),
    path("claims/<number:number>/", claim, name="claim"),
    path("claims/<number:number>/ask", ask, name="ask"),
    path("nightly", run_nightly, name="run_nightly"),
]
