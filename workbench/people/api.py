"""The people of a collection and their roles, as actions of its address: what the page of people offers."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.models import MemberRole, User
from workbench.accounts.permissions import Permission
from workbench.accounts.selectors import member_for, members_of, person_now, roles_here
from workbench.api.base import KEY, Actions, ApiViewSet, checked
from workbench.api.conditions import created
from workbench.api.reauthentication import asks_again
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for
from workbench.infra.addresses import public_address

from .services import invitation_send, language_choose, membership_grant, membership_revoke, user_invite

PERSON = OpenApiParameter(
    "person", OpenApiTypes.INT, OpenApiParameter.PATH, description="ID of a member of the collection."
)
_ONE = f"people/(?P<person>{KEY})"


class PersonSerializer(serializers.ModelSerializer[User]):
    """A member and their roles in the collection. ``is_waiting`` until a password is set.
    ``is_active`` is false for a deactivated account."""

    roles = serializers.SerializerMethodField()
    is_waiting = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields = ["id", "name", "email", "roles", "is_waiting", "is_active"]
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(choices=MemberRole.choices)))
    def get_roles(self, user: User) -> list[str]:
        """Those held here."""
        return roles_here(user)

    def get_is_waiting(self, user: User) -> bool:
        """Invited, no password set yet."""
        return user.is_waiting


class MemberRoleSerializer(serializers.Serializer[Any]):
    """A role."""

    role = serializers.ChoiceField(choices=MemberRole.choices)


class MemberRoleTakenSerializer(MemberRoleSerializer):
    """A role, and the reason for revoking it."""

    reason = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class InvitationSerializer(MemberRoleSerializer):
    """E-mail address and role of the person. ``name`` is only used for a new account."""

    email = serializers.EmailField(max_length=254)
    name = serializers.CharField(max_length=120, required=False, default="", allow_blank=True)


class CollectionPeopleActions(Actions):
    """The members of a collection and their roles. Auditors can read, admins can change them."""

    @extend_schema(methods=["GET"], responses=PersonSerializer(many=True))
    @extend_schema(
        methods=["POST"],
        request=InvitationSerializer,
        responses={201: PersonSerializer},
    )
    @action(detail=True, methods=["get", "post"])
    @asks_again
    def people(self, request: Request, slug: str) -> Response:
        """GET lists the members, newest account first. POST grants a role by e-mail address. New people get an account
        and an invitation to set a password. One person can send 30 invitations an hour and gets three a day."""
        if request.method == "GET":
            collection = collection_for(user=request.user, slug=slug, permission=Permission.AUDIT)
            members = self.paginate_queryset(members_of(collection=collection))
            return self.get_paginated_response(PersonSerializer(members, many=True).data)
        collection = _managed(request, slug)
        membership = user_invite(
            actor=request.user,
            collection=collection,
            build_url=partial(public_address, request=request._request),
            **checked(request, InvitationSerializer),
        )
        shown = PersonSerializer(person_now(user=membership.user, collection=collection)).data
        return created(shown, at=reverse("api:collection-people", args=[slug]))

    @extend_schema(parameters=[PERSON], request=MemberRoleSerializer, responses=PersonSerializer)
    @action(detail=True, methods=["post"], url_path=f"{_ONE}/grant", url_name="person-grant")
    @asks_again
    def grant_role(self, request: Request, slug: str, person: str) -> Response:
        """Grants a member another role."""
        collection = _managed(request, slug)
        user = member_for(collection=collection, pk=int(person))
        given = checked(request, MemberRoleSerializer)
        membership_grant(actor=request.user, user=user, collection=collection, **given)
        return _person(user, collection)

    @extend_schema(parameters=[PERSON], request=MemberRoleTakenSerializer, responses=PersonSerializer)
    @action(detail=True, methods=["post"], url_path=f"{_ONE}/revoke", url_name="person-revoke")
    @asks_again
    def revoke_role(self, request: Request, slug: str, person: str) -> Response:
        """Revokes a member's role. Revoking the last role removes the member. A collection always keeps one admin."""
        collection = _managed(request, slug)
        user = member_for(collection=collection, pk=int(person))
        given = checked(request, MemberRoleTakenSerializer)
        membership_revoke(actor=request.user, user=user, collection=collection, **given)
        return _person(user, collection)

    @extend_schema(parameters=[PERSON], request=None, responses={202: PersonSerializer})
    @action(detail=True, methods=["post"], url_path=f"{_ONE}/invite", url_name="person-invite")
    @asks_again
    def invite_again(self, request: Request, slug: str, person: str) -> Response:
        """Resends the invitation to a member who has not set a password yet."""
        collection = _managed(request, slug)
        user = member_for(collection=collection, pk=int(person))
        invitation_send(
            actor=request.user,
            user=user,
            collection=collection,
            build_url=partial(public_address, request=request._request),
        )
        return _person(user, collection, status.HTTP_202_ACCEPTED)


def _managed(request: Request, slug: str) -> Collection:
    """The collection for those who decide who belongs to it; nobody else learns who does."""
    return collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)


def _person(user: User, collection: Collection, code: int = status.HTTP_200_OK) -> Response:
    return Response(PersonSerializer(person_now(user=user, collection=collection)).data, status=code)


class LanguageSerializer(serializers.Serializer[Any]):
    """The language of the caller's pages and e-mails."""

    language = serializers.ChoiceField(choices=settings.LANGUAGES)


class OwnLanguageSerializer(LanguageSerializer):
    """The caller's language; empty if the browser's language is used."""

    language = serializers.ChoiceField(choices=settings.LANGUAGES, allow_blank=True)


class LanguageViewSet(ApiViewSet[User]):
    """The language that the caller reads in."""

    serializer_class = OwnLanguageSerializer

    @extend_schema(responses=OwnLanguageSerializer)
    def state(self, request: Request) -> Response:
        """Returns the caller's language."""
        return Response(OwnLanguageSerializer({"language": request.user.language}).data)

    @extend_schema(request=LanguageSerializer, responses=OwnLanguageSerializer)
    def choose(self, request: Request) -> Response:
        """Sets the caller's language. A read-only token is not enough."""
        language_choose(user=request.user, **checked(request, LanguageSerializer))
        return self.state(request)
