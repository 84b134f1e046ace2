"""System checks: a wrong setting stops the start with a hint, instead of a failure in the night."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.mail.backends.console import EmailBackend as ConsoleMail
from django.utils.module_loading import import_string

from workbench.infra.outbound import address_allowed

BROKER_SCHEMES = frozenset({"redis", "rediss", "unix", "sentinel"})

Messages = Iterator[CheckMessage]


def listed(find: Callable[[], Messages]) -> Callable[..., list[CheckMessage]]:
    """What the function yields, as Django asks for it."""

    def found(**_: Any) -> list[CheckMessage]:
        return list(find())

    return found


@register
@listed
def home_is_writable() -> Messages:
    """The folder for indexes, page images and files."""
    home = Path(settings.WORKBENCH_HOME)
    existing = next(folder for folder in [home, *home.parents] if folder.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        yield Error(
            f"WORKBENCH_HOME is {home}, where this process may not write.",
            hint="Give the folder to the user that runs the product, or name another one.",
            id="ops.E001",
        )


@register
@listed
def leases_outlive_heartbeats() -> Messages:
    """A lease that lapses between two heartbeats gives work away while it is being done."""
    if not 0 < 2 * settings.HEARTBEAT_SECONDS < settings.LEASE_SECONDS:
        yield Error(
            f"A lease of {settings.LEASE_SECONDS} s with a heartbeat every {settings.HEARTBEAT_SECONDS} s "
            "lapses while its worker lives.",
            hint="Make WORKBENCH_LEASE_SECONDS more than twice WORKBENCH_HEARTBEAT_SECONDS.",
            id="ops.E002",
        )


@register
@listed
def messages_outlive_tasks() -> Messages:
    """The broker must not hand a message out again while its task runs."""
    visible = settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]
    if visible <= settings.CELERY_TASK_TIME_LIMIT:
        yield Error(
            f"The broker hands a message out again after {visible} s, before a task ends "
            f"({settings.CELERY_TASK_TIME_LIMIT} s).",
            hint="Make visibility_timeout longer than CELERY_TASK_TIME_LIMIT.",
            id="ops.E003",
        )


@register
@listed
def broker_is_understood() -> Messages:
    """Only brokers of the Redis protocol are supported."""
    scheme = urlsplit(settings.CELERY_BROKER_URL).scheme
    if scheme not in BROKER_SCHEMES:
        yield Error(
            f"BROKER_URL begins with {scheme or 'nothing'}://, which is not supported.",
            hint="Use redis://user:password@host:6379/0, or rediss:// for TLS.",
            id="ops.E004",
        )


@register
@listed
def limits_are_shared() -> Messages:
    """A limit that each web process counts by itself is as many times higher as there are processes."""
    if urlsplit(settings.LIMITS_URL).scheme not in settings.LIMITS_SCHEMES:
        yield Warning(
            "Attempts at the login are counted by each process for itself: BROKER_URL is no plain address.",
            hint="Name a Redis or Valkey in LIMITS_URL, such as redis://:password@host:6379/1.",
            id="ops.W009",
        )


#: Characters of a token that nobody guesses.
SHORTEST_TOKEN = 20


@register
@listed
def metrics_token_is_long() -> Messages:
    """Attempts at /metrics are not counted, so its token must not be worth guessing."""
    if 0 < len(settings.METRICS_TOKEN) < SHORTEST_TOKEN:
        yield Error(
            f"METRICS_TOKEN has fewer than {SHORTEST_TOKEN} characters.",
            hint="Make one with: head -c 24 /dev/urandom | base64",
            id="ops.E010",
        )


@register
@listed
def public_address_is_one() -> Messages:
    """Links in mails begin with it."""
    parts = urlsplit(settings.PUBLIC_URL)
    if settings.PUBLIC_URL and not (parts.scheme in {"http", "https"} and parts.hostname and not parts.query):
        yield Error(
            "PUBLIC_URL is not an address.",
            hint="Give what people type into the browser, such as https://workbench.example.",
            id="ops.E007",
        )


@register
@listed
def encoder_is_there() -> Messages:
    """A folder named as encoder must hold one."""
    others = {"EMBEDDER_FOLDER": "for the shipped encoder", "RERANK_FOLDER": "for none"}
    for name, other in others.items():
        if not getattr(settings, name):
            continue
        folder = Path(getattr(settings, name))
        missing = [file for file in ("model.onnx", "tokenizer.json") if not (folder / file).is_file()]
        if missing:
            yield Error(
                f"{name} is {folder}, which has no {' and no '.join(missing)}.",
                hint=f"Name a folder with model.onnx and tokenizer.json, or leave it empty {other}.",
                id="ops.E005",
            )


def _may_be_asked(host: str, scheme: str) -> bool:
    """Whether calls will be let through, as far as that can be said without asking a name server."""
    address = "127.0.0.1" if host == "localhost" else host
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return True
    return address_allowed(address, scheme=scheme, networks=settings.MODEL_NETWORKS)


@register
@listed
def model_endpoint_is_complete() -> Messages:
    """An endpoint without https sends document text in the clear; a key without its form never works."""
    named = {f"MODEL_ENDPOINTS “{one.name}”": one.base_url for one in settings.MODEL_ENDPOINTS}
    if settings.OPENAI_BASE_URL:
        named = {"OPENAI_BASE_URL": settings.OPENAI_BASE_URL} | named
    for name, url in named.items():
        yield from _about_endpoint(name, url)


def _about_endpoint(name: str, url: str) -> Messages:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        yield Error(
            f"{name} is not an address.",
            hint="Give the address with its version, such as https://host/v1.",
            id="ops.E006",
        )
    elif not _may_be_asked(parts.hostname, parts.scheme):
        yield Error(
            f"{name} leads to {parts.hostname}, where no model may be asked over {parts.scheme}.",
            hint="Name the model's network in MODEL_NETWORKS (127.0.0.0/8 for this machine), or use a public "
            "address with https.",
            id="ops.E008",
        )
    elif parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
        yield Warning(
            f"{name} is http: document text leaves this machine unencrypted.",
            hint="Use https; a private address is asked over http only in a network that MODEL_NETWORKS names.",
            id="ops.W006",
        )


@register(Tags.security, deploy=True)
@listed
def mail_is_not_printed() -> Messages:
    """A mail holds links that set passwords, and a log has more readers than a mailbox."""
    if issubclass(import_string(settings.EMAIL_BACKEND), ConsoleMail):
        yield Error(
            f"EMAIL_BACKEND {settings.EMAIL_BACKEND} prints mails, with links that set passwords, into the log.",
            hint="Set EMAIL_HOST to a mail server and leave EMAIL_BACKEND away.",
            id="ops.E011",
        )
