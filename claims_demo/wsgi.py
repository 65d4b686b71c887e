"""The web entry point."""

import os
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "claims_demo.settings")


class Request(WSGIRequest):
    """Reads queries and forms as UTF-8, whatever character set a Content-Type names.

    Django goes by the caller's, and fails at odd ones before any view could answer.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            parsed = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except ValueError:
            parsed = ("", {})
        self.content_type, self.content_params = parsed


application: WSGIHandler = get_wsgi_application()
application.request_class = Request
