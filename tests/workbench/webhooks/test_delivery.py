"""What happens is told, signed, as often as it takes, and never more of it than ids and links."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from tests.webhook_receiver import Receiver, is_genuine
from tests.workbench.cast import Cast
from tests.workbench.scene import Scene, make_run
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_record
from workbench.checklists.services import cell_retry, rounds_finish
from workbench.errors import WorkbenchError
from workbench.runs.models import Run, RunStatus
from workbench.webhooks import notice, sending
from workbench.webhooks.events import EVENTS
from workbench.webhooks.models import Delivery, DeliveryState, Outcome, Webhook, WebhookState
from workbench.webhooks.services import (
    deliveries_remove_old,
    deliveries_repeat_missed,
    delivery_repeat,
    webhook_change,
    webhook_pause,
    webhook_resume,
    webhook_secret_renew,
    webhook_test,
)

from .sent import later, registered, work

pytestmark = pytest.mark.django_db


def happened(cast: Cast, action: str = "run.finished", **values: Any) -> AuditEvent:
    """An event of alpha."""
    return audit_record(
        actor=cast.analyst,
        action=action,
        object_type="run",
        object_id="7",
        collection_id=cast.alpha.pk,
        **values,
    )


def test_a_finished_run_is_told_and_signed(scene: Scene, cast: Cast, receiver: Receiver) -> None:
    _webhook, secret = registered(cast, receiver)
    run = make_run(asker=cast.analyst, document=scene.document, text="Who deletes the records?")
    work()
    (told,) = receiver.of("run.finished")
    assert is_genuine(secret, told.headers, told.body)
    assert told.message["data"]["object"] == {"type": "run", "id": str(run.pk)}
    assert told.message["data"]["collection"] == "alpha"
    event = AuditEvent.objects.get(pk=told.message["data"]["event"])
    assert (event.action, event.object_id) == ("run.finished", str(run.pk))


def test_a_changed_body_or_an_old_one_is_no_genuine_one(cast: Cast, receiver: Receiver) -> None:
    webhook, secret = registered(cast, receiver)
    webhook_test(actor=cast.admin, webhook=webhook)
    work()
    (told,) = receiver.received
    assert is_genuine(secret, told.headers, told.body)
    assert not is_genuine(secret, told.headers, told.body + b" ")
    assert not is_genuine(secret, told.headers | {"webhook-id": "msg_other"}, told.body)
    assert not is_genuine(secret, told.headers | {"webhook-timestamp": "1000000000"}, told.body)


def test_every_event_of_the_list_is_told_with_its_links(
    cast: Cast, receiver: Receiver, settings: Any
) -> None:
    settings.PUBLIC_URL = "https://workbench.example"
    registered(cast, receiver)
    for action in EVENTS:
        happened(cast, action)
    work()
    assert {one.message["type"] for one in receiver.received} == set(EVENTS)
    for one in receiver.received:
        assert one.message["data"]["url"].startswith("https://workbench.example/")


def test_a_message_holds_nothing_but_ids_and_links(scene: Scene, cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver)
    make_run(asker=cast.analyst, document=scene.document, text="Who deletes the records?")
    audit_record(
        actor=cast.analyst,
        action="document.failed",
        obj=scene.document,
        reason="Line 3 says: Payment records are kept for ten years.",
        after={"name": "policy.txt"},
    )
    work()
    sent = b" ".join(one.body for one in receiver.received)
    assert len(receiver.received) == 2
    for words in (b"deletes", b"Payment", b"policy.txt", b"twenty-four"):
        assert words not in sent


def test_an_event_that_was_taken_back_is_not_told(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver)
    with transaction.atomic():
        happened(cast)
        assert Delivery.objects.exists()
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()


def test_only_what_was_chosen_of_this_collection_is_told(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver, "run.failed")
    happened(cast, "run.finished")
    happened(cast, "run.cancelled")
    audit_record(
        actor=None, action="run.failed", object_type="run", object_id="8", collection_id=cast.beta.pk
    )
    audit_record(actor=None, action="run.failed", object_type="run", object_id="9")
    assert not Delivery.objects.exists()
    happened(cast, "run.failed")
    assert Delivery.objects.count() == 1


def test_a_decision_of_the_gate_belongs_to_no_collection_and_is_told(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver, "training.decided")
    audit_record(actor=None, action="training.decided", object_type="trainingrun", object_id="3")
    work()
    (told,) = receiver.received
    assert told.message["data"]["collection"] is None
    assert told.message["data"]["url"].endswith("/models/trainings/3/")


def test_a_receiver_that_was_down_gets_everything_once_it_is_up(cast: Cast, receiver: Receiver) -> None:
    webhook, secret = registered(cast, receiver)
    receiver.down()
    happened(cast)
    assert work() == 1
    webhook.refresh_from_db()
    assert webhook.failing_since is not None
    events = [happened(cast) for _ in range(3)]
    assert work() == 1, "a receiver that is gone is knocked at with one delivery at a time"
    receiver.up()
    later(minutes=1)
    assert work() == 1
    assert len(receiver.received) == 1
    work()
    assert {one.message["data"]["event"] for one in receiver.received} >= {event.pk for event in events}
    assert len({one.id for one in receiver.received}) == len(receiver.received) == 4
    assert all(is_genuine(secret, one.headers, one.body) for one in receiver.received)
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.DELIVERED}
    webhook.refresh_from_db()
    assert webhook.failing_since is None


def test_each_attempt_is_in_the_log_and_waits_longer(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver)
    happened(cast)
    receiver.status = 503
    for expected in sending.DELAYS:
        delivery = Delivery.objects.get()
        later(hours=11)
        sending.delivery_attempt(delivery_id=delivery.pk)
        delivery.refresh_from_db()
        assert delivery.next_attempt_at - timezone.now() > timedelta(seconds=expected - 60)
        assert delivery.state == DeliveryState.WAITING
    later(hours=11)
    sending.delivery_attempt(delivery_id=delivery.pk)
    delivery.refresh_from_db()
    assert delivery.state == DeliveryState.FAILED
    assert [(one.outcome, one.status) for one in delivery.log.all()] == [(Outcome.REFUSED, 503)] * 9
    assert len({one.id for one in receiver.received}) == 1, "the id is the same at every attempt"


def test_nothing_is_sent_before_its_time_or_twice_at_once(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver)
    happened(cast)
    delivery = Delivery.objects.get()
    Delivery.objects.update(lease_owner="another", lease_until=timezone.now() + timedelta(minutes=1))
    sending.delivery_attempt(delivery_id=delivery.pk)
    Delivery.objects.update(lease_until=None, next_attempt_at=timezone.now() + timedelta(minutes=1))
    sending.delivery_attempt(delivery_id=delivery.pk)
    assert receiver.received == []


def test_a_delivery_whose_worker_was_lost_is_found(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver)
    happened(cast)
    Delivery.objects.update(lease_owner="gone", lease_until=timezone.now() - timedelta(minutes=1), attempts=1)
    assert work() == 1
    assert len(receiver.received) == 1


def test_an_attempt_that_breaks_off_waits_for_the_next(
    cast: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(cast, receiver)
    happened(cast)

    def breaks(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(sending, "_write_down", breaks)
    with pytest.raises(RuntimeError):
        sending.delivery_attempt(delivery_id=Delivery.objects.get().pk)
    monkeypatch.undo()
    assert Delivery.objects.filter(next_attempt_at__gt=Now()).exists()
    later(minutes=1)
    assert work() == 1


def test_a_message_that_is_refused_as_such_keeps_its_own_times(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver)
    happened(cast)
    receiver.status = 422
    work()
    refused = Delivery.objects.get()
    receiver.status = 200
    happened(cast)
    work()
    refused.refresh_from_db()
    assert refused.state == DeliveryState.WAITING
    assert refused.attempts == 1


def test_redirects_are_not_followed(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver)
    happened(cast)
    receiver.status = 302
    work()
    assert [one.path for one in receiver.received] == ["/events"]
    assert Delivery.objects.get().log.get().outcome == Outcome.REFUSED


def test_a_name_that_leads_inside_by_now_is_not_called(cast: Cast, receiver: Receiver, settings: Any) -> None:
    registered(cast, receiver)
    happened(cast)
    settings.WEBHOOK_NETWORKS = []
    work()
    assert receiver.received == []
    assert Delivery.objects.get().log.get().outcome == Outcome.ADDRESS


def test_one_that_is_gone_is_switched_off_and_the_admins_are_told(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = registered(cast, receiver)
    happened(cast)
    receiver.status = 410
    work()
    webhook.refresh_from_db()
    assert webhook.state == WebhookState.DISABLED
    assert AuditEvent.objects.filter(action="webhook.disabled", object_id=str(webhook.pk)).exists()
    assert notice.admins_tell(webhook_id=webhook.pk) == 1
    (told,) = mail.outbox
    assert told.to == [cast.admin.email]
    assert webhook.get_absolute_url() in told.body
    happened(cast)
    assert Delivery.objects.count() == 1, "one that is off is told of nothing"


def test_five_days_without_an_arrival_switch_it_off(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = registered(cast, receiver)
    receiver.down()
    happened(cast)
    work()
    Webhook.objects.update(failing_since=timezone.now() - timedelta(days=4))
    later(hours=11)
    work()
    webhook.refresh_from_db()
    assert webhook.state == WebhookState.ACTIVE
    Webhook.objects.update(failing_since=timezone.now() - timedelta(days=6))
    later(hours=11)
    work()
    webhook.refresh_from_db()
    assert webhook.state == WebhookState.DISABLED
    webhook_resume(actor=cast.admin, webhook=webhook)
    assert webhook.failing_since is None


def test_both_secrets_sign_after_a_change_and_then_only_the_new_one(cast: Cast, receiver: Receiver) -> None:
    webhook, old = registered(cast, receiver)
    new = webhook_secret_renew(actor=cast.admin, webhook=webhook)
    assert new != old
    happened(cast)
    work()
    Webhook.objects.update(previous_until=timezone.now() - timedelta(seconds=1))
    happened(cast)
    work()
    first, second = receiver.received
    assert is_genuine(old, first.headers, first.body)
    assert is_genuine(new, first.headers, first.body)
    assert not is_genuine(old, second.headers, second.body)
    assert is_genuine(new, second.headers, second.body)


def test_another_secret_key_switches_it_off_until_there_is_a_new_secret(
    cast: Cast, receiver: Receiver, settings: Any
) -> None:
    webhook, old = registered(cast, receiver)
    kept, settings.SECRET_KEY = settings.SECRET_KEY, "another-key-of-the-installation"
    settings.SECRET_KEY_FALLBACKS = [kept]
    happened(cast)
    work()
    assert is_genuine(old, receiver.received[-1].headers, receiver.received[-1].body)
    settings.SECRET_KEY_FALLBACKS = []
    happened(cast)
    work()
    webhook.refresh_from_db()
    assert webhook.state == WebhookState.DISABLED
    assert len(receiver.received) == 1
    new = webhook_secret_renew(actor=cast.admin, webhook=webhook)
    webhook_resume(actor=cast.admin, webhook=webhook)
    happened(cast)
    work()
    assert is_genuine(new, receiver.received[-1].headers, receiver.received[-1].body)


def test_what_arrived_is_sent_again_under_its_old_id(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver)
    happened(cast)
    work()
    delivery_repeat(actor=cast.admin, delivery=Delivery.objects.get())
    work()
    first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)
    assert Delivery.objects.get().log.count() == 2


def test_what_was_missed_is_sent_again_at_one_word(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = registered(cast, receiver)
    receiver.down()
    happened(cast)
    happened(cast)
    webhook_pause(actor=cast.admin, webhook=webhook)
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.CANCELLED}
    receiver.up()
    webhook_resume(actor=cast.admin, webhook=webhook)
    assert deliveries_repeat_missed(actor=cast.admin, webhook=webhook) == 2
    work()
    assert len(receiver.received) == 2


def test_the_log_ends_after_thirty_days(cast: Cast, receiver: Receiver) -> None:
    registered(cast, receiver)
    happened(cast)
    work()
    assert deliveries_remove_old() == 0
    Delivery.objects.update(finished_at=timezone.now() - timedelta(days=31))
    deliveries_remove_old()
    assert not Delivery.objects.exists()


def test_a_round_is_finished_once_all_its_cells_have_an_outcome(
    scene: Scene, cast: Cast, receiver: Receiver
) -> None:
    registered(cast, receiver, "question_set.finished")
    cell = scene.round.cells.get()
    scene.round.cells.update(run=None)
    assert rounds_finish() == 0, "nobody has asked yet"
    Run.objects.filter(pk=cell.run_id).update(status=RunStatus.ARBITRATING, finished_at=None)
    scene.round.cells.update(run=cell.run_id)
    assert rounds_finish() == 0, "its run is on its way"
    Run.objects.filter(pk=cell.run_id).update(status=RunStatus.FAILED, failure_reason="It broke.")
    assert rounds_finish() == 1
    assert rounds_finish() == 0, "it is told once"
    work()
    (told,) = receiver.received
    assert told.message["data"]["object"] == {"type": "round", "id": str(scene.round.pk)}
    cell_retry(actor=cast.analyst, cell=scene.round.cells.get())
    assert rounds_finish() == 0
    scene.round.cells.update(failure="It cannot be asked.")
    assert rounds_finish() == 1, "after a retry it is finished once more"


def test_the_secret_lies_nowhere_in_the_database(cast: Cast, receiver: Receiver) -> None:
    webhook, secret = registered(cast, receiver)
    webhook_test(actor=cast.admin, webhook=webhook)
    work()
    rows = [*Webhook.objects.values(), *Delivery.objects.values(), *AuditEvent.objects.values()]
    stored = json.dumps(rows, default=str)
    assert secret not in stored
    assert secret.removeprefix("whsec_") not in stored
    assert receiver.url not in json.dumps(list(AuditEvent.objects.values("before", "after")))


@pytest.mark.parametrize("form", ["slack", "teams"])
def test_slack_and_teams_read_a_card_that_links_to_the_page(
    scene: Scene, cast: Cast, receiver: Receiver, settings: Any, form: str
) -> None:
    settings.PUBLIC_URL = "https://workbench.example"
    webhook, secret = registered(cast, receiver, "run.finished")
    webhook_change(actor=cast.admin, webhook=webhook, url=webhook.url, events=webhook.events, format=form)
    run = make_run(asker=cast.analyst, document=scene.document, text="Who deletes the records?")
    webhook_test(actor=cast.admin, webhook=webhook)
    while work():
        pass
    told, tested = (sent.message for sent in receiver.received)
    sentence = f"alpha: a question is answered (run {run.pk})"
    link = f"https://workbench.example{run.get_absolute_url()}"
    if form == "slack":
        section, actions = told["blocks"]
        assert (told["text"], section["text"]["text"]) == (sentence, sentence)
        assert actions["elements"][0]["url"] == link
        assert len(tested["blocks"]) == 1
    else:
        card = told["attachments"][0]["content"]
        assert told["attachments"][0]["contentType"] == "application/vnd.microsoft.card.adaptive"
        assert card["body"][0]["text"] == sentence
        assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open", "url": link}]
        assert "actions" not in tested["attachments"][0]["content"]
    assert "deletes" not in json.dumps(told)
    assert is_genuine(secret, receiver.received[0].headers, receiver.received[0].body)
    with pytest.raises(WorkbenchError, match="format"):
        webhook_change(actor=cast.admin, webhook=webhook, url=webhook.url, events=webhook.events, format="x")
