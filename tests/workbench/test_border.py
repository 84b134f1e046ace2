"""Nothing of a collection reaches a person outside it: every address of the product is asked.

The addresses come from the URL map itself, so that a new one is covered by being there. An address whose arguments
this test cannot fill fails it: say here what it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import any_pair, any_project, any_slot
from tests.workbench.models_registry.makers import any_model, any_training
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene
from workbench.accounts.models import User

ClientAs = Callable[[User | None], Client]

#: Parts of the map that belong to other packages and hold nothing of a collection.
FOREIGN = ("admin", "account", "mfa", "allauth")
#: Objects that only their own address needs, made when it is asked.
MADE: dict[str, Callable[[Scene], object]] = {
    "api:signature-detail": lambda scene: signed(scene.run).pk,
    "review:view-delete": lambda scene: saved_view(scene),
    "api:comment-detail": lambda scene: a_comment(scene),
    "labeling:answer": lambda scene: any_slot(scene.document).pk,
    "labeling:pass": lambda scene: any_slot(scene.document).pk,
    "labeling:release": lambda scene: any_slot(scene.document).pk,
    "labeling:dispute": lambda scene: any_pair(scene.document).pk,
    **{
        f"labeling:{name}": lambda scene: any_project(scene.document).pk
        for name in ("project", "fill", "elusion", "guidelines", "import", "open", "work", "undo")
    },
    "models:label": lambda scene: scene.run.reviews.get(label__isnull=False).label.pk,
    "models:version": lambda scene: any_model().number,
    "models:roll-back": lambda scene: any_model().number,
    "models:shadow": lambda scene: any_model().number,
    "models:training": lambda scene: any_training().pk,
    "models:progress": lambda scene: any_training().pk,
    "models:cancel": lambda scene: any_training().pk,
}
#: A model belongs to the installation and is read by members of any collection; what its pages show of a
#: collection is filtered, which the test of words holds.
OF_THE_INSTALLATION = {name for name in MADE if name.startswith("models:")} - {"models:label"}


def a_comment(scene: Scene) -> int:
    """Words on the run."""
    from workbench.review.comments import comment_add

    return comment_add(actor=scene.run.requested_by, run=scene.run, body="Look at this.").comment.pk


def saved_view(scene: Scene) -> int:
    """A view of the collection's admin: each person has their own."""
    from workbench.review.models import SavedView

    admin = User.objects.get(memberships__collection=scene.document.collection, memberships__role="admin")
    return SavedView.objects.get_or_create(user=admin, name="Mine")[0].pk


#: Addresses without arguments that speak of no collection or show each person only their own.
OWN_OR_PUBLIC = {"healthz", "readyz"}


@dataclass(frozen=True, slots=True)
class Address:
    """One entry of the URL map."""

    name: str
    route: str
    arguments: tuple[str, ...]


def addresses(resolver: URLResolver | None = None, prefix: str = "", space: str = "") -> Iterator[Address]:
    """Every named address of our own."""
    resolver = resolver or get_resolver()
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            name = ":".join(part for part in (space, entry.namespace or "") if part)
            if (entry.app_name or "") not in FOREIGN and not route.startswith("accounts/"):
                yield from addresses(entry, route, name)
        elif isinstance(entry, URLPattern) and not route.startswith("accounts/"):
            yield Address(f"{space}:{entry.name}" if space else str(entry.name), route, _arguments(entry))


def _arguments(entry: URLPattern) -> tuple[str, ...]:
    return tuple(entry.pattern.regex.groupindex)


def fill(address: Address, scene: Scene) -> dict[str, object] | None:
    """Arguments that name an object of the scene; None for an address without any."""
    names = set(address.arguments) - {"format"}
    if not names:
        return None
    run = scene.run
    item = run.queue_items.order_by("id").first()
    candidate = run.candidates.first()
    review = run.reviews.first()
    by_space: dict[str, object] = {
        "accounts:": scene.run.requested_by_id,
        "documents:": scene.document.pk,
        "questions:evidence": candidate.pk,
        "questions:comparison": scene.comparison.pk,
        "question_sets:set": scene.round.question_set_id,
        "question_sets:change": scene.round.question_set_id,
        "question_sets:start": scene.round.question_set_id,
        "question_sets:retry": scene.round.cells.first().pk,
        "question_sets:": scene.round.pk,
        "questions:": run.pk,
        "vocabulary:": scene.entry.pk,
        "ops:run-retry": run.pk,
        "tokens:": _token_of(scene.entry.proposed_by),
        "review:approve": candidate.pk,
        "review:override": candidate.pk,
        "review:unsure": candidate.pk,
        "review:not-found": run.pk,
        "review:sign": run.pk,
        "review:reopen": run.pk,
        "review:documents": run.pk,
        "review:lines": run.pk,
        "review:regenerate": run.pk,
        "review:against": run.pk,
        "review:receipt": candidate.pk,
        "review:comment": run.pk,
        "review:as-of": run.pk,
        "review:choose": candidate.pk,
        "review:adjudicate": candidate.pk,
        "review:undo": candidate.pk,
        "review:": item.pk,
        "api:document": scene.document.pk,
        "api:queue": item.pk,
        "api:run": run.pk,
        "api:vocabulary": scene.entry.pk,
        "api:question-set": scene.round.question_set_id,
        "api:round": scene.round.pk,
        "api:cell": scene.round.cells.first().pk,
        "api:comparison": scene.comparison.pk,
        "api:evaluation": _evaluation(),
        "api:candidate": candidate.pk,
        "api:review": review.pk if review else None,
    }
    key = next((value for start, value in by_space.items() if address.name.startswith(start)), None)
    if address.name in MADE:
        key = MADE[address.name](scene)
    known = {
        "slug": scene.document.collection.slug,
        "pk": key,
        "page_num": 1,
        "kind": "csv",
        "document": scene.document.pk,
    }
    missing = [name for name in names if known.get(name) is None]
    assert not missing, f"say in tests/workbench/test_border.py what {missing} of {address.name} names"
    return {name: known[name] for name in names}


def _evaluation() -> int:
    """An evaluation of strategies on a labelled set."""
    from workbench.questions.models import EvaluationRun

    return EvaluationRun.objects.get_or_create(dataset="set", defaults={"report": {}, "seconds": 1})[0].pk


def _token_of(user: User) -> int:
    """A token of somebody in alpha."""
    from workbench.api.models import ApiToken
    from workbench.api.tokens import token_create

    token = ApiToken.objects.filter(owner=user, revoked_at__isnull=True).first()
    return (token or token_create(actor=user, name="job", scopes=["view"], days=1)[0]).pk


def path_of(address: Address, scene: Scene) -> str:
    """The address as a path."""
    from django.urls import reverse

    return reverse(address.name, kwargs=fill(address, scene))


ALL = [a for a in addresses() if "format" not in a.arguments]
#: Figures of the strategies belong to no collection: everybody signed in reads them.
OF_NO_COLLECTION = {"api:evaluation-detail"}
OBJECTS = [a for a in ALL if a.arguments and a.name not in OF_NO_COLLECTION]
OF_A_COLLECTION = [a for a in OBJECTS if a.name not in OF_THE_INSTALLATION]


@pytest.mark.parametrize("address", OF_A_COLLECTION, ids=lambda a: a.name)
def test_an_outsider_sees_no_object(address: Address, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.outsider)
    path = path_of(address, scene)
    for method in ("get", "post", "delete", "put", "patch"):
        response = getattr(client, method)(path)
        assert response.status_code in {404, 405}, f"{method} {path}: {response.status_code}"
        assert b"access records" not in response.content.lower()
    assert 404 in {client.get(path).status_code, client.post(path).status_code}


@pytest.mark.parametrize("address", ALL, ids=lambda a: a.name)
def test_an_outsider_finds_none_of_its_words_anywhere(
    address: Address, cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    response = client_as(cast.outsider).get(path_of(address, scene))
    body = b"".join(response.streaming_content) if response.streaming else response.content
    for secret in (b"twenty-four", b"How long are access", b"policy.txt", b"Alpha"):
        assert secret not in body, f"{path_of(address, scene)} shows {secret!r}"


@pytest.mark.parametrize("address", ALL, ids=lambda a: a.name)
def test_a_stranger_is_sent_to_the_door(
    address: Address, client_as: ClientAs, cast: Cast, scene: Scene
) -> None:
    if address.name in OWN_OR_PUBLIC:
        return
    response = client_as(None).get(path_of(address, scene))
    assert response.status_code in {302, 401, 403, 405}, f"{address.name}: {response.status_code}"
    if response.status_code == 302:
        assert response["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("address", OBJECTS, ids=lambda a: a.name)
def test_a_member_gets_further(address: Address, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    """The 404 of outsiders means something only where members do not get it."""
    from workbench.accounts.models import MemberRole, Membership

    for role in MemberRole:
        Membership.objects.get_or_create(user=cast.admin, collection=cast.alpha, role=role)
    client = client_as(cast.admin)
    statuses = {
        client.get(path_of(address, scene)).status_code,
        client.post(path_of(address, scene)).status_code,
    }
    if address.name == "documents:page-image":  # a text document has no page image
        return
    assert statuses != {404}, address.name
