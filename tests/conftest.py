"""Fixtures and settings shared by every test."""
