"""Fixtures: questions asked through the product's own stages, of a model at the fake server over real HTTP.

Gateway, ledger, guard, breaker, reply cache and strategies are the product's own, on a real database where everything
is committed; only the worker is this process. One installation serves all tests of a module, so that many faults
can be tried in little time; each test gets a clean fake server and closed circuits. Test modules take
``pytestmark = LLM_MARKS``.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from arbitration.adapters import endpoint_calls
from arbitration.adapters.breaker import forget_breakers
from arbitration.adapters.endpoints import EndpointCapabilities
from tests.fake_llm import FakeLLM
from tests.workbench.cast import Cast, create_cast
from tests.workbench.database import let_tests_empty_the_trail
from tests.workbench.scene import HashEmbedder, make_document

LLM_MARKS = [pytest.mark.integration, pytest.mark.django_db(transaction=True)]

#: The strategies that ask a language model.
LLM_STRATEGIES = ("arbiter", "r-flow", "consensus", "pointwise", "multi-criteria", "multi-criteria-2")
CAPABILITIES = EndpointCapabilities(json_schema=True, json_mode=True, logprobs=True)
TIMEOUT_S = 1.0
#: Settings under which the rules' estimate neither accepts nor rejects.
UNCERTAIN = {"rules_accept": 1.0, "rules_reject": 0.0}
QUESTION = "How long are audit records kept?"

#: Sections that speak of the question in every degree, so that each strategy has something to ask about.
POLICY = {
    "1 Purpose": ["This policy says how audit records are kept.", "It binds every branch of the firm."],
    "2 Retention": [
        "Audit records are kept for seven years.",
        "The period starts on the day of the audit.",
    ],
    "3 Storage": ["Records on paper lie in the archive.", "The archive is locked at night."],
    "4 Payments": ["Payment slips are kept for ten years.", "Slips are filed by month."],
    "5 Holds": ["A legal hold stops every deletion.", "Counsel lifts the hold in writing."],
    "6 Canteen": ["Lunch is served from noon.", "Guests pay at the counter."],
}


class CountingEmbedder(HashEmbedder):
    """Remembers what it was asked to embed."""

    texts: list[str] = []

    def embed(self, texts: Any) -> Any:
        """One vector per text."""
        self.texts.extend(texts)
        return super().embed(texts)


@dataclass
class Installation:
    """The product with one document, and its fake model."""

    cast: Cast
    fake: FakeLLM
    document: Any
    documents: int = field(default=1)

    def ask(self, strategy: str, *, document: Any = None, finish: bool = True, **options: Any) -> Any:
        """A run of the strategy; carried out here unless ``finish`` is off. Under ``r-flow`` every candidate is
        made uncertain, so that the model is asked about each; not where the cache is used, whose keys hold the
        settings."""
        from workbench.runs.models import Run
        from workbench.runs.services import question_ask

        run = question_ask(
            actor=self.cast.analyst,
            collection=self.cast.alpha,
            document=document or self.document,
            strategy=strategy,
            **({"text": QUESTION, "use_cache": False} | options),
        ).run
        if strategy == "r-flow" and run.status == "queued" and not options.get("use_cache"):
            Run.objects.filter(pk=run.pk).update(settings=run.settings | UNCERTAIN)
        return self.finish(run) if finish else run

    def finish(self, run: Any) -> Any:
        """Carries out the stages of a run; those that are done already are left alone."""
        from workbench.runs.execution import run_answer, run_arbitrate, run_detect

        for stage in (run_detect, run_arbitrate, run_answer):
            stage(run_id=run.pk)
        run.refresh_from_db()
        return run

    def add_document(self, text: dict[str, list[str]]) -> Any:
        """Another ready document of the collection."""
        self.documents += 1
        name = f"policy-{self.documents}.txt"
        return make_document(collection=self.cast.alpha, owner=self.cast.analyst, name=name, text=text)


@pytest.fixture(scope="module")
def _installation(
    django_db_setup: None,
    django_db_blocker: Any,
    fake_llm_server: FakeLLM,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installation]:
    from django.core.management import call_command
    from django.test import override_settings

    folder = tmp_path_factory.mktemp("installation")
    files = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(folder)},
    }
    with contextlib.ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        let_tests_empty_the_trail(patch)
        # The tables are emptied once, at the end of the module, and not after each test.
        patch.setattr("django.test.TransactionTestCase._fixture_teardown", lambda self: None)
        patch.setattr("workbench.runs.execution.current_embedder", CountingEmbedder)
        patch.setattr("workbench.infra.dispatch.dispatch", lambda *args, **kwargs: True)
        patch.setattr(endpoint_calls, "FIRST_BACKOFF_S", 0.01)
        stack.enter_context(
            override_settings(
                LLM_CONFIGURED=True,
                OPENAI_BASE_URL=fake_llm_server.base_url,
                OPENAI_API_KEY="sk-of-no-use-to-anybody",
                OPENAI_MODEL="fake-model",
                LLM_TIMEOUT_SECONDS=TIMEOUT_S,
                WORKBENCH_HOME=folder,
                STORAGES={**_storages(), "default": files},
            )
        )
        stack.callback(gc.collect)  # connections of threads that have ended
        stack.callback(call_command, "flush", verbosity=0, interactive=False)
        yield _furnished(fake_llm_server)


def _storages() -> dict[str, Any]:
    from django.conf import settings

    return dict(settings.STORAGES)


def _furnished(fake: FakeLLM) -> Installation:
    from workbench.runs import gateway
    from workbench.runs.models import LLMEndpoint

    cast = create_cast()
    for collection in (cast.alpha, cast.beta):
        collection.allowed_endpoints = [gateway.endpoint_name()]
        collection.save(update_fields=["allowed_endpoints"])
    LLMEndpoint.objects.create(
        name="known",
        base_url=gateway.endpoint_name(),
        model="fake-model",
        capabilities=asdict(CAPABILITIES),
    )
    document = make_document(collection=cast.alpha, owner=cast.analyst, text=POLICY)
    return Installation(cast, fake, document)


@pytest.fixture
def installation(_installation: Installation, fake_llm: FakeLLM) -> Iterator[Installation]:
    """The installation with a clean fake server, closed circuits and nothing embedded."""
    forget_breakers()
    CountingEmbedder.texts = []
    yield _installation
    forget_breakers()
