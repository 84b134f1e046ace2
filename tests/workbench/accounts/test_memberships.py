"""Where a person may do what, by key: the same as the filter says, and asked once a request."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.functional import SimpleLazyObject

from tests.workbench.cast import Cast
from workbench.accounts.memberships import roles_by_collection
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, collections_with
from workbench.documents.models import Collection


@pytest.mark.parametrize("permission", Permission)
def test_keys_are_those_of_the_filter(cast: Cast, permission: Permission) -> None:
    for user in (*cast.members.values(), cast.staff):
        visible = Collection.objects.visible_to(user, permission).values_list("pk", flat=True)
        assert collections_with(user=user, permission=permission) == sorted(visible), user


def test_a_token_and_an_ended_account_carry_no_more_than_they_may(cast: Cast) -> None:
    user = cast.reviewer
    user.token_scopes = [Permission.VIEW]
    assert collections_with(user=user, permission=Permission.REVIEW) == []
    assert collections_with(user=user, permission=Permission.VIEW) == [cast.alpha.pk]

    ended = User.objects.get(pk=cast.analyst.pk)
    ended.is_active = False
    assert collections_with(user=ended, permission=Permission.VIEW) == []


def test_the_system_passes_everywhere(db: None) -> None:
    assert collections_with(user=User.objects.system(), permission=Permission.REVIEW) is None


def test_only_the_user_of_a_request_remembers(cast: Cast) -> None:
    of_request = SimpleLazyObject(lambda: User.objects.get(pk=cast.reviewer.pk))
    for user, queries in ((of_request, 0), (cast.reviewer, 1)):
        roles_by_collection(user=user)
        with CaptureQueriesContext(connection) as captured:
            assert roles_by_collection(user=user) == {cast.alpha.pk: frozenset({"reviewer"})}
        assert len(captured) == queries
