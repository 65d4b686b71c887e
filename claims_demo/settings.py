"""Settings of the claims demo project, from the environment where they differ by place."""

import os

import pghistory
from csp.constants import NONE, SELF

from claims_demo.database import configuration
from claims_demo.environment import BASE_DIR, LOCAL_HOSTS, data_dir, flag, pairs, secret_key, words
from claims_demo.logs import without_traceback

DEBUG = flag("DEBUG", default=False)
SECRET_KEY = secret_key()
ALLOWED_HOSTS = words("ALLOWED_HOSTS", default=LOCAL_HOSTS)
CSRF_TRUSTED_ORIGINS = words("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "rest_framework_api_key",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "pghistory",
    "pgtrigger",
    "csp",
    "django_prometheus",
    "django_q",
    "budget",
    "claims_demo",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "budget.api.middleware.ApiMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "claims_demo.urls"
WSGI_APPLICATION = "claims_demo.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# One process serves the web with a pool; everything else forks or is short-lived.
DATABASES = {"default": configuration(data_dir(), pooled=flag("DATABASE_POOL", default=False))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "claims"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATIC_ROOT = data_dir() / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "claims_demo.storage.StaticFilesStorage"},
}

# Off only for plain HTTP, as `make serve` speaks it: browsers send no secure cookies there.
HTTPS = flag("HTTPS", default=not DEBUG)
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
if flag("BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    BUDGET_CLIENT_ADDRESS_KEY = "HTTP_X_FORWARDED_FOR"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# Which job a ticket runs is decided as it runs, so none is worth keeping, and a lost or
# doubled one does no harm. See docs/jobs.md.
Q_CLUSTER = {
    "name": "budget",
    "orm": "default",
    "workers": 2,
    "queue_limit": 2,
    "bulk": 1,
    "poll": 0.2,
    "timeout": 60,
    "retry": 260,
    "max_attempts": 1,
    "recycle": 0,
    "ack_failures": True,
    "save_limit": -1,
    "catch_up": False,
    "scheduler": False,
    "ALT_CLUSTERS": {"near_line": {}, "bulk": {}},
}
# Where a pool's base URL may have the provider's key sent; any host unless it is said.
if "BUDGET_PROVIDER_HOSTS" in os.environ:
    BUDGET_PROVIDER_HOSTS = words("BUDGET_PROVIDER_HOSTS", default=[])

# Where all calls of a provider go, whatever the pools say; `make demo` sets it for its processes.
BUDGET_PROVIDER_BASE_URLS = pairs("BUDGET_PROVIDER_BASE_URLS")

PGHISTORY_APPEND_ONLY = True
PGHISTORY_CONTEXT_FIELD = pghistory.ContextJSONField()

# The API's own document names no enums apart; the check of the deploy settings makes one, too.
SPECTACULAR_SETTINGS: dict[str, list[str]] = {"POSTPROCESSING_HOOKS": []}
REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "UNAUTHENTICATED_USER": None,
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
    },
    "filters": {
        "no_traceback": {"()": "django.utils.log.CallbackFilter", "callback": without_traceback},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        "django.security.DisallowedHost": {"filters": ["no_traceback"]},
        # At INFO, a line or three for each ticket, and one for each request of a provider.
        "django-q": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
    },
    "root": {"handlers": ["console"], "level": os.environ.get("LOG_LEVEL", "INFO").upper()},
}
