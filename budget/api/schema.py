"""OpenAPI from the typed bodies: what is decoded and encoded is what is documented."""

from threading import Lock
from typing import Any

import msgspec
from django.http import HttpResponse
from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import OpenApiResponse
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.views import APIView

from budget.api.errors import problem_of
from budget.api.problem import PROBLEM_JSON, title
from budget.api.responses import ProblemBody

REFERENCES = "#/components/schemas/{name}"


class StructExtension(OpenApiSerializerExtension):
    """Lets `extend_schema` take msgspec structs."""

    target_class = "msgspec.Struct"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: str) -> str:
        """The component's name: the struct's."""
        set_override(self.target, "suppress_collision_warning", True)
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        """The struct's JSON schema; structs inside it become components of their own."""
        _, components = msgspec.json.schema_components([self.target], ref_template=REFERENCES)
        own = components.pop(self.target.__name__)
        for name, schema in components.items():
            component = ResolvedComponent(
                name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema
            )
            auto_schema.registry.register_on_missing(component)
        return own


class ApiSchema(AutoSchema):
    """Documents an endpoint together with the key it wants."""

    def get_auth(self) -> list[dict[str, list[str]]]:
        """Every endpoint takes an API key."""
        self.registry.register_on_missing(
            ResolvedComponent(
                name="ApiKey",
                type=ResolvedComponent.SECURITY_SCHEMA,
                object="ApiKey",
                schema={
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "`Api-Key` and a space before the key.",
                },
            )
        )
        return [{"ApiKey": []}]

    def get_summary(self) -> str:
        """What the handler's docstring says."""
        return str(self.get_description())

    def get_tags(self) -> list[str]:
        """Endpoints are grouped by their noun: the path's first part after the version."""
        return [self.path.partition("/v1/")[2].split("/")[0]]


def problems(*statuses: int) -> dict[tuple[int, str], OpenApiResponse]:
    """Problem responses for `extend_schema`, besides those every endpoint may give."""
    return {
        (status, PROBLEM_JSON): OpenApiResponse(ProblemBody, description=title(status))
        for status in (*statuses, 401, 405, 503)
    }


def own_endpoints(endpoints: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Leaves out what else the project serves."""
    return [entry for entry in endpoints if isinstance(entry[3].cls.schema, ApiSchema)]


class _Generator(SchemaGenerator):
    """Makes the document once: that takes a while, under settings patched for all threads."""

    guard = Lock()
    made: dict[str, Any] = {}

    def get_schema(self, request: Any = None, public: bool = False) -> Any:
        """The document, the same for everybody."""
        with self.guard:
            if not self.made:
                self.made.update(super().get_schema(request, public))
        return self.made


class _Open(APIView):
    """For everybody to read; errors are problems here too."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        return problem_of(exc, self.request).response()


class SchemaView(_Open, SpectacularAPIView):
    """The OpenAPI document; JSON if asked for, else YAML."""

    generator_class = _Generator
    custom_settings = {
        "TITLE": "Token budget",
        "DESCRIPTION": "Admission of LLM calls to shared allowances, by deadline.",
        "VERSION": "1",
        "OAS_VERSION": "3.1.0",
        "PREPROCESSING_HOOKS": ["budget.api.schema.own_endpoints"],
        "POSTPROCESSING_HOOKS": [],
    }


class DocsView(_Open, SpectacularSwaggerSplitView):
    """The document as a page, with all its parts from this host."""

    template_name = "budget/api_docs.html"
    url_name = "budget:schema"
