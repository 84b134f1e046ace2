"""Finds out what an endpoint can do, by tiny real calls; the result is stored with the endpoint.

Servers differ in what they leave out, and some take a parameter and ignore it, so nothing is believed that
was not seen: the prompts never mention JSON where the schema alone must bring it about.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from arbitration.adapters.breaker import CircuitBreaker
from arbitration.adapters.endpoint_calls import EndpointCaller
from arbitration.adapters.endpoints import Endpoint, EndpointCapabilities, Guard, Ledger
from arbitration.adapters.http_client import AddressRule
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.adapters.openai_sdk import CallFailure
from arbitration.errors import LLMFailure
from arbitration.protocols import ChatRequest

#: Outcomes that say "it cannot do that"; any other (unreachable, key refused, busy) says nothing.
_CANNOT = frozenset({"bad_request", "unparseable", "wrong_schema", "refused", "cut_off"})


class Greeting(BaseModel):
    """What the probes ask for."""

    model_config = ConfigDict(extra="forbid")

    greeting: Literal["hello", "goodbye"]


class Prober:
    """The probes of one endpoint, each a call of its own that guard and ledger see."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        ledger: Ledger | None,
        guard: Guard | None,
        breaker: CircuitBreaker | None,
        address_rule: AddressRule | None,
        timeout_s: float,
    ) -> None:
        self._endpoint = endpoint
        self._ledger = ledger
        self._guard = guard
        self._breaker = breaker
        self._address_rule = address_rule
        self._timeout_s = timeout_s

    def models(self) -> tuple[str, ...]:
        """What ``/models`` lists."""
        caller = EndpointCaller(self._endpoint, address_rule=self._address_rule)
        try:
            return caller.models(timeout_s=self._timeout_s)
        finally:
            caller.close()

    def basics(self) -> EndpointCapabilities:
        """Capabilities with which a plain chat call goes through: newer models take no temperature, and
        another name for the output limit. Raises ``LLMFailure`` when no plain call succeeds."""
        capabilities = EndpointCapabilities()
        while True:
            try:
                self._call(capabilities, user="Say hello.")
                return capabilities
            except CallFailure as failure:
                adapted = _adapted(capabilities, failure)
                if adapted == capabilities:
                    return self._without_complaint(capabilities, failure)
                capabilities = adapted

    def _without_complaint(
        self, capabilities: EndpointCapabilities, failure: CallFailure
    ) -> EndpointCapabilities:
        """Servers in front of others, such as LiteLLM's proxy, refuse a parameter without naming it: what newer models
        refuse is left out in turn. Raises the first failure where nothing helps."""
        if failure.param or failure.status not in (400, 422):
            raise failure
        newer: dict[str, Any] = {"output_limit": "max_completion_tokens"}
        for changes in ({"temperature": False}, newer, {"temperature": False} | newer):
            tried = replace(capabilities, **changes)
            if tried != capabilities and self.can(tried, user="Say hello."):
                return tried
        raise failure

    def with_effort(self, capabilities: EndpointCapabilities) -> EndpointCapabilities:
        """The capabilities, and whether the level that is tried is taken."""
        taken = replace(capabilities, effort=True)
        return taken if self.can(taken, user="Say hello.") else capabilities

    def can(
        self,
        capabilities: EndpointCapabilities,
        *,
        user: str,
        schema: type[BaseModel] | None = None,
        want_logprobs: bool = False,
    ) -> bool:
        """Whether a call that needs the given capabilities succeeds and gives what it should."""
        try:
            self._call(capabilities, user=user, schema=schema, want_logprobs=want_logprobs)
        except LLMFailure as failure:
            if failure.outcome in _CANNOT or _fails_on_it(failure):
                return False
            raise
        return True

    def _call(
        self,
        capabilities: EndpointCapabilities,
        *,
        user: str,
        schema: type[BaseModel] | None = None,
        want_logprobs: bool = False,
    ) -> None:
        chat = OpenAIChat(
            replace(self._endpoint, capabilities=capabilities),
            ledger=self._ledger,
            guard=self._guard,
            breaker=self._breaker,
            address_rule=self._address_rule,
            deadline_s=self._timeout_s * 3,
        )
        request = ChatRequest(
            prompt_name="probe",
            prompt_version="v1",
            prompt_hash="",
            system="You greet people.",
            user=user,
            schema=schema,
            max_output_tokens=256,
            timeout_s=self._timeout_s,
            retries=1,
            want_logprobs=want_logprobs,
            stage="probe",
        )
        try:
            chat.complete(request)
        finally:
            chat.close()


def probe(
    endpoint: Endpoint,
    *,
    known: EndpointCapabilities | None = None,
    ledger: Ledger | None = None,
    guard: Guard | None = None,
    breaker: CircuitBreaker | None = None,
    address_rule: AddressRule | None = None,
    timeout_s: float = 30.0,
) -> EndpointCapabilities:
    """What the endpoint can do, by about six tiny calls; a seventh where a level of effort is set. Where all else is
    ``known``, that one alone.

    Raises ``LLMFailure`` when it cannot be said: unreachable, key refused, too busy, unknown model.
    """
    prober = Prober(
        endpoint,
        ledger=ledger,
        guard=guard,
        breaker=breaker,
        address_rule=address_rule,
        timeout_s=timeout_s,
    )
    if known is not None:
        return prober.with_effort(replace(known, effort=False, effort_tried=endpoint.effort))
    basics = prober.basics()  # first: the guard is asked before anything at all is sent
    # Before the others, which a model that thinks at length may not finish within their limit.
    if endpoint.effort is not None:
        basics = prober.with_effort(replace(basics, effort_tried=endpoint.effort))
    models = prober.models()
    schema_alone, in_words = "Say hello.", "Say hello, as JSON."
    return replace(
        basics,
        models=models,
        responses=prober.can(replace(basics, responses=True), user=schema_alone, schema=Greeting),
        json_schema=prober.can(replace(basics, json_schema=True), user=schema_alone, schema=Greeting),
        json_mode=prober.can(replace(basics, json_mode=True), user=in_words, schema=Greeting),
        logprobs=prober.can(replace(basics, logprobs=True), user=schema_alone, want_logprobs=True),
    )


def _adapted(capabilities: EndpointCapabilities, failure: CallFailure) -> EndpointCapabilities:
    """The capabilities without the parameter the endpoint complained about."""
    if failure.outcome == "bad_request" and failure.param == "temperature":
        return replace(capabilities, temperature=False)
    if failure.outcome == "bad_request" and failure.param == "max_tokens":
        return replace(capabilities, output_limit="max_completion_tokens")
    return capabilities


def _fails_on_it(failure: LLMFailure) -> bool:
    """Some servers answer what they lack with an error of their own. A plain call has just gone through, so
    500 and 501 speak of the capability; 502 and 503 speak of the server's state and say nothing."""
    return isinstance(failure, CallFailure) and failure.status in (500, 501)
