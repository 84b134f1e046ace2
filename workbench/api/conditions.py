"""``ETag`` on reads, ``If-Match`` on changes and ``Location`` of new resources, for all viewsets.

A tag is a hash of the response as shown to this caller, and of nothing else. What is hidden from them (a role on a
blind card) is not in the response, so changing it leaves the tag alone.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from zlib import crc32

from django.db import transaction
from django.urls import reverse
from django.utils.http import parse_etags
from django.utils.translation import gettext as _
from rest_framework import status
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request, clone_request
from rest_framework.response import Response

from workbench.audit.locks import LockSpace, advisory_lock
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from rest_framework.viewsets import GenericViewSet

    View = GenericViewSet[Any]
Handler = Callable[..., Response]

_MADE = (status.HTTP_201_CREATED, status.HTTP_202_ACCEPTED)


class ChangedSince(WorkbenchError):
    """The object has changed since the caller read it."""

    status = status.HTTP_412_PRECONDITION_FAILED
    code = "changed_since"


def address_of_object(route: str, key: object) -> str:
    """The path of an object in the API. ``route`` is its name in the router, such as ``run``."""
    return reverse(f"api:{route}-detail", args=[key])


def created(body: Any, *, at: str, code: int = status.HTTP_201_CREATED) -> Response:
    """The response to a request that created a resource with path ``at``."""
    return Response(body, status=code, headers={"Location": at})


def completed(view: View, request: Request, response: Response) -> Response:
    """The response with its ``Location`` or ``ETag``; 304 if the caller has this version already."""
    if request.method == "POST":
        _locate(view, response)
    elif is_versioned(view) and response.status_code == status.HTTP_200_OK and response.data is not None:
        tag = _tag_of(response.data)
        response["ETag"] = tag
        if not {tag, "*"}.isdisjoint(_tags(request.headers.get("If-None-Match", ""))):
            response.status_code, response.data = status.HTTP_304_NOT_MODIFIED, None
    return response


def is_versioned(view: View) -> bool:
    """Whether the action reads a single resource. Pages of lists have no version, because they change with every
    addition."""
    return view.action != "list"


def reading_action(view: View) -> str | None:
    """The action that reads what this one changes: a GET of the same address, else of the object itself."""
    same = (view.action_map or {}).get("get")
    if same is not None:
        return same if same != "list" else None
    return "retrieve" if view.detail and hasattr(view, "retrieve") else None


def when_unchanged(view: View, handler: Handler, request: Request, *args: Any, **kwargs: Any) -> Response:
    """Executes the change if the caller's ``If-Match`` names the current version.

    Raises :class:`ChangedSince`. Requests with ``If-Match`` for the same object run one after another, so that the
    second of two is refused.
    """
    wanted = _tags(request.headers["If-Match"])
    name = reading_action(view)
    if name is None:
        raise ChangedSince(_("This address has no version to compare. Omit If-Match."))
    with transaction.atomic():
        one = f"{view.basename} {kwargs.get(view.lookup_field, '')}"
        advisory_lock(LockSpace.API_OBJECT, crc32(one.encode()))
        now = _read(view, name, request, *args, **kwargs)
        if "*" not in wanted and _tag_of(now.data) not in wanted:
            raise ChangedSince(
                _("This has changed since you read it. Read it again, then repeat your change.")
            )
        return handler(request, *args, **kwargs)


def _read(view: View, name: str, request: Request, *args: Any, **kwargs: Any) -> Response:
    reader = copy.copy(view)
    reader.action = name
    reader.request = clone_request(request, "GET")
    answer: Response = getattr(reader, name)(reader.request, *args, **kwargs)
    return answer


def _locate(view: View, response: Response) -> None:
    """Adds the location of an object created at the address of its list. Other actions use :func:`created`."""
    if response.status_code not in _MADE or "Location" in response or view.action != "create":
        return
    field = "id" if view.lookup_field == "pk" else view.lookup_field
    if hasattr(view, "retrieve") and isinstance(response.data, Mapping) and field in response.data:
        response["Location"] = address_of_object(str(view.basename), response.data[field])


def _tag_of(data: Any) -> str:
    return f'"{hashlib.sha256(JSONRenderer().render(data)).hexdigest()[:32]}"'


def _tags(header: str) -> list[str]:
    """The tags of a header. Compression turns a tag into a weak one, but the version is the same."""
    return [tag.removeprefix("W/") for tag in parse_etags(header)]
