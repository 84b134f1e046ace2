"""The reviewer's day: filters, saved views, handing over, many at once, comments, what people are told, and how it
was at another time."""

from __future__ import annotations

from datetime import timedelta
from math import ceil
from typing import Any

import pytest
from django.core import mail
from django.db import IntegrityError, connection, transaction
from django.http import QueryDict
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import grow
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene, make_document, make_run
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.review import bulk as bulk_module
from workbench.review import notifications
from workbench.review.as_of import run_as_of
from workbench.review.bulk import bulk_finish, bulk_preview, bulk_start, checks_of, drawn
from workbench.review.comments import comment_add, mentions_in
from workbench.review.filters import QueueFilter, queue_filtered
from workbench.review.models import (
    BulkApproval,
    Comment,
    ItemStage,
    ItemState,
    Notification,
    QueueItem,
    Review,
    SavedView,
)
from workbench.review.policy import policy_set
from workbench.review.queue import queue_claim, queue_claim_next, queue_hand_over, queue_release
from workbench.review.services import (
    candidate_approve,
    candidate_override,
    candidate_undo,
    candidate_unsure,
)
from workbench.review.signing import run_reopen
from workbench.runs.models import ReviewState, Run, Verdict

EVERYTHING = QueueFilter(show="all")


def found(cast: Cast, **fields: str) -> set[int]:
    filters = QueueFilter(**({"show": "all"} | fields))
    return set(queue_filtered(user=cast.reviewer, filters=filters).values_list("pk", flat=True))


class TestFilters:
    def test_each_field(self, cast: Cast, scene: Scene) -> None:
        waiting = list(QueueItem.objects.filter(state=ItemState.WAITING).select_related("candidate__verdict"))
        first = waiting[0]
        verdict = first.candidate.verdict
        assert found(cast) == {item.pk for item in waiting}
        assert found(cast, role=verdict.role) == {
            item.pk for item in waiting if item.candidate.verdict.role == verdict.role
        }
        assert found(cast, decided_by=verdict.decided_by_kind) >= {first.pk}
        assert found(cast, decided_by="llm") == set()
        detector = first.candidate.methods[0]
        assert found(cast, detector=detector) == {
            item.pk for item in waiting if detector in item.candidate.methods
        }
        assert found(cast, document="POLICY") == found(cast)
        assert found(cast, document="elsewhere") == set()
        assert found(cast, collection="alpha") == found(cast, collection=str(cast.alpha.pk)) == found(cast)
        assert found(cast, collection="beta") == set()
        assert found(cast, stage="second") == set()

    def test_age_and_who_has_it(self, cast: Cast, scene: Scene) -> None:
        item = QueueItem.objects.filter(state=ItemState.WAITING).first()
        assert item is not None
        assert found(cast, age="7") == set()
        QueueItem.objects.filter(pk=item.pk).update(created_at=timezone.now() - timedelta(days=8))
        assert found(cast, age="7") == {item.pk}
        queue_claim(actor=cast.reviewer, item=item)
        assert found(cast, assignee="me") == {item.pk}
        assert item.pk not in found(cast, assignee="nobody")
        queue_hand_over(actor=cast.reviewer, item=item, to=cast.second_reviewer)
        assert found(cast, assignee="others") == {item.pk}

    def test_a_hidden_role_is_not_told_by_a_filter(self, cast: Cast, scene: Scene) -> None:
        item = QueueItem.objects.filter(state=ItemState.WAITING).first()
        assert item is not None
        QueueItem.objects.filter(pk=item.pk).update(is_blind=True)
        role = item.candidate.verdict.role
        assert item.pk not in found(cast, role=role)
        assert item.pk not in found(cast, why=role)
        assert item.pk in found(cast)

    def test_a_week_weighs_as_much_as_a_factor_e(self, cast: Cast, scene: Scene) -> None:
        young, old = QueueItem.objects.filter(state=ItemState.WAITING)[:2]
        QueueItem.objects.filter(pk=young.pk).update(priority=0.5)
        QueueItem.objects.filter(pk=old.pk).update(priority=0.2)
        order = list(queue_filtered(user=cast.reviewer, filters=EVERYTHING))
        assert order.index(young) < order.index(old)
        week = 7 * 86400
        QueueItem.objects.filter(pk=old.pk).update(entered=timezone.now().timestamp() - week)
        order = list(queue_filtered(user=cast.reviewer, filters=EVERYTHING))
        assert order.index(old) < order.index(young)  # 0.2 e = 0.54

    @given(
        st.dictionaries(
            st.sampled_from(["why", "role", "age", "document", "show", "x"]), st.text(max_size=30)
        )
    )
    def test_any_address_is_a_filter_and_comes_back_the_same(self, query: dict[str, str]) -> None:
        filters = QueueFilter.of(query)
        again = QueueFilter.of(QueryDict(filters.query).dict())
        assert again == QueueFilter.of(QueryDict(again.query).dict())

    @pytest.mark.parametrize(
        "query", ["after=9999999999999999999", "age=" + "9" * 40, "why=%ff", "role=%27", "collection=9" * 9]
    )
    def test_hostile_addresses(self, cast: Cast, client_as: Any, scene: Scene, query: str) -> None:
        client = client_as(cast.reviewer)
        assert client.get(f"/queue/?{query}").status_code == 200
        assert client.get(f"/queue/bulk/?{query}").status_code == 200
        # A page passes over what it does not know; the API names it.
        wanted = 400 if query.startswith("after=") else 200
        assert client.get(f"/api/v1/queue/?{query}").status_code == wanted

    def test_saved_views_are_ones_own(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        client = client_as(cast.reviewer)
        answer = client.post("/queue/views/", {"name": "Old ones", "query": "age=7&show=all&evil=1"})
        assert answer["Location"] == "/queue/?show=all&age=7"
        client.post("/queue/views/", {"name": "Old ones", "query": "age=30"})
        view = SavedView.objects.get()
        assert (view.user, view.query) == (cast.reviewer, "age=30")
        assert "Old ones" in client.get("/queue/").content.decode()
        other = client_as(cast.second_reviewer)
        assert "Old ones" not in other.get("/queue/").content.decode()
        assert other.post(f"/queue/views/{view.pk}/delete/").status_code == 404
        client.post(f"/queue/views/{view.pk}/delete/")
        assert not SavedView.objects.exists()

    def test_the_filter_is_kept_from_card_to_card(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        client = client_as(cast.reviewer)
        location = client.post("/queue/next/?show=all&document=policy")["Location"]
        assert location.endswith("?show=all&document=policy")
        assert client.get(location).context["next_url"] == "/queue/next/?show=all&document=policy"

    def test_the_number_of_queries(
        self, cast: Cast, client_as: Any, scene: Scene, django_assert_max_num_queries: Any
    ) -> None:
        client = client_as(cast.reviewer)
        item = QueueItem.objects.filter(state=ItemState.WAITING).first()
        assert item is not None
        queue_claim(actor=cast.reviewer, item=item)
        for address in (
            "/queue/?show=all&role=primary",
            "/queue/bulk/?show=all",
            "/queue/claims/",
            f"/queue/{item.pk}/",
            "/notifications/",
            f"/runs/{scene.run.pk}/?tab=comments",
            f"/runs/{scene.run.pk}/as-of/",
            f"/runs/{scene.run.pk}/",
        ):
            with django_assert_max_num_queries(15):
                assert client.get(address).status_code == 200, address


class TestHands:
    def test_handing_over_keeps_it_for_one_person_who_is_told(self, cast: Cast, scene: Scene) -> None:
        item = queue_claim_next(actor=cast.reviewer)
        assert item is not None
        queue_hand_over(actor=cast.reviewer, item=item, to=cast.second_reviewer, note="You know this.")
        for row in QueueItem.objects.exclude(pk=item.pk):
            assert row.pk != item.pk
        mine = queue_claim_next(actor=cast.reviewer)
        assert mine is None or mine.pk != item.pk
        with pytest.raises(Conflict, match="handed to Second Reviewer"):
            queue_claim(actor=cast.reviewer, item=item)
        theirs = queue_claim_next(actor=cast.second_reviewer)
        assert theirs is not None
        assert theirs.pk == item.pk
        assert Notification.objects.get().user == cast.second_reviewer
        (event,) = AuditEvent.objects.filter(action="queue.handed_over")
        assert event.reason == "You know this."

    def test_only_to_somebody_who_may_decide_it(self, cast: Cast, scene: Scene) -> None:
        item = queue_claim_next(actor=cast.reviewer)
        assert item is not None
        for person in (cast.analyst, cast.auditor, cast.outsider):
            with pytest.raises(WorkbenchError, match="cannot decide"):
                queue_hand_over(actor=cast.reviewer, item=item, to=person)
        with pytest.raises(Conflict, match="working on"):
            queue_hand_over(actor=cast.second_reviewer, item=item, to=cast.second_reviewer)
        with pytest.raises(NotAllowed):
            queue_hand_over(actor=cast.analyst, item=item, to=cast.second_reviewer)

    def test_an_admin_takes_any_claim_back(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        item = queue_claim_next(actor=cast.reviewer)
        assert item is not None
        client = client_as(cast.admin)
        page = client.get("/queue/claims/").content.decode()
        assert "Reviewer, until" in page
        assert f"/queue/{item.pk}/release/" in page
        second = client_as(cast.second_reviewer).get("/queue/claims/").content.decode()
        assert f"/queue/{item.pk}/release/" not in second
        answer = client.post(f"/queue/{item.pk}/release/", {"next": "/queue/claims/"})
        assert answer["Location"] == "/queue/claims/"
        item.refresh_from_db()
        assert item.claimed_by is None
        (event,) = AuditEvent.objects.filter(action="queue.released")
        assert (event.actor, event.before["claimed_by"]) == (cast.admin, cast.reviewer.pk)

    def test_by_the_page_and_given_back(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        item = queue_claim_next(actor=cast.reviewer)
        assert item is not None
        address = f"/queue/{item.pk}/hand-over/"
        client = client_as(cast.reviewer)
        client.post(address, {"person": "x"})
        for stranger in (cast.outsider, cast.outsiders["reviewer"]):
            client.post(address, {"person": stranger.pk})
            page = client.get(f"/queue/{item.pk}/", follow=True).content.decode()
            assert "Choose a reviewer of the collection." in page
            assert str(stranger) not in page, "nobody is told the names of people elsewhere"
        client.post(address, {"person": cast.second_reviewer.pk})
        assert "kept for Second Reviewer" in client.get("/queue/?show=all").content.decode()
        queue_release(actor=cast.second_reviewer, item=item)
        item.refresh_from_db()
        assert item.assigned_to is None

    def test_time_on_the_card_is_kept(self, cast: Cast, scene: Scene) -> None:
        item = queue_claim_next(actor=cast.reviewer)
        assert item is not None
        QueueItem.objects.filter(pk=item.pk).update(claimed_at=timezone.now() - timedelta(seconds=30))
        queue_claim(actor=cast.reviewer, item=item)  # keeping it longer starts no new clock
        review = candidate_approve(actor=cast.reviewer, candidate=item.candidate)
        assert 30 <= review.seconds_on_card < 90


@pytest.fixture
def alike(scene: Scene) -> list[QueueItem]:
    """Twelve cards that wait, of which the machine is sure."""
    grow(scene.run, to=12)
    QueueItem.objects.filter(run=scene.run).update(state=ItemState.WAITING, is_blind=False)
    Verdict.objects.filter(candidate__run=scene.run).update(
        role="discarded", probability=0.02, needs_person=False, injection_suspected=False
    )
    return list(QueueItem.objects.filter(run=scene.run, candidate__reviews__isnull=True))


def start(cast: Cast, **options: Any) -> BulkApproval:
    preview = bulk_preview(actor=cast.reviewer, filters=EVERYTHING)
    given = {"actor": cast.reviewer, "filters": EVERYTHING, "digest": preview.digest, "reason": "Seen."}
    return bulk_start(**(given | options))


def decide_checks(cast: Cast, bulk: BulkApproval) -> None:
    for item in checks_of(bulk).waiting:
        candidate_approve(actor=cast.reviewer, candidate=item.candidate)


class TestManyAtOnce:
    def test_some_are_decided_one_by_one_and_then_exactly_what_the_preview_showed(
        self, cast: Cast, alike: list[QueueItem]
    ) -> None:
        preview = bulk_preview(actor=cast.reviewer, filters=EVERYTHING)
        assert {item.pk for item in preview.items} == {item.pk for item in alike}
        bulk = start(cast)
        assert len(bulk.checks) == ceil(0.1 * len(alike))
        assert Review.objects.filter(comment="Seen.").count() == 0
        with pytest.raises(Conflict, match="check first"):
            bulk_finish(actor=cast.reviewer, bulk=bulk)
        decide_checks(cast, bulk)
        outcome = bulk_finish(actor=cast.reviewer, bulk=bulk)
        rest = {item.pk for item in alike} - set(bulk.checks)
        assert outcome.approved == len(rest)
        assert not outcome.refused
        reviews = Review.objects.filter(comment="Seen.")
        assert {review.candidate.queue_item.pk for review in reviews} == rest
        (event,) = AuditEvent.objects.filter(action="queue.bulk_approved")
        assert (event.after["count"], event.reason) == (len(rest), "Seen.")
        assert event.after["checked"] == bulk.checks
        assert AuditEvent.objects.get(action="queue.bulk_started").reason == "Seen."
        with pytest.raises(Conflict, match="finished"):
            bulk_finish(actor=cast.reviewer, bulk=bulk)

    @pytest.mark.parametrize("act", ["override", "unsure", "colleague"])
    def test_one_that_is_not_approved_stops_the_rest(
        self, cast: Cast, alike: list[QueueItem], act: str
    ) -> None:
        bulk = start(cast)
        (first, *_) = checks_of(bulk).waiting
        if act == "override":
            candidate_override(
                actor=cast.reviewer, candidate=first.candidate, role="primary", reason_code="wrong_role"
            )
        elif act == "unsure":
            candidate_unsure(actor=cast.reviewer, candidate=first.candidate)
        else:
            candidate_approve(actor=cast.second_reviewer, candidate=first.candidate)
        decide_checks(cast, bulk)
        outcome = bulk_finish(actor=cast.reviewer, bulk=bulk)
        bulk.refresh_from_db()
        assert (outcome.approved, bulk.state) == (0, "stopped")
        assert not Review.objects.filter(comment="Seen.").exists()
        assert AuditEvent.objects.filter(action="queue.bulk_stopped").count() == 1

    def test_the_share_is_the_collections_and_at_least_one(self, cast: Cast, alike: list[QueueItem]) -> None:
        for share, number in (
            (0.0, 1),
            (0.1, ceil(len(alike) / 10)),
            (0.5, ceil(len(alike) / 2)),
            (1.0, len(alike)),
        ):
            policy_set(
                actor=cast.admin, collection=cast.alpha, blind_share=0, second_share=0, check_share=share
            )
            assert len(drawn(alike)) == number, share
        assert drawn(alike[:1]) == alike[:1]
        policy_set(actor=cast.admin, collection=cast.alpha, blind_share=0, second_share=0)
        assert len(drawn(alike)) == len(alike), "it stays where it is not given"
        with pytest.raises(WorkbenchError, match="between 0 and 1"):
            policy_set(actor=cast.admin, collection=cast.alpha, blind_share=0, second_share=0, check_share=2)

    def test_asking_again_draws_the_same(self, cast: Cast, alike: list[QueueItem]) -> None:
        assert start(cast).checks == start(cast).checks

    def test_only_what_is_ticked(self, cast: Cast, alike: list[QueueItem]) -> None:
        chosen = {item.pk for item in alike[:4]}
        bulk = start(cast, chosen=chosen)
        assert set(bulk.items) == chosen
        with pytest.raises(WorkbenchError, match="at least one"):
            start(cast, chosen=set())
        with pytest.raises(Conflict, match="changed meanwhile"):
            start(cast, chosen={0})
        with pytest.raises(WorkbenchError, match="Say why"):
            start(cast, reason=" ")

    def test_what_changed_during_the_check_is_left_and_counted(
        self, cast: Cast, alike: list[QueueItem]
    ) -> None:
        bulk = start(cast)
        decide_checks(cast, bulk)
        taken, blind, decided, *others = [item for item in alike if item.pk not in bulk.checks]
        queue_claim(actor=cast.second_reviewer, item=taken)
        QueueItem.objects.filter(pk=blind.pk).update(is_blind=True)
        candidate_approve(actor=cast.second_reviewer, candidate=decided.candidate)
        outcome = bulk_finish(actor=cast.reviewer, bulk=bulk)
        assert outcome.approved == len(others)
        assert sum(outcome.refused.values()) == 3
        assert not blind.candidate.reviews.exists()

    def test_what_must_be_looked_at_is_left_out_and_said(self, cast: Cast, alike: list[QueueItem]) -> None:
        blind, injected, asks, middle, *others = alike
        QueueItem.objects.filter(pk=blind.pk).update(is_blind=True)
        Verdict.objects.filter(candidate=injected.candidate).update(injection_suspected=True)
        Verdict.objects.filter(candidate=asks.candidate).update(needs_person=True)
        Verdict.objects.filter(candidate=middle.candidate).update(probability=0.45)
        preview = bulk_preview(actor=cast.reviewer, filters=EVERYTHING)
        assert {item.pk for item in preview.items} == {item.pk for item in others}
        assert preview.left_out["the machine is unsure"] == 2
        assert sum(preview.left_out.values()) == preview.total - len(others)

    def test_no_more_at_once_than_a_person_reads(
        self, cast: Cast, alike: list[QueueItem], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bulk_module, "MOST_AT_ONCE", 5)
        preview = bulk_preview(actor=cast.reviewer, filters=EVERYTHING)
        assert len(preview.items) == 5
        assert preview.left_out["more than 5 at once"] == len(alike) - 5

    def test_never_a_second_review_never_a_signed_run(self, cast: Cast, scene: Scene) -> None:
        document = scene.document
        other = make_run(asker=cast.analyst, document=document, text="When are records deleted?")
        signed(other, cast.reviewer)
        QueueItem.objects.filter(run=other).update(state=ItemState.WAITING)
        item = QueueItem.objects.filter(run=scene.run, state=ItemState.WAITING).first()
        assert item is not None
        QueueItem.objects.filter(pk=item.pk).update(needs_second=True)
        candidate_approve(actor=cast.reviewer, candidate=item.candidate)
        for actor in (cast.reviewer, cast.second_reviewer):
            shown = bulk_preview(actor=actor, filters=EVERYTHING).items
            assert item not in shown
            assert all(row.run_id != other.pk for row in shown)
        assert QueueItem.objects.get(pk=item.pk).stage == ItemStage.SECOND

    def test_a_queue_that_changed_is_looked_at_again(self, cast: Cast, alike: list[QueueItem]) -> None:
        preview = bulk_preview(actor=cast.reviewer, filters=EVERYTHING)
        candidate_approve(actor=cast.second_reviewer, candidate=preview.items[0].candidate)
        with pytest.raises(Conflict, match="changed meanwhile"):
            start(cast, digest=preview.digest)

    def test_only_reviewers(self, cast: Cast, alike: list[QueueItem]) -> None:
        for actor in (cast.analyst, cast.admin, cast.auditor, cast.outsider):
            with pytest.raises(WorkbenchError, match="None of these cards"):
                start(cast, actor=actor, digest="")

    def test_by_the_page(self, cast: Cast, client_as: Any, alike: list[QueueItem]) -> None:
        client = client_as(cast.reviewer)
        address = "/queue/bulk/?show=all"
        page = client.get(address)
        text = alike[0].candidate.text.anchor.split()[0]
        assert text in page.content.decode(), "each with its passage"
        ticked = [row["item"].pk for row in page.context["rows"]][:6]
        given = {"digest": page.context["digest"], "reason": "All alike.", "item": ticked}
        checks = client.post(address, given)["Location"]
        bulk = BulkApproval.objects.get()
        assert checks == f"/queue/bulk/{bulk.pk}/"
        assert client_as(cast.second_reviewer).get(checks).status_code == 404
        opened = client.get(checks).context["next_url"]
        assert "?bulk=" in opened
        card = client.get(opened)
        assert f'name="next" value="{checks}"' in card.content.decode()
        candidate = card.context["card"]["approve_url"]
        answer = client.post(candidate, {"next": checks})
        assert answer["Location"] == checks, "nothing left to check"
        done = client.post(checks, follow=True)
        assert "5 approved." in done.content.decode()


class TestComments:
    def test_members_mentioned_are_told_and_nobody_else(self, cast: Cast, scene: Scene) -> None:
        outcome = comment_add(
            actor=cast.reviewer,
            run=scene.run,
            body="@second-reviewer, look at line 5. @outsider @nobody @reviewer me@second-reviewer.org",
        )
        assert [user.pk for user in outcome.mentioned] == [cast.second_reviewer.pk, cast.reviewer.pk]
        assert outcome.unknown == ["outsider", "nobody"]
        assert Notification.objects.get().user == cast.second_reviewer
        (event,) = AuditEvent.objects.filter(action="comment.added")
        assert "line 5" not in str(event.after)

    @pytest.mark.parametrize(("body", "code"), [(" ", "comment_missing"), ("x" * 4001, "comment_too_long")])
    def test_refusals(self, cast: Cast, scene: Scene, body: str, code: str) -> None:
        with pytest.raises(WorkbenchError) as refused:
            comment_add(actor=cast.reviewer, run=scene.run, body=body)
        assert refused.value.code == code
        with pytest.raises(NotAllowed):
            comment_add(actor=cast.outsider, run=scene.run, body="hello")

    def test_what_was_said_stays(self, cast: Cast, scene: Scene) -> None:
        comment_add(actor=cast.reviewer, run=scene.run, body="First words.")
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("UPDATE review_comment SET body = 'others'")
        assert Comment.objects.get().body == "First words."

    @given(st.text(max_size=80))
    def test_any_text_may_be_looked_through(self, body: str) -> None:
        names = mentions_in(body)
        assert len(names) == len(set(names))
        assert all(f"@{name}" in body.casefold() or name for name in names)

    def test_pages(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        client = client_as(cast.analyst)
        candidate = scene.run.candidates.first()
        words = {"body": "<b>@reviewer</b> see", "candidate": candidate.candidate_id}
        answer = client.post(f"/runs/{scene.run.pk}/comments/", words, follow=True)
        page = answer.content.decode()
        assert "&lt;b&gt;@reviewer" in page
        assert client.post(f"/runs/{scene.run.pk}/comments/", {"body": ""}, follow=True).status_code == 200
        reviewer = client_as(cast.reviewer)
        told = reviewer.get("/notifications/").content.decode()
        assert "mentions you in a comment" in told
        assert 'class="nav__count">1<' in told
        row = Notification.objects.get()
        opened = reviewer.post("/notifications/read/", {"pk": row.pk})
        assert opened["Location"].endswith(f"#comment-{row.comment_id}")
        assert notifications.unread(user=cast.reviewer).count() == 0
        assert client_as(cast.auditor).post("/notifications/read/", {"pk": row.pk}).status_code == 404


class TestMail:
    def told(self, cast: Cast, scene: Scene) -> None:
        comment_add(actor=cast.analyst, run=scene.run, body="@reviewer the secret is twenty-four months")

    def test_once_a_day_with_no_text_of_anything(self, cast: Cast, scene: Scene) -> None:
        self.told(cast, scene)
        assert notifications.people_to_mail() == [cast.reviewer.pk]
        assert notifications.mail_send(user_id=cast.reviewer.pk)
        assert not notifications.mail_send(user_id=cast.reviewer.pk)
        assert notifications.people_to_mail() == []
        (message,) = mail.outbox
        assert message.to == [cast.reviewer.email]
        assert "Analyst mentions you" in message.body
        assert "twenty-four" not in message.body
        assert f"/runs/{scene.run.pk}/" in message.body

    def test_as_each_person_wishes(
        self, cast: Cast, scene: Scene, monkeypatch: pytest.MonkeyPatch, client_as: Any
    ) -> None:
        sent: list[int] = []
        monkeypatch.setattr(notifications, "dispatch_on_commit", lambda task, user_id: sent.append(user_id))
        client = client_as(cast.reviewer)
        assert client.post("/notifications/", {"email": "hourly"}).status_code == 422
        client.post("/notifications/", {"email": "each"})
        self.told(cast, scene)
        assert sent == [cast.reviewer.pk]
        client.post("/notifications/", {"email": "none"})
        assert notifications.people_to_mail() == []
        assert not notifications.mail_send(user_id=cast.reviewer.pk)

    def test_who_left_the_collection_is_told_nothing(self, cast: Cast, scene: Scene) -> None:
        self.told(cast, scene)
        cast.reviewer.memberships.all().delete()
        assert notifications.unread(user=cast.reviewer).count() == 0
        assert not notifications.mail_send(user_id=cast.reviewer.pk)

    def test_a_mail_that_fails_is_sent_another_time(
        self, cast: Cast, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.told(cast, scene)

        def refuse(*args: object) -> None:
            raise ConnectionRefusedError

        monkeypatch.setattr(notifications, "send_mail", refuse)
        assert not notifications.mail_send(user_id=cast.reviewer.pk)
        monkeypatch.undo()
        assert notifications.mail_send(user_id=cast.reviewer.pk)

    def test_a_signer_hears_of_a_reopening(self, cast: Cast, scene: Scene) -> None:
        signed(scene.run, cast.reviewer)
        run_reopen(actor=cast.second_reviewer, run=scene.run, reason="A page was missed.")
        assert Notification.objects.get(kind="reopened").user == cast.reviewer


class TestAsOf:
    """Moments between the steps; inside one transaction the database's clock stands still, so rows are dated back."""

    @pytest.fixture
    def history(self, cast: Cast, scene: Scene) -> Run:
        return scene.run

    def test_before_between_and_after(self, cast: Cast, history: Run) -> None:
        candidate = history.candidates.filter(reviews__isnull=True, verdict__role__isnull=False).first()
        machine = candidate.verdict.role
        other = "supporting" if machine != "supporting" else "primary"
        before = timezone.now()
        candidate_override(actor=cast.reviewer, candidate=candidate, role=other, reason_code="wrong_role")
        between = timezone.now()
        candidate_undo(actor=cast.reviewer, candidate=candidate)
        signature = signed(history, cast.reviewer)
        signature.refresh_from_db()

        def role_at(moment: Any) -> str | None:
            then = run_as_of(run=history, at=moment)
            (row,) = [row for row in then.candidates if row.candidate.pk == candidate.pk]
            return row.role

        assert role_at(before) == machine
        assert role_at(between) == other
        assert role_at(timezone.now()) == machine
        now = run_as_of(run=history, at=timezone.now())
        assert (now.review_state, now.signature) == (ReviewState.SIGNED, signature)
        assert run_as_of(run=history, at=between).review_state == ReviewState.IN_REVIEW
        assert run_as_of(run=history, at=between).signature is None
        assert len(run_as_of(run=history, at=between).events) < len(now.events)

    def test_before_it_was_asked(self, history: Run) -> None:
        then = run_as_of(run=history, at=history.created_at - timedelta(days=1))
        assert (then.existed, then.candidates, then.answer, then.events) == (False, [], None, [])

    def test_the_page_and_the_api(self, cast: Cast, client_as: Any, history: Run) -> None:
        client = client_as(cast.auditor)
        address = f"/runs/{history.pk}/as-of/"
        assert "Counted then" in client.get(address).content.decode()
        assert "had not been asked" in client.get(f"{address}?at=2001-01-01T00:00").content.decode()
        for bad in ("tomorrow", "2026-13-45T99:99", "%ff", "0001-01-01T00:00:00%2B23:59"):
            assert client.get(f"{address}?at={bad}").status_code in {200, 422}
        told = client.get(f"/api/v1/runs/{history.pk}/as_of/?at=2100-01-01T00:00:00Z").json()
        assert {row["candidate_id"] for row in told["candidates"]} == set(
            history.candidates.values_list("candidate_id", flat=True)
        )
        assert client.get(f"/api/v1/runs/{history.pk}/as_of/?at=x").status_code == 400


class TestApi:
    def test_a_reviewers_day(self, cast: Cast, client_as: Any, scene: Scene, alike: list[QueueItem]) -> None:
        client = client_as(cast.reviewer)

        def post(path: str, body: dict[str, Any] | None = None) -> Any:
            return client.post(f"/api/v1/{path}", body or {}, content_type="application/json")

        listed = client.get("/api/v1/queue/?show=all").json()["results"]
        assert listed
        item = post("queue/next/?show=all").json()
        assert item["claimed_by"] == "Reviewer"
        assert post(f"queue/{item['id']}/claim/").status_code == 200
        assert post(f"queue/{item['id']}/release/").json()["claimed_by"] is None
        handed = post(f"queue/{item['id']}/hand-over/", {"person": cast.second_reviewer.pk})
        assert handed.json()["assigned_to"] == "Second Reviewer"
        preview = client.get("/api/v1/queue/bulk/?show=all").json()
        begun = post("queue/bulk/?show=all", {"digest": preview["digest"], "comment": "Alike."}).json()
        assert (begun["approved"], begun["state"]) == (0, "checking")
        assert set(begun["to_check"]) < set(preview["items"])
        for key in begun["to_check"]:
            checked = QueueItem.objects.get(pk=key).candidate
            candidate_approve(actor=cast.reviewer, candidate=checked)
        done = post("queue/bulk/?show=all", {"bulk": begun["bulk"]}).json()
        assert done["approved"] == len(preview["items"]) - len(begun["to_check"])
        assert done["state"] == "done"
        said = post("comments/", {"run": scene.run.pk, "body": "@second-reviewer done"})
        assert said.status_code == 201, said.json()
        other = client_as(cast.second_reviewer)
        kinds = {row["kind"] for row in other.get("/api/v1/notifications/").json()["results"]}
        assert kinds == {"mention", "handed_over"}
        assert other.post("/api/v1/notifications/read/").status_code == 204
        assert client_as(cast.outsider).get("/api/v1/queue/?show=all").json()["results"] == []
        assert client_as(cast.outsider).get("/api/v1/comments/").json()["results"] == []


def test_another_document_is_no_way_round_a_signature(cast: Cast, scene: Scene) -> None:
    """The rule holds for a comparison's joint decision as for any other."""
    from workbench.review.comparison import comparison_decide

    run = scene.run
    scene.comparison.runs.set([run])
    candidate = run.candidates.first()
    signed(run, cast.reviewer)
    with pytest.raises(Conflict, match="signed"):
        comparison_decide(
            actor=cast.reviewer,
            comparison=scene.comparison,
            candidate_id=candidate.candidate_id,
            role="primary",
        )
    assert make_document(collection=cast.alpha, owner=cast.analyst, name="b.txt").pk
