"""Which language models this installation can ask, and where. What is configured is read anew each time."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings

DEFAULT_BASE_URL = "https://api.openai.com/v1"
#: The endpoint of OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY.
DEFAULT_NAME = "default"


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """One address and the models that are asked there. ``is_local`` None: as the address says."""

    name: str
    base_url: str
    models: tuple[str, ...]
    api_key: str = field(default="", repr=False)
    is_local: bool | None = None


def model_endpoints() -> tuple[ModelEndpoint, ...]:
    """Every endpoint, that of the OPENAI variables first."""
    others: tuple[ModelEndpoint, ...] = settings.MODEL_ENDPOINTS
    if not settings.LLM_CONFIGURED:
        return others
    return (
        ModelEndpoint(DEFAULT_NAME, default_address(), (settings.OPENAI_MODEL,), settings.OPENAI_API_KEY),
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
