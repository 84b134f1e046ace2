"""Tests against a real small model on this machine: ``make live-test``. Not part of ``make test``."""
