"""A period's report for an audit committee: true figures, the same on the page, by the API and in the files."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.exports.test_exports import made, pdf_text
from tests.workbench.pages.conftest import ClientAs
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene
from workbench.errors import NotAllowed
from workbench.exports.period_figures import PeriodFigures, period_figures
from workbench.exports.services import period_report
from workbench.review.models import QueueItem, Review
from workbench.review.services import candidate_override, candidate_undo
from workbench.runs.models import Run

ERA = {"since": datetime(2020, 1, 1, tzinfo=UTC), "until": datetime(2100, 1, 1, tzinfo=UTC)}
DAYS = {"first": "2020-01-01", "last": "2099-12-31"}


def figures(cast: Cast) -> PeriodFigures:
    return period_figures(collection=cast.alpha, **ERA)


def test_it_counts_what_stands(cast: Cast, scene: Scene) -> None:
    before = figures(cast)
    assert before.asked == Run.objects.filter(collection=cast.alpha).count()
    assert before.decided == Review.objects.filter(run__collection=cast.alpha).count()
    assert before.overridden == 0

    candidate = scene.run.candidates.filter(verdict__role="discarded").first()
    candidate_override(actor=cast.reviewer, candidate=candidate, role="primary", reason_code="wrong_role")
    after = figures(cast)
    assert (after.decided, after.overridden) == (before.decided + 1, 1)
    assert after.override_share.value == pytest.approx(1 / after.decided)
    candidate_undo(actor=cast.reviewer, candidate=candidate)
    assert figures(cast).overridden == 0

    signed(scene.run)
    assert figures(cast).signed == 1
    outside = period_figures(
        collection=cast.alpha, since=ERA["since"], until=datetime(2020, 2, 1, tzinfo=UTC)
    )
    assert (outside.asked, outside.decided, outside.signed) == (0, 0, 0)
    assert outside.override_share.value is None


def test_a_card_that_waits_blind_is_not_counted(cast: Cast, scene: Scene) -> None:
    """A second review is given without sight of the first decision, so no figure tells of it meanwhile."""
    before = figures(cast).decided
    decided = scene.run.reviews.filter(candidate__isnull=False).first()
    QueueItem.objects.filter(candidate=decided.candidate).update(
        state="waiting", stage="second", first_reviewer=decided.reviewer, decided_at=None
    )
    assert figures(cast).decided == before - 1


def test_page_api_and_files_say_the_same(
    cast: Cast, scene: Scene, client_as: ClientAs, django_assert_max_num_queries: object
) -> None:
    signed(scene.run)
    client = client_as(cast.auditor)
    with django_assert_max_num_queries(24):  # type: ignore[operator]
        page = client.get(reverse("exports:report"), {"collection": cast.alpha.pk, **DAYS})
    assert "Questions asked" in page.content.decode()
    told = client.get("/api/v1/period-reports/", {"collection": cast.alpha.slug, **DAYS}).json()
    assert told["asked"] == figures(cast).asked
    assert told["signed"] == 1

    export = period_report(actor=cast.auditor, collection=cast.alpha, **ERA)
    files = made(export)
    names = {name.rsplit(".", 1)[-1] for name in files}
    assert names == {"html", "pdf", "docx", "sha256"}
    (pdf,) = (content for name, content in files.items() if name.endswith(".pdf"))
    assert "Share overridden" in pdf_text(pdf)
    assert "How long are access records kept?" in pdf_text(pdf)


def test_only_who_audits_gets_it(cast: Cast, scene: Scene, client_as: ClientAs) -> None:
    for person in (cast.analyst, cast.reviewer, cast.annotator, cast.outsider):
        with pytest.raises(NotAllowed):
            period_report(actor=person, collection=cast.alpha, **ERA)
        page = client_as(person).get(reverse("exports:report"), {"collection": cast.alpha.pk, **DAYS})
        assert "Questions asked" not in page.content.decode()
        api = client_as(person).get("/api/v1/period-reports/", {"collection": cast.alpha.slug, **DAYS})
        assert api.status_code == 404
