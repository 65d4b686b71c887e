"""The policy as its owner handles it: read from a file, compared, remembered, reverted."""
