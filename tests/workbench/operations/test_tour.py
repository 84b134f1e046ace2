"""The tour of a first login: seven pages for everybody, once."""

from __future__ import annotations

from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs
from workbench.accounts.models import User
from workbench.operations.tour import STEPS


def test_it_leads_through_seven_pages_and_is_never_offered_again(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.reviewer)
    assert "Start tour" in client.get("/").content.decode()
    for number in range(1, 8):
        page = client.get(reverse("ops:tour", args=[number])).content.decode()
        assert f"Tour, step {number} of 7" in page
        assert ('rel="next"' in page) == (number < 7)
        assert ('rel="prev"' in page) == (number > 1)
        assert page.count('aria-current="step"') == 1
        assert str(STEPS[number - 1].title) in page
    assert client.get(reverse("ops:tour", args=[8])).status_code == 404
    assert client.post(reverse("ops:tour-end")).status_code == 302
    ended = User.objects.get(pk=cast.reviewer.pk).tour_ended_at
    assert ended is not None
    assert "Start tour" not in client.get("/").content.decode()
    client.post(reverse("ops:tour-end"))
    assert User.objects.get(pk=cast.reviewer.pk).tour_ended_at == ended


def test_it_is_each_persons_own_and_leads_only_where_one_may_go(cast: Cast, client_as: ClientAs) -> None:
    client_as(cast.reviewer).post(reverse("ops:tour-end"))
    auditor = client_as(cast.auditor)
    assert "Start tour" in auditor.get("/").content.decode()
    asking = auditor.get(reverse("ops:tour", args=[3])).content.decode()
    assert "Open Ask" not in asking
    assert "Open Ask" in client_as(cast.analyst).get(reverse("ops:tour", args=[3])).content.decode()
