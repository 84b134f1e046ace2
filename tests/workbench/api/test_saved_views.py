"""Saved views of the queue by the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import queries_of
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.review.filters import QueueFilter
from workbench.review.models import SavedView
from workbench.review.saved_views import view_save

ClientAs = Callable[[User | None], Client]
VIEWS = "/api/v1/saved-views/"
OLD = {"name": "Old ones", "filters": {"show": "all", "age": "7"}}


def post(client: Client, path: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
    return client.post(path, body or {}, content_type="application/json", headers=headers)


def test_a_view_is_kept_read_and_forgotten(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.reviewer)
    made = post(client, VIEWS, OLD)
    assert (made.status_code, made.json()["query"]) == (201, "show=all&age=7")
    assert made.json()["filters"]["age"] == "7"
    assert client.get(VIEWS).json()["results"] == [made.json()]
    one = f"{VIEWS}{made.json()['id']}/"
    assert client.get(one).json() == made.json()
    assert "Old ones" in client.get("/queue/").content.decode(), "it is the page's"

    assert post(client, f"{one}remove/").status_code == 204
    assert client.get(one).status_code == 404
    assert client.get(VIEWS).json()["results"] == []


def test_the_same_name_stands_for_the_new_filter(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.reviewer)
    first = post(client, VIEWS, OLD).json()
    again = post(client, VIEWS, {"name": " Old ones ", "filters": first["filters"] | {"age": "30"}})
    assert (again.status_code, again.json()["id"], again.json()["query"]) == (
        200,
        first["id"],
        "show=all&age=30",
    )


def test_a_view_is_ones_own(cast: Cast, client_as: ClientAs) -> None:
    made = post(client_as(cast.reviewer), VIEWS, OLD).json()
    other = client_as(cast.second_reviewer)
    assert other.get(VIEWS).json()["results"] == []
    assert other.get(f"{VIEWS}{made['id']}/").status_code == 404
    assert post(other, f"{VIEWS}{made['id']}/remove/").status_code == 404
    assert post(other, VIEWS, OLD).status_code == 201, "a name is taken for oneself alone"
    assert SavedView.objects.count() == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 61}, "name"),
        ({"filters": None}, "filters"),
        ({"filters": "age=7"}, "filters"),
        ({"filters": {"stages": "second"}}, "filters"),
        ({"filters": {"age": ["7"]}}, "filters"),
        ({"filters": {"document": "x" * 201}}, "filters"),
    ],
)
def test_nonsense_is_refused_by_its_field(
    changes: dict[str, Any], field: str, cast: Cast, client_as: ClientAs
) -> None:
    refused = post(client_as(cast.reviewer), VIEWS, OLD | changes)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    assert list(refused.json()["errors"]) == [field]
    assert not SavedView.objects.exists()


def test_an_unknown_filter_is_told_which_there_are(cast: Cast, client_as: ClientAs) -> None:
    refused = post(client_as(cast.reviewer), VIEWS, {"name": "x", "filters": {"stages": "second"}}).json()
    assert "stage, why, role" in refused["errors"]["filters"]["stages"][0]


def test_a_filter_is_kept_whole_or_not_at_all(cast: Cast, client_as: ClientAs) -> None:
    """It was cut where the column ends, in the middle of a word or of what stands for a letter."""
    client = client_as(cast.reviewer)
    refused = post(client, VIEWS, {"name": "Long", "filters": {"document": "ñ" * 100}})
    assert (refused.status_code, refused.json()["code"]) == (400, "filter_too_long")
    page = client.post("/queue/views/", {"name": "Long", "query": f"document={'ñ' * 100}"}, follow=True)
    assert "too long to be kept" in page.content.decode()
    assert not SavedView.objects.exists()


def test_a_token_needs_the_scope_to_review(cast: Cast, client: Client) -> None:
    view, _is_new = view_save(user=cast.reviewer, name="Mine", filters=QueueFilter(age="7"))
    for scope, seen, code in ((Permission.VIEW, 0, 403), (Permission.REVIEW, 1, 201)):
        _token, key = token_create(actor=cast.reviewer, name="job", scopes=[scope], days=1)
        bearer = {"Authorization": f"Bearer {key}"}
        assert len(client.get(VIEWS, headers=bearer).json()["results"]) == seen
        assert client.get(f"{VIEWS}{view.pk}/", headers=bearer).status_code == (200 if seen else 404)
        assert post(client, VIEWS, OLD, **bearer).status_code == code
        assert post(client, f"{VIEWS}{view.pk}/remove/", **bearer).status_code == (204 if seen else 404)


def test_the_same_request_again_answers_the_same(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.reviewer)
    first, second = (post(client, VIEWS, OLD, **{"Idempotency-Key": "k"}) for _ in "12")
    assert (first.status_code, second.status_code, second.json()) == (201, 201, first.json())


def test_the_list_takes_as_many_queries_whatever_it_holds(cast: Cast, client_as: ClientAs) -> None:
    few = queries_of(client_as(cast.reviewer), VIEWS)
    for number in range(60):
        view_save(user=cast.reviewer, name=f"View {number}", filters=QueueFilter(age="7"))
    assert queries_of(client_as(cast.reviewer), VIEWS) <= few <= 10
    page = client_as(cast.reviewer).get(VIEWS).json()
    assert len(page["results"]) == 50
    assert page["next"]
