"""Shed history: who was shed, why, and each shed call."""
