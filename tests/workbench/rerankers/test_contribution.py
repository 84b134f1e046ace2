"""A collection may keep its labels out of the model of the installation."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from arbitration.strategies.rubrics import PROPERTIES
from tests.workbench.cast import Cast
from tests.workbench.rerankers.makers import World, retrained, truths
from tests.workbench.scene import make_document
from training.labels import LabelSource
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents.models import Collection
from workbench.rerankers import trainings
from workbench.rerankers.aliases import alias_version
from workbench.rerankers.data import learning_data, training_plan
from workbench.rerankers.models import ModelVersion, RunState, SnapshotLabel
from workbench.rerankers.selectors import labels_since_last_training
from workbench.rerankers.services import standing_current

ClientAs = Callable[[User | None], Client]


@pytest.fixture
def beta(cast: Cast, world: World) -> World:
    """Another collection with a document, whose labels are its own."""
    document = make_document(collection=cast.beta, owner=cast.analyst, name="other.txt")
    return World(cast.beta, document, cast.annotator)


def withdraw(collection: Collection) -> None:
    Collection.objects.filter(pk=collection.pk).update(contributes_to_training=False)


def of_beta(beta: World) -> int:
    return SnapshotLabel.objects.filter(label__collection=beta.collection).count()


def test_labels_contribute_until_somebody_says_otherwise(gold: World, beta: World, system: User) -> None:
    gold.label(truths(range(40)))
    beta.label(truths(range(100, 120)))
    run = retrained(system)
    assert of_beta(beta) > 0
    assert run.snapshot.withheld == 0


def test_kept_labels_neither_train_nor_judge(gold: World, beta: World, system: User) -> None:
    gold.label(truths(range(40)))
    without = learning_data()
    kept = beta.label(truths(range(100, 120)))
    beta.gold(truths(range(2000, 2010)))
    with_them = learning_data()
    assert len(with_them.training.training) > len(without.training.training)
    assert len(with_them.gold) > len(without.gold)

    withdraw(beta.collection)
    data, plan = learning_data(), training_plan(standing_current())
    assert data.training.content_hash == without.training.content_hash
    assert data.gold.digest == without.gold.digest
    assert data.withheld == plan.withheld == len(kept) + 60
    assert plan.rows == len(without.training.training)
    assert labels_since_last_training() == 40 * 6 + 240, "they are nothing new to train on"

    run = retrained(system)
    assert of_beta(beta) == 0
    assert run.snapshot.withheld == data.withheld


def test_kept_labels_overrule_none_of_others(gold: World, beta: World) -> None:
    """Should two collections ever hold the same pair, the authority of one is not felt in the other."""
    pairs = truths(range(3))
    gold.label(pairs, source=LabelSource.LLM)
    before = learning_data().training.content_hash
    beta.label(pairs, source=LabelSource.ADJUDICATED, flip=range(len(pairs)))
    withdraw(beta.collection)
    assert learning_data().training.content_hash == before


def test_a_contribution_that_ends_during_a_training_deploys_nothing(
    gold: World, beta: World, system: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold.label(truths(range(60)))
    beta.label(truths(range(100, 120)))
    judge = trainings.judge

    def meanwhile(*given: object) -> object:
        withdraw(beta.collection)
        return judge(*given)

    monkeypatch.setattr(trainings, "judge", meanwhile)
    run = retrained(system)
    assert run.state == RunState.FAILED
    assert "keep its labels" in run.failure_reason
    assert alias_version() is None
    assert not ModelVersion.objects.exists()


def test_the_card_and_the_dry_run_say_so(
    gold: World, beta: World, system: User, cast: Cast, client_as: ClientAs
) -> None:
    gold.label(truths(range(60)))
    kept = beta.label(truths(range(100, 120)))
    first = retrained(system).challenger
    client = client_as(cast.auditor)
    assert b"ended their contribution" not in client.get(first.get_absolute_url()).content

    withdraw(beta.collection)
    page = client.get(first.get_absolute_url())
    assert page.context["counts"]["withdrawn"] == of_beta(beta) > 0
    assert b"are of collections that have ended their contribution" in page.content
    assert b"Beta" not in page.content, "which collection is for its members to know"
    assert client.get("/models/plan/").context["plan"].withheld == len(kept)
    second = retrained(system).challenger
    assert f"{len(kept)} more were kept out".encode() in client.get(second.get_absolute_url()).content


class TestSetting:
    URL = "/collections/alpha/settings/change/"
    OTHERS = {"description": "", "allowed_endpoints": ""} | dict.fromkeys(PROPERTIES, 0.5)

    def test_an_admin_ends_and_resumes_it_on_record(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        for sent, now in ((self.OTHERS, False), (self.OTHERS | {"contributes_to_training": "on"}, True)):
            assert client.post(self.URL, sent).status_code == 302
            cast.alpha.refresh_from_db()
            assert cast.alpha.contributes_to_training is now
            event = AuditEvent.objects.filter(action="collection.changed").latest("id")
            assert (event.before["contributes_to_training"], event.after["contributes_to_training"]) == (
                not now,
                now,
            )

    def test_nobody_else_does(self, cast: Cast, client_as: ClientAs) -> None:
        for name in ("analyst", "reviewer", "annotator", "auditor", "staff"):
            assert client_as(getattr(cast, name)).post(self.URL, self.OTHERS).status_code in {403, 404}
        cast.alpha.refresh_from_db()
        assert cast.alpha.contributes_to_training

    def test_an_auditor_reads_it(self, cast: Cast, client_as: ClientAs) -> None:
        words = b"train the model of the installation</dt><dd>no</dd>"
        assert words not in client_as(cast.auditor).get("/collections/alpha/settings/").content
        withdraw(cast.alpha)
        assert words in client_as(cast.auditor).get("/collections/alpha/settings/").content
