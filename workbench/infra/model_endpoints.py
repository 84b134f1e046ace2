"""Which language models this installation can ask, and where. What is configured is read anew each time."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

DEFAULT_BASE_URL = "https://api.openai.com/v1"
#: The endpoint of OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY.
DEFAULT_NAME = "default"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How hard a model thinks that reasons, and what it may write for itself beside an answer; None: as elsewhere."""

    effort: str | None = None
    tokens: int | None = None

    def over(self, other: Reasoning) -> Reasoning:
        """These, and what is open here as there."""
        tokens = self.tokens if self.tokens is not None else other.tokens
        return Reasoning(self.effort if self.effort is not None else other.effort, tokens)

    @property
    def words(self) -> str:
        """As pages show it."""
        effort = _("effort %(level)s") % {"level": self.effort} if self.effort else ""
        tokens = (
            ngettext("%(n)d token", "%(n)d tokens", self.tokens) % {"n": self.tokens} if self.tokens else ""
        )
        return ", ".join(filter(None, (effort, tokens)))


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """One address and the models that are asked there. ``is_local`` None: as the address says. ``reasoning`` is by the
    name of a strategy, ``DEFAULT_NAME`` for all others."""

    name: str
    base_url: str
    models: tuple[str, ...]
    api_key: str = field(default="", repr=False)
    is_local: bool | None = None
    reasoning: Mapping[str, Reasoning] = field(default_factory=dict, hash=False)

    def reasoning_for(self, strategy: str) -> Reasoning:
        """What is set for the strategy here, else for all strategies here, else for the installation."""
        own, every = (self.reasoning.get(name, Reasoning()) for name in (strategy, DEFAULT_NAME))
        installed = Reasoning(settings.LLM_REASONING_EFFORT or None, settings.LLM_REASONING_TOKENS)
        return own.over(every).over(installed)

    @property
    def reasoning_words(self) -> list[tuple[str, str]]:
        """Strategy and what is set for it, as pages show it."""
        names = {DEFAULT_NAME: _("all other strategies")}
        return [(names.get(name, name), one.words) for name, one in self.reasoning.items()]


def model_endpoints() -> tuple[ModelEndpoint, ...]:
    """Every endpoint, that of the OPENAI variables first."""
    others: tuple[ModelEndpoint, ...] = settings.MODEL_ENDPOINTS
    if not settings.LLM_CONFIGURED:
        return others
    return (
        ModelEndpoint(
            DEFAULT_NAME,
            default_address(),
            (settings.OPENAI_MODEL,),
            settings.OPENAI_API_KEY,
            reasoning=settings.LLM_REASONING,
        ),
        *others,
    )


def default_address() -> str:
    """The address of OPENAI_BASE_URL, else OpenAI's."""
    return settings.OPENAI_BASE_URL or DEFAULT_BASE_URL


def is_local(endpoint: ModelEndpoint) -> bool:
    """Whether the model runs on a machine of one's own: as the operator marked it, else where its address is one of
    this machine or of a private network."""
    if endpoint.is_local is not None:
        return endpoint.is_local
    host = urlsplit(endpoint.base_url).hostname or ""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    return bool(addresses) and all(address.is_private for address in addresses)
