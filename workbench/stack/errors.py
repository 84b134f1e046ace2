"""What can go wrong with the stack, as messages that say what to do."""

from __future__ import annotations


class StackError(Exception):
    """The stack cannot do what was asked; the text is meant for the person who asked."""


class StopRequested(Exception):
    """A signal asked for the end while something was being waited for."""
