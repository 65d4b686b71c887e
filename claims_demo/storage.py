"""How static files are named and kept."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Names files by their content, what modules of JavaScript import included.

    Without that a page would bring a new module that imports an old one from a browser's cache.
    """

    support_js_module_import_aggregation = True
