"""What the demo's admin leaves out."""

from django.contrib import admin
from rest_framework_api_key.models import APIKey

# The library's own keys open nothing here; the app's keys do.
admin.site.unregister(APIKey)
