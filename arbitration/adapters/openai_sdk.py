"""The OpenAI SDK as we use it: one client per endpoint, no retries of its own, and its errors in our words.

Nothing a server said reaches a message: error texts repeat keys and prompts on some servers, so only codes
that look like codes are passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import httpx2

from arbitration.adapters.endpoints import Endpoint
from arbitration.adapters.http_client import AddressRule, bounded_client
from arbitration.errors import LLMFailure

if TYPE_CHECKING:
    import openai

#: 429 codes that waiting does not cure.
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_SHORTEST_SECRET = 12
_CODE = re.compile(r"[\w.\[\]-]{1,60}")


class CallFailure(LLMFailure):
    """An ``LLMFailure`` that also knows what the retry layer and the probe need."""

    def __init__(
        self,
        outcome: str,
        message: str,
        *,
        status: int | None = None,
        param: str = "",
        body: str | None = None,
        retry_after_s: float | None = None,
        final: bool = False,
    ) -> None:
        super().__init__(outcome, message)
        self.status = status
        self.param = param
        self.body = body
        self.retry_after_s = retry_after_s
        self.final = final


def sdk_client(endpoint: Endpoint, *, address_rule: AddressRule | None) -> openai.OpenAI:
    """A client for this endpoint alone; its requests never carry another endpoint's key."""
    # Here and not above: the SDK's thousand modules take a second, which a process without a call need not spend.
    import openai

    address = urlsplit(endpoint.base_url)
    query = dict(parse_qsl(address.query))
    headers = {"Accept-Encoding": "identity"}
    if "api-version" in query:  # Azure's older addresses, which take the key in a header of their own
        headers["api-key"] = endpoint.api_key
    return openai.OpenAI(
        # Never empty: the SDK would then send the key of the environment to this endpoint.
        api_key=endpoint.api_key or "none",
        base_url=urlunsplit(address._replace(query="")),
        max_retries=0,
        default_headers=headers,
        default_query=query,
        http_client=bounded_client(address_rule=address_rule),
    )


@contextmanager
def as_call_failure(endpoint: Endpoint) -> Iterator[None]:
    """Turns whatever the SDK raises into a :class:`CallFailure`. Causes are cut off (``from None``): they
    hold the request with its key, and the server's words."""
    import openai

    name = f"endpoint {endpoint.name}"
    try:
        yield
    except openai.APITimeoutError:
        raise CallFailure("timeout", f"{name} did not answer in time") from None
    except openai.APIConnectionError:
        raise CallFailure("connection", f"{name} could not be reached or broke off its answer") from None
    except openai.APIStatusError as error:
        raise _status_failure(endpoint, error) from None
    except (openai.OpenAIError, httpx2.HTTPError):
        raise CallFailure("connection", f"the answer of {name} could not be read", final=True) from None


def without_key(text: str, endpoint: Endpoint) -> str:
    """Some servers repeat the key they were given; it must not reach ledger or caller. Stand-ins for a key, which
    local servers ask for ("none", "key"), are words that an answer may hold: they stay."""
    is_secret = len(endpoint.api_key) >= _SHORTEST_SECRET
    return text.replace(endpoint.api_key, "[key]") if is_secret else text


def _status_failure(endpoint: Endpoint, error: openai.APIStatusError) -> CallFailure:
    status = error.status_code
    code, param = _safe_code(error.code), _safe_code(error.param)
    outcome, advice = _outcome_of_status(status, code)
    details = "".join(
        f", {label} {value}" for label, value in (("code", code), ("parameter", param)) if value
    )
    return CallFailure(
        outcome,
        f"endpoint {endpoint.name} answered HTTP {status}{details}: {advice}",
        status=status,
        param=param,
        body=without_key(error.response.text, endpoint),
        retry_after_s=_retry_after(error.response.headers),
        final=code in _SPENT,
    )


def _outcome_of_status(status: int, code: str) -> tuple[str, str]:
    """Outcome and what to do, by HTTP status and the error's code."""
    if status in (401, 403):
        return "not_allowed", "check the endpoint's key and its rights"
    if status == 429:
        advice = (
            "the account's quota is used up" if code in _SPENT else "it limits the rate of calls; try later"
        )
        return "rate_limited", advice
    if status == 408:
        return "timeout", "it gave up waiting; try later"
    if status >= 500 or status == 409:
        return "server_error", "it failed on its side; try later"
    if code == "content_filter":
        return "refused", "its content filter declined the prompt"
    if code == "context_length_exceeded" or status == 413:
        return "bad_request", "the prompt is longer than the model takes; send fewer candidates"
    if status == 404:
        return "bad_request", "it knows no such path or model; check address and model name"
    if 300 <= status < 400:
        return "bad_request", "it redirects elsewhere; give its final address"
    return "bad_request", "it does not take this request; probe its capabilities again"


def _safe_code(value: object) -> str:
    """An error code if it looks like one; a server could put anything there, a prompt's text for one."""
    text = str(value or "")
    return text if _CODE.fullmatch(text) else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: ``retry-after-ms``, or ``Retry-After`` as seconds or a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
