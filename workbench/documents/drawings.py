"""Page images: rendered by a worker, each page once, and kept in the store shared by web and workers.

A page is requested by the first person who opens it. Meanwhile it shows its text. A page that cannot be rendered is
remembered as such. Each person has one page rendered at a time and few waiting, so that a file made to be slow only
delays its own reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.errors import ParseFailure
from arbitration.parsing.isolation import ParseLimits, render_page
from workbench.accounts.models import User
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.leases import LeaseLost, lease_claim, lease_free, leased, new_owner

from .ingest import local_copy
from .models import DELETED_STATUSES, Document, DrawingState, PageDrawing
from .pages import SCALE, SMALL_SCALE, can_be_drawn, image_forget, image_keep, image_there, kept_image

#: Pages that wait for one person. Whoever turns pages faster is served when these are done.
MOST_WAITING = 4
#: A page gets this much of a processor. By the clock it may take longer, on a busy machine.
LIMITS = ParseLimits(cpu_s=20, wall_s=60.0)
#: Seconds after which a drawing that still waits is sent again, when somebody asks for it.
SENT_AGAIN_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Picture:
    """The status of a page image. ``state`` None: the page has no image. ``problem`` says why it never will."""

    state: DrawingState | None
    problem: str = ""


def page_picture(*, document: Document, page_num: int, user: User) -> Picture:
    """The status of a page image. Requests it if nobody has. Needs one look at the disk if it exists."""
    if not can_be_drawn(document, page_num):
        return Picture(None)
    if image_there(document, page_num):
        return Picture(DrawingState.DRAWN)
    drawing = PageDrawing.objects.filter(document=document, page_num=page_num).first()
    if drawing is None:
        drawing = _asked(document, page_num, user)
    elif drawing.state == DrawingState.WAITING:
        _send_again(drawing)
    if drawing is None:
        return Picture(DrawingState.WAITING)
    return Picture(DrawingState(drawing.state), _problem(drawing))


def page_image(*, document: Document, page_num: int, user: User, is_small: bool = False) -> bytes | Picture:
    """The image if it exists, else its status. Pages rendered before there were thumbnails use the full image as
    thumbnail."""
    picture = page_picture(document=document, page_num=page_num, user=user)
    if picture.state != DrawingState.DRAWN:
        return picture
    if (image := kept_image(document, page_num, is_small=is_small)) is not None:
        return image
    # The store lost it: a restored backup leaves out what can be made again.
    PageDrawing.objects.filter(document=document, page_num=page_num, state=DrawingState.DRAWN).delete()
    return page_picture(document=document, page_num=page_num, user=user)


def page_image_now(*, document: Document, page_num: int) -> bytes | None:
    """The image for a worker that needs it immediately; None if there is none. A newly rendered image is kept too."""
    if not can_be_drawn(document, page_num):
        return None
    if (image := kept_image(document, page_num)) is not None:
        return image
    rows = PageDrawing.objects.filter(document=document, page_num=page_num)
    if rows.filter(state=DrawingState.FAILED).exists():
        return None
    PageDrawing.objects.get_or_create(document=document, page_num=page_num)
    drawn, code = _draw(document, page_num)
    _settle(rows, document, page_num, drawn, code)
    return drawn[0] if drawn else None


def drawing_make(*, drawing_id: int) -> None:
    """Renders a page, if it still waits and its person has no other page in progress. Then wakes their next one."""
    rows = PageDrawing.objects.filter(pk=drawing_id, state=DrawingState.WAITING)
    owner = new_owner()
    if not _claimed(rows, owner=owner):
        return
    drawing = PageDrawing.objects.select_related("document__collection").get(pk=drawing_id)
    try:
        with leased(rows, owner=owner) as heartbeat:
            drawn, code = None, "worker_lost"
            if drawing.attempts <= settings.MAX_ATTEMPTS:
                drawn, code = _draw(drawing.document, drawing.page_num)
            heartbeat.check()
            _settle(rows.filter(lease_owner=owner), drawing.document, drawing.page_num, drawn, code)
    except LeaseLost:
        return
    finally:
        _wake_next(drawing)


def _draw(document: Document, page_num: int) -> tuple[tuple[bytes, bytes] | None, str]:
    """The image and its thumbnail, or an error code."""
    try:
        with local_copy(document) as path:
            image, small = (
                render_page(path=path, page_num=page_num, scale=scale, filename=document.name, limits=LIMITS)
                for scale in (SCALE, SMALL_SCALE)
            )
    except ParseFailure as failure:
        return None, failure.code
    except FileNotFoundError:
        return None, "gone"
    return (image, small), ""


def _settle(
    rows: QuerySet[PageDrawing],
    document: Document,
    page_num: int,
    drawn: tuple[bytes, bytes] | None,
    code: str,
) -> None:
    """Stores the images, then the row. If the row is gone, the document was erased in the meantime, and the images are
    removed."""
    if drawn is None:
        rows.update(state=DrawingState.FAILED, failure_code=code)
        return
    image_keep(document, page_num, drawn[1], is_small=True)
    image_keep(document, page_num, drawn[0])
    alive = rows.exclude(document__status__in=DELETED_STATUSES)
    if not alive.update(state=DrawingState.DRAWN, failure_code=""):
        image_forget(document, page_num)


def _asked(document: Document, page_num: int, user: User) -> PageDrawing | None:
    """Requests a page image; None if the person has enough waiting."""
    waiting = PageDrawing.objects.filter(asked_by=user, state=DrawingState.WAITING)
    if waiting.count() >= MOST_WAITING:
        return None
    drawing, is_new = PageDrawing.objects.get_or_create(
        document=document, page_num=page_num, defaults={"asked_by": user}
    )
    if is_new:
        dispatch_on_commit("documents.draw", drawing_id=drawing.pk)
    return drawing


def _send_again(drawing: PageDrawing) -> None:
    """Wakes a worker if a page has waited too long, because its message or worker was lost."""
    late = PageDrawing.objects.filter(
        lease_free(),
        pk=drawing.pk,
        state=DrawingState.WAITING,
        sent_at__lt=Now() - timedelta(seconds=SENT_AGAIN_SECONDS),
    )
    if late.update(sent_at=Now()):
        dispatch_on_commit("documents.draw", drawing_id=drawing.pk)


def _claimed(rows: QuerySet[PageDrawing], *, owner: str) -> bool:
    asked_by = rows.values_list("asked_by", flat=True).first()
    with transaction.atomic():
        if asked_by is not None:
            advisory_lock(LockSpace.PAGE_DRAWING, asked_by)
            others = PageDrawing.objects.filter(asked_by=asked_by, state=DrawingState.WAITING)
            if others.exclude(lease_free()).exists():
                return False
        return lease_claim(rows, owner=owner)


def _wake_next(drawing: PageDrawing) -> None:
    if drawing.asked_by_id is None:
        return
    waiting = PageDrawing.objects.filter(
        lease_free(), asked_by=drawing.asked_by_id, state=DrawingState.WAITING
    ).exclude(pk=drawing.pk)
    following = waiting.order_by("pk").values_list("pk", flat=True).first()
    if following is not None:
        dispatch_on_commit("documents.draw", drawing_id=following)


def _problem(drawing: PageDrawing) -> str:
    if drawing.state != DrawingState.FAILED:
        return ""
    if drawing.failure_code == "time_out":
        return _("Drawing this page takes too long.")
    if drawing.failure_code in {"out_of_memory", "too_large"}:
        return _("Drawing this page takes too much memory.")
    if drawing.failure_code in {"corrupt", "crashed"}:
        return _("The file is damaged on this page.")
    return _("This page cannot be drawn.")
