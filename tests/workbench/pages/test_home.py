"""Home: what waits for whom."""

from __future__ import annotations

from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs
from tests.workbench.scene import Scene
from workbench.documents.models import DocumentStatus
from workbench.review.models import QueueItem
from workbench.review.queue import queue_claim_next
from workbench.runs.models import Run


def stats(client_as: ClientAs, user: object) -> dict[str, dict[str, object]]:
    page = client_as(user).get(reverse("home"))  # type: ignore[arg-type]
    assert page.status_code == 200
    return {str(stat["label"]): stat for stat in page.context["stats"]}


def test_a_reviewer_sees_what_to_decide_and_what_they_hold(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    waiting = QueueItem.objects.filter(collection=cast.alpha, state="waiting", is_required=True).count()
    assert waiting > 0
    queue_claim_next(actor=cast.reviewer)
    shown = stats(client_as, cast.reviewer)["verdicts to decide"]
    assert (shown["value"], shown["hint"]) == (waiting, "1 held by you")
    assert shown["url"] == reverse("review:queue")


def test_a_reviewer_starts_from_home_with_one_key(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    page = client_as(cast.reviewer).get(reverse("home")).content.decode()
    start = page[page.index(f'action="{reverse("review:next")}"') :]
    assert 'data-key="x"' in start[: start.index("</form>")]
    assert reverse("review:next") not in client_as(cast.analyst).get(reverse("home")).content.decode()


def test_an_analyst_sees_uploads_that_failed_and_questions_answered(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    scene.document.status, scene.document.failure_reason = DocumentStatus.FAILED, "broken"
    scene.document.save(update_fields=["status", "failure_reason"])
    shown = stats(client_as, cast.analyst)
    assert shown["documents that failed"]["value"] == 1
    assert shown["documents that failed"]["warn"] is True
    assert shown["documents that failed"]["url"] == "/collections/alpha/?status=failed"
    answered = Run.objects.filter(requested_by=cast.analyst, status="done").count()
    assert shown["of your questions answered"]["value"] == answered > 0
    listed = client_as(cast.analyst).get(shown["of your questions answered"]["url"])
    assert len(listed.context["page"].items) == answered
    assert "verdicts to decide" not in shown


def test_runs_say_how_much_is_left_to_decide(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    open_items = scene.run.queue_items.filter(state="waiting", is_required=True).count()
    recent = client_as(cast.auditor).get(reverse("home")).context["recent"]
    assert next(run.open_required for run in recent if run.pk == scene.run.pk) == open_items


def test_nobody_else_is_counted_in(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    shown = stats(client_as, cast.outsider)
    assert {stat["value"] for stat in shown.values()} == {0}
    assert "access records" not in client_as(cast.outsider).get(reverse("home")).content.decode().lower()


def test_a_person_without_a_collection_is_told_what_to_do(cast: Cast, client_as: ClientAs) -> None:
    page = client_as(cast.staff).get(reverse("home")).content.decode()
    assert "Ask an admin to add you" in page


def test_who_has_asked_nothing_is_led_to_a_first_question(cast: Cast, client_as: ClientAs) -> None:
    from workbench.documents.models import Collection

    Collection.objects.filter(pk=cast.alpha.pk).update(slug="demo")
    page = client_as(cast.analyst).get(reverse("home"))
    questions = page.context["first_questions"]
    assert len(questions) == 3
    form = client_as(cast.analyst).get(questions[0].url)
    assert questions[0].text in form.content.decode()
    for nobody in (cast.auditor, cast.outsider):
        assert client_as(nobody).get(reverse("home")).context["first_questions"] == []


def test_the_guide_goes_with_the_first_question(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    from workbench.documents.models import Collection

    Collection.objects.filter(pk=cast.alpha.pk).update(slug="demo")
    assert client_as(cast.analyst).get(reverse("home")).context["first_questions"] == []
