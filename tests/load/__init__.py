"""Fifty reviewers and ten analysts at once against the embedded stack: ``make load``, or ``python -m tests.load``."""
