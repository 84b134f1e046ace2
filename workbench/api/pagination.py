"""Cursor pagination, newest first."""

from __future__ import annotations

from rest_framework.pagination import CursorPagination


class IdCursorPagination(CursorPagination):
    """Stable under inserts; ``page_size`` up to 200."""

    ordering = "-id"
    page_size_query_param = "page_size"
    max_page_size = 200
