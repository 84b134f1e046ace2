"""Cursor pagination, newest first."""

from django.utils.translation import gettext_lazy as _
from rest_framework.pagination import CursorPagination


class IdCursorPagination(CursorPagination):
    """Stable under inserts; ``page_size`` up to 200. If thousands of rows share a value of the sort column, such as a
    status, a page is found by its offset from the first of them."""

    ordering = "-id"
    invalid_cursor_message = _("Invalid cursor. Start without one, then follow `next`.")
    page_size_query_param = "page_size"
    max_page_size = 200
    offset_cutoff = 1_000_000
