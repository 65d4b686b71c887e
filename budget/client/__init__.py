"""What callers import: no Django, nothing else of the app."""
