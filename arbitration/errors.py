"""Anticipated failures of the engine. Each message says what happened and what to do about it."""

from __future__ import annotations


class ArbitrationError(Exception):
    """Base of every anticipated failure."""


class ParseFailure(ArbitrationError):
    """A file could not be turned into lines. ``code`` is stable; the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class PasswordRequired(ParseFailure):
    """The file is encrypted and no password, or a wrong one, was given."""


class TextInImages(ParseFailure):
    """Some pages give no text but show something; ``pages`` are their numbers (1-based)."""

    def __init__(self, pages: list[int]) -> None:
        super().__init__("no_text", "Some pages are images. Their text must be recognised first.")
        self.pages = pages


class StrategyUnavailable(ArbitrationError):
    """The chosen strategy cannot run here (no endpoint, no logprobs, unknown name)."""


class LLMFailure(ArbitrationError):
    """A model call that gave no usable answer. Never a verdict: a recorded outcome of its own.

    ``outcome`` is one of ``timeout``, ``connection``, ``rate_limited``, ``server_error``, ``refused``,
    ``cut_off``, ``unparseable``, ``wrong_schema``, ``budget``, ``stopped``, ``not_allowed``, ``bad_request``,
    ``circuit_open``.
    """

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message
