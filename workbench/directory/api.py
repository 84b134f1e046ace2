"""Roles of groups, as actions of a collection's address."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.models import MemberRole
from workbench.accounts.permissions import Permission
from workbench.api.base import KEY, Actions, checked
from workbench.api.conditions import created
from workbench.api.reauthentication import asks_again
from workbench.documents.selectors import collection_for

from .groups import group_role_add, group_role_remove, group_roles_of
from .models import MAX_NAME, GroupRole

_ROW = OpenApiParameter("row", OpenApiTypes.INT, OpenApiParameter.PATH, description="ID of the group role.")


class GroupRoleSerializer(serializers.ModelSerializer[GroupRole]):
    """A directory group and the role that its members hold in the collection."""

    class Meta:
        model = GroupRole
        fields = ["id", "group", "role", "created_at"]
        read_only_fields = fields


class GroupRoleCreateSerializer(serializers.Serializer[Any]):
    """A group, by its name in the directory, and a role."""

    group = serializers.CharField(max_length=MAX_NAME)
    role = serializers.ChoiceField(choices=MemberRole.choices)


class CollectionGroupActions(Actions):
    """Roles of groups in a collection. Auditors can read, admins can change them."""

    @extend_schema(methods=["GET"], responses=GroupRoleSerializer(many=True))
    @extend_schema(methods=["POST"], request=GroupRoleCreateSerializer, responses={201: GroupRoleSerializer})
    @action(detail=True, methods=["get", "post"], pagination_class=None)
    @asks_again
    def groups(self, request: Request, slug: str) -> Response:
        """GET lists directory groups and their roles. POST grants a role to a group; its members hold the role
        immediately. The caller must belong to the group or administer the installation, unless ``GROUP_ROLES_OPEN`` is
        set."""
        if request.method == "GET":
            collection = collection_for(user=request.user, slug=slug, permission=Permission.AUDIT)
            return Response(GroupRoleSerializer(group_roles_of(collection=collection), many=True).data)
        collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
        given = checked(request, GroupRoleCreateSerializer)
        row = group_role_add(actor=request.user, collection=collection, **given)
        row.refresh_from_db()
        return created(GroupRoleSerializer(row).data, at=reverse("api:collection-groups", args=[slug]))

    @extend_schema(parameters=[_ROW], request=None, responses={204: None})
    @action(detail=True, methods=["post"], url_path=f"groups/(?P<row>{KEY})/remove", url_name="group-remove")
    @asks_again
    def remove_group(self, request: Request, slug: str, row: str) -> Response:
        """Revokes the group's role."""
        collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
        group_role_remove(actor=request.user, collection=collection, pk=int(row))
        return Response(status=status.HTTP_204_NO_CONTENT)
