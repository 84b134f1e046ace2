"""SCIM 2.0 (RFC 7644): the doors through which a directory makes, changes and ends accounts and groups."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from pydantic import ValidationError
from rest_framework import exceptions, status
from rest_framework.parsers import JSONParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from scim2_models import (
    Context,
    Error,
    Group,
    ListResponse,
    PatchOp,
    ResourceType,
    Schema,
    SCIMException,
    SearchRequest,
    User,
)

from workbench.api.parsers import BoundedJSONParser
from workbench.errors import WorkbenchError
from workbench.infra.addresses import public_address

from .resources import CONFIGURATION, MOST_RESULTS, POLICY, Groups, Kind, People, matching
from .tokens import DirectoryTokenAuthentication

MEDIA_TYPE = "application/scim+json"
ROOT = "/scim/v2/"
#: Errors of services by SCIM's keyword.
_SCIM_TYPES = {
    "uniqueness": "uniqueness",
    "conflict": "uniqueness",
    "bad_email": "invalidValue",
    "name_missing": "invalidValue",
}


class ScimRenderer(JSONRenderer):
    """SCIM's own kind of JSON."""

    media_type = MEDIA_TYPE


class ScimParser(BoundedJSONParser):
    """The same, to a bounded depth."""

    media_type = MEDIA_TYPE


@extend_schema(exclude=True)
class ScimView(APIView):
    """What every door has in common: the token, the kind of JSON, and errors in SCIM's shape."""

    authentication_classes = [DirectoryTokenAuthentication]
    permission_classes = [IsAuthenticated]
    renderer_classes = [ScimRenderer, JSONRenderer]
    parser_classes: list[type[JSONParser]] = [ScimParser, BoundedJSONParser]
    kind: Kind | None = None

    def handle_exception(self, exc: Exception) -> Response:
        """As RFC 7644 has it in 3.12."""
        error, code = _error(exc)
        if error is None:
            return super().handle_exception(exc)
        headers = {"WWW-Authenticate": "Bearer"} if code == status.HTTP_401_UNAUTHORIZED else {}
        response = Response(error.model_dump(), status=code, headers=headers)
        response.exception = True
        return response

    @property
    def base(self) -> str:
        """Where addresses of resources begin."""
        return public_address(ROOT, self.request._request)


class ListView(ScimView):
    """All resources of a kind, and new ones."""

    kind: Kind

    def get(self, request: Request) -> Response:
        """Those that the filter keeps, from ``startIndex`` on."""
        asked = SearchRequest[self.kind.model].model_validate(  # type: ignore[name-defined]
            request.query_params.dict(), scim_policy=POLICY
        )
        rows = matching(self.kind, asked.filter)
        start = max(1, asked.start_index or 1)
        count = MOST_RESULTS if asked.count is None else max(0, min(asked.count, MOST_RESULTS))
        total = rows.count() if hasattr(rows, "query") else len(rows)
        page = [self.kind.shown(row, self.base) for row in rows[start - 1 : start - 1 + count]]
        return _listed(self.kind.model, page, total=total, start=start, asked=asked)

    def post(self, request: Request) -> Response:
        """Makes one."""
        given = self.kind.model.model_validate(
            request.data, scim_ctx=Context.RESOURCE_CREATION_REQUEST, scim_policy=POLICY
        )
        row = self.kind.make(given)
        return _one(self, row.pk, Context.RESOURCE_CREATION_RESPONSE, code=status.HTTP_201_CREATED)


class ItemView(ScimView):
    """One resource."""

    kind: Kind

    def get(self, request: Request, pk: int) -> Response:
        """As it is."""
        return _one(self, pk, Context.RESOURCE_QUERY_RESPONSE)

    def put(self, request: Request, pk: int) -> Response:
        """Replaces it."""
        given = self.kind.model.model_validate(
            request.data, scim_ctx=Context.RESOURCE_REPLACEMENT_REQUEST, scim_policy=POLICY
        )
        self.kind.change(self._row(pk), given)
        return _one(self, pk, Context.RESOURCE_REPLACEMENT_RESPONSE)

    @transaction.atomic
    def patch(self, request: Request, pk: int) -> Response:
        """Changes parts of it, all of them or none."""
        operations = PatchOp[self.kind.model].model_validate(  # type: ignore[name-defined]
            _removed_by_key(request.data), scim_ctx=Context.RESOURCE_PATCH_REQUEST, scim_policy=POLICY
        )
        # Two patches of one group at once would each begin from the members before the other's.
        get_object_or_404(self.kind.rows().select_for_update(of=("self",)), pk=pk)
        row = self._row(pk)
        resource = self.kind.shown(row, self.base)
        operations.patch(resource, scim_policy=POLICY)
        self.kind.change(row, resource)
        return _one(self, pk, Context.RESOURCE_PATCH_RESPONSE)

    def delete(self, request: Request, pk: int) -> Response:
        """Ends it; nothing is erased."""
        self.kind.withdraw(self._row(pk))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _row(self, pk: int) -> Any:
        return get_object_or_404(self.kind.rows(), pk=pk)


class ConfigurationView(ScimView):
    """What this service can do."""

    def get(self, request: Request) -> Response:
        """As RFC 7643 has it in 5."""
        return Response(CONFIGURATION.model_dump())


class SchemasView(ScimView):
    """The schemas in use, or one of them."""

    def get(self, request: Request, pk: str = "") -> Response:
        """All, or the one with this name."""
        return _described(Schema, [User.to_schema(), Group.to_schema()], pk)


class ResourceTypesView(ScimView):
    """The kinds of resources, or one of them."""

    def get(self, request: Request, pk: str = "") -> Response:
        """All, or the one with this name."""
        return _described(ResourceType, [ResourceType.from_resource(model) for model in (User, Group)], pk)


PEOPLE, GROUPS = People(), Groups()


def _one(view: ScimView, pk: int, context: Context, *, code: int = status.HTTP_200_OK) -> Response:
    assert view.kind is not None
    asked = SearchRequest[view.kind.model].model_validate(  # type: ignore[name-defined]
        {name: view.request.query_params[name] for name in _PICKED if name in view.request.query_params}
    )
    shown = view.kind.shown(get_object_or_404(view.kind.rows(), pk=pk), view.base)
    headers = {"Location": str(shown.meta.location)}
    return Response(
        shown.model_dump(scim_ctx=context, response_parameters=asked), status=code, headers=headers
    )


def _removed_by_key(data: Any) -> Any:
    """A PATCH whose removals name members by key alone. Entra sends ``"$ref": null`` beside the key, others a name that
    has changed since: every word would have to match, and the member would stay."""
    operations = data.get("Operations") if isinstance(data, dict) else None
    if not isinstance(operations, list):
        return data
    return data | {"Operations": [_by_key(operation) for operation in operations]}


def _by_key(operation: Any) -> Any:
    if not isinstance(operation, dict) or str(operation.get("op")).lower() != "remove":
        return operation
    value = operation.get("value")
    if not isinstance(value, list):
        return operation
    return operation | {
        "value": [
            {"value": one["value"]} if isinstance(one, dict) and "value" in one else one for one in value
        ]
    }


_PICKED = ("attributes", "excludedAttributes")


def _listed(
    model: type[Any], resources: list[Any], *, total: int, start: int = 1, asked: Any = None
) -> Response:
    answer = ListResponse[model](  # type: ignore[valid-type]
        total_results=total, start_index=start, items_per_page=len(resources), resources=resources
    )
    shown = answer.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=asked)
    return Response(shown)


def _described(model: type[Any], every: list[Any], pk: str) -> Response:
    if not pk:
        return _listed(model, every, total=len(every))
    for one in every:
        if str(one.id) == pk:
            return Response(one.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE))
    raise Http404


def _error(exc: Exception) -> tuple[Error | None, int]:
    """The error in SCIM's shape; None for one that nobody foresaw."""
    match exc:
        case ValidationError():
            error = Error.from_validation_errors(exc)[0]
        case SCIMException():
            error = exc.to_error()
        case WorkbenchError():
            error = Error(status=exc.status, scim_type=_SCIM_TYPES.get(exc.code), detail=exc.message)
        case Http404():
            error = Error(status=404, detail="There is no such resource.")
        case exceptions.ParseError():
            error = Error(status=400, scim_type="invalidSyntax", detail=str(exc.detail))
        case exceptions.APIException():
            error = Error(status=exc.status_code, detail=str(exc.detail))
        case _:
            return None, 500
    return error, int(error.status or 400)
