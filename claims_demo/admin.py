"""The demo's admin: its name, and what it leaves out."""

from django.contrib import admin
from rest_framework_api_key.models import APIKey

# The library's own keys open nothing here; the app's keys do.
admin.site.unregister(APIKey)

admin.site.site_header = "Token Budget"
admin.site.site_title = "Token Budget"
admin.site.index_title = "Policy and usage"
