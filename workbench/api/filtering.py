"""Filters and sort orders of lists, declared by their viewset.

``filters = {"status": one_of("status", RunStatus)}``, ``orderings = ("created_at", "status")``. They appear in the API
description, and invalid values are refused by name. A filter must only use what the row shows its reader, or it would
reveal what is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from django.db.models import Choices, Q, QuerySet
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.filters import BaseFilterBackend

from workbench.infra.addresses import number_in

if TYPE_CHECKING:
    from rest_framework.request import Request

ORDERING = "ordering"
#: Stands for the caller where a person is asked for.
ME = "me"


@dataclass(frozen=True, slots=True)
class Filter:
    """A query parameter: its condition and description. ``condition`` raises ``ValueError`` saying what to give."""

    description: str
    condition: Callable[[str, Request], Q]
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})


def by_slug(path: str = "collection__slug", words: str = "Slug of the collection.") -> Filter:
    """Rows of the collection with this slug."""
    return Filter(words, lambda value, _request: Q(**{path: value}))


def by_word(path: str, words: str) -> Filter:
    """Rows with exactly this value in a column."""
    return Filter(words, lambda value, _request: Q(**{path: value}))


def by_key(path: str, words: str) -> Filter:
    """Rows of the object with this ID."""

    def condition(value: str, _request: Request) -> Q:
        number = number_in(value)
        if number is None:
            raise ValueError("Give a whole number.")
        return Q(**{path: number})

    return Filter(words, condition, {"type": "integer"})


def by_person(path: str, words: str) -> Filter:
    """Rows of a person, by ID, or of the caller."""

    def condition(value: str, request: Request) -> Q:
        number = request.user.pk if value == ME else number_in(value)
        if number is None:
            raise ValueError(f"Give the ID of a person, or `{ME}`.")
        return Q(**{path: number})

    return Filter(f"{words} ID of the person, or `{ME}`.", condition)


def one_of(path: str, choices: type[Choices] | Iterable[str], words: str = "Status.") -> Filter:
    """Rows with one of a few values."""
    known = [str(value) for value in (choices.values if isinstance(choices, type) else choices)]

    def condition(value: str, _request: Request) -> Q:
        if value not in known:
            raise ValueError(f"Give one of {', '.join(known)}.")
        return Q(**{path: value})

    return Filter(words, condition, {"type": "string", "enum": known})


def between_days(path: str = "created_at") -> dict[str, Filter]:
    """``since`` and ``until``: the first and the last day (UTC) of a timestamp."""
    return {
        "since": _by_day("First day (UTC), inclusive.", lambda day: Q(**{f"{path}__gte": _midnight(day)})),
        "until": _by_day(
            "Last day (UTC), inclusive.", lambda day: Q(**{f"{path}__lt": _midnight(day) + timedelta(days=1)})
        ),
    }


def _by_day(words: str, condition: Callable[[date], Q]) -> Filter:
    def read(value: str, _request: Request) -> Q:
        try:
            day = parse_date(value)
            if day is not None:
                return condition(day)
        except (ValueError, OverflowError):
            pass
        raise ValueError("Give a day, such as 2026-11-22.")

    return Filter(words, read, {"type": "string", "format": "date"})


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


class ListFilters(BaseFilterBackend):
    """Applies and describes the filters and orders that a viewset declares."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        """The rows that match every parameter. Raises ``ValidationError`` naming invalid values."""
        wrong: dict[str, list[str]] = {}
        for name, known in declared(view).items():
            value = request.query_params.get(name, "")
            if not value:
                continue
            try:
                queryset = queryset.filter(known.condition(value, request))
            except ValueError as error:
                wrong[name] = [str(error)]
        if wrong:
            raise ValidationError(wrong)
        return queryset

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: Any) -> Sequence[str]:
        """The sort order, for the pagination. Equal rows come newest first."""
        wanted = request.query_params.get(ORDERING, "") if orderings(view) else ""
        if not wanted:
            return (view.paginator.ordering,)
        if wanted.removeprefix("-") not in orderings(view):
            there_are = ", ".join(orderings(view))
            said = _("Give one of %(known)s, with a minus to reverse the order.") % {"known": there_are}
            raise ValidationError({ORDERING: [said]})
        return (wanted, "-id")

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        shown = [
            {"name": name, "in": "query", "description": known.description, "schema": dict(known.schema)}
            for name, known in declared(view).items()
        ]
        if known := orderings(view):
            words = "Sort field; prefix with a minus to reverse. Defaults to newest first."
            schema = {"type": "string", "enum": [sign + name for name in known for sign in ("", "-")]}
            shown.append({"name": ORDERING, "in": "query", "description": words, "schema": schema})
        return shown


class Declares:
    filters: ClassVar[Mapping[str, Filter]] = {}
    orderings: ClassVar[Sequence[str]] = ()


def declared(view: Any) -> Mapping[str, Filter]:
    """The filters of the requested list; none for any other action."""
    return view.filters if view.action == "list" else {}


def orderings(view: Any) -> Sequence[str]:
    """The columns by which the requested list can be sorted."""
    return view.orderings if view.action == "list" else ()


def parameter_names(view: Any) -> set[str]:
    return {*declared(view), *([ORDERING] if orderings(view) else [])}
