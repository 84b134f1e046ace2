"""The list of collections, and making one."""

from __future__ import annotations

from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs
from workbench.documents.models import Collection

ADDRESS = "/collections/"


def test_people_see_their_own(cast: Cast, client_as: ClientAs) -> None:
    for user in cast.members.values():
        page = client_as(user).get(ADDRESS).content.decode()
        assert "Alpha" in page
        assert "Beta" not in page


def test_its_maker_becomes_admin_and_analyst(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.annotator)
    answer = client.post(ADDRESS, {"name": "Month end"})
    collection = Collection.objects.get(name="Month end")
    assert answer["Location"] == collection.get_absolute_url()
    page = client.get(collection.get_absolute_url()).content.decode()
    assert reverse("documents:upload", args=[collection.slug]) in page
    assert reverse("accounts:people", args=[collection.slug]) in page


def test_a_taken_or_empty_name_is_refused_in_words(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.analyst)
    taken = client.post(ADDRESS, {"name": "Alpha"})
    assert taken.status_code == 200
    assert "already" in taken.content.decode()
    assert client.post(ADDRESS, {"name": ""}).context["form"].errors
    assert Collection.objects.count() == 2
