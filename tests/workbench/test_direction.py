"""Bidirectional controls are shown, not obeyed: in pages, JSON, records, tables and mails; stored text keeps them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import BytesIO

import docx
import pytest
from django.core import mail
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import translation
from openpyxl import load_workbook

from tests.workbench.addresses import ALL, path_of
from tests.workbench.cast import Cast
from tests.workbench.exports.test_exports import made, pdf_text
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.direction import NAMES, is_steered, shown, shown_in_html, shown_in_json
from workbench.documents.models import Document, Line
from workbench.exports.services import run_export
from workbench.infra.exports import csv_text
from workbench.review.comments import comment_add
from workbench.review.models import EmailWish
from workbench.review.notifications import mail_send, wish_set
from workbench.runs.models import Answer, CandidateText, Question, Verdict

ClientAs = Callable[[User | None], Client]
#: Shown as "the supplier is liable not" where it is obeyed.
STEERED = "the supplier is \u202eton\u202c liable \u2066here\u2069"
#: Text that is edited, and what forms send, stays as it was written.
_AS_WRITTEN = re.compile(
    r'<textarea.*?</textarea>|\b(?:value|data-[a-z-]+|href|hx-[a-z]+)="[^"]*"', re.DOTALL
)


def assert_in_order(page: str, what: str) -> None:
    left = _AS_WRITTEN.sub("", page)
    found = [
        left[max(0, hit.start() - 60) : hit.end() + 20] for hit in re.finditer(f"[{''.join(NAMES)}]", left)
    ]
    assert found == [], f"{what}: {found[:3]}"


class TestOneText:
    def test_every_control_has_a_name(self) -> None:
        for control, name in NAMES.items():
            assert shown(f"a{control}b") == f"a[{name}]b"
            assert is_steered(f"ñ{control}".encode())
            assert f">{name}</span>" in shown_in_html(f"<p>{control}</p>")

    def test_other_text_stays_as_it_is(self) -> None:
        page = '<p title="“a” – b…">שלום العربية ñ “quoted” \u2028 \u200b</p>'
        assert not is_steered(page.encode())
        assert shown(page) == shown_in_html(page) == shown_in_json(page) == page

    def test_markup_only_where_markup_may_stand(self) -> None:
        page = (
            '<title>\u202e</title><p class="x" title="\u202e" data-text="\u202e">\u202e</p>'
            '<input value="\u202e" aria-label="say \u202e"><textarea rows="2">\u202e</textarea>'
            "<option>\u202e</option><svg><text>\u202e</text></svg><!-- \u202e -->\u202e"
        )
        box = '<span class="direction" title="Changes the direction of reading: right-to-left override">RLO</span>'
        with translation.override("en"):  # requests of other tests leave their language
            shown_page = shown_in_html(page)
        assert shown_page == (
            f'<title>[RLO]</title><p class="x" title="[RLO]" data-text="\u202e">{box}</p>'
            '<input value="\u202e" aria-label="say [RLO]"><textarea rows="2">\u202e</textarea>'
            f"<option>[RLO]</option><svg><text>[RLO]</text></svg><!-- \u202e -->{box}"
        )

    def test_the_name_is_said_in_the_language_of_the_page(self) -> None:
        with translation.override("es"):
            assert "Cambia el sentido de lectura" in shown_in_html("\u202e")

    def test_json_means_the_same(self) -> None:
        text = json.dumps({STEERED: [STEERED]}, ensure_ascii=False)
        assert not is_steered(shown_in_json(text).encode())
        assert json.loads(shown_in_json(text)) == {STEERED: [STEERED]}

    def test_a_long_page_of_nothing_else_is_read_once(self) -> None:
        page = shown_in_html("<b>\u202e" * 50_000 + "<textarea " * 2_000)
        assert page.count("RLO") == 50_000

    def test_tables(self) -> None:
        text = csv_text(header=["said"], rows=[[STEERED], ["\u202e=1+1"]])
        assert "the supplier is [RLO]ton[PDF] liable [LRI]here[PDI]" in text
        assert not is_steered(text.encode())


@pytest.fixture
def steered(scene: Scene, cast: Cast) -> Scene:
    """The same scene, with a control in everything that a document, a model or a person says."""
    run, document = scene.run, scene.document
    CandidateText.objects.filter(candidate__run=run).update(anchor=STEERED, context=STEERED)
    Verdict.objects.filter(candidate__run=run).update(reason=STEERED)
    Line.objects.filter(document=document).update(text=STEERED)
    Question.objects.filter(pk=run.question_id).update(text=f"Is {STEERED}?")
    Document.objects.filter(pk=document.pk).update(title=STEERED)
    for answer in Answer.objects.filter(run=run):
        body = json.loads(json.dumps(answer.body).replace("Access records", json.dumps(STEERED)[1:-1]))
        Answer.objects.filter(pk=answer.pk).update(body=body)
    comment_add(actor=cast.reviewer, run=run, candidate=run.candidates.first(), body=STEERED)
    for kept in (run, document):
        kept.refresh_from_db()
    return scene


@pytest.mark.django_db
@pytest.mark.usefixtures("plain_templates")
class TestTheProduct:
    def test_no_page_obeys_one(self, steered: Scene, cast: Cast, client_as: ClientAs) -> None:
        client, shown_on = client_as(cast.admin), set()
        for address in ALL:
            with transaction.atomic():
                response = client.get(path_of(address, steered))
                is_text = any(kind in response.get("Content-Type", "") for kind in ("text/", "json", "yaml"))
                if response.streaming or response.status_code != 200 or not is_text:
                    b"".join(response.streaming_content) if response.streaming else None
                    transaction.set_rollback(True)
                    continue
                page = response.content.decode(response.charset)
                assert_in_order(page, address.name)
                if 'class="direction"' in page:
                    shown_on.add(address.name)
                transaction.set_rollback(True)
        assert {"questions:run", "questions:evidence", "documents:document"} <= shown_on

    def test_nor_does_a_card_of_the_queue(self, steered: Scene, cast: Cast, client_as: ClientAs) -> None:
        item = steered.run.queue_items.filter(candidate__isnull=False).order_by("id").last()
        page = (
            client_as(cast.reviewer).get(reverse("review:item", args=[item.pk]), follow=True).content.decode()
        )
        assert_in_order(page, "card")
        assert page.count('class="direction"') > 2

    def test_the_api_gives_the_text_as_it_is_stored(
        self, steered: Scene, cast: Cast, client_as: ClientAs
    ) -> None:
        candidate = steered.run.candidates.first()
        response = client_as(cast.reviewer).get(reverse("api:candidate-detail", args=[candidate.pk]))
        assert not is_steered(response.content)
        assert STEERED in json.dumps(response.json(), ensure_ascii=False)
        assert int(response["Content-Length"]) == len(response.content)

    def test_records_show_them(self, steered: Scene, cast: Cast) -> None:
        files = made(run_export(actor=cast.auditor, run=steered.run))
        html = files[f"run-{steered.run.pk}.html"].decode()
        assert html.count('class="direction"') > 4
        assert_in_order(html, "record")
        text = pdf_text(files[f"run-{steered.run.pk}.pdf"])
        assert "[RLO]ton[PDF]" in text.replace("\r\n", "").replace("\n", "").replace(" ", "")
        assert not is_steered(text.encode())

    def test_so_does_the_record_as_json(self, steered: Scene, cast: Cast, client_as: ClientAs) -> None:
        response = client_as(cast.admin).get(f"/runs/{steered.run.pk}/record.json")
        assert not is_steered(response.content)
        assert STEERED in json.dumps(response.json(), ensure_ascii=False)

    def test_rounds_too(self, steered: Scene, cast: Cast, client_as: ClientAs) -> None:
        for kind in ("csv", "jsonl", "xlsx", "docx"):
            response = client_as(cast.admin).get(
                reverse("question_sets:export", kwargs={"pk": steered.round.pk, "kind": kind})
            )
            assert response.status_code == 200
            content = response.content
            if kind == "xlsx":
                rows = load_workbook(BytesIO(content)).active.iter_rows(values_only=True)
                content = repr(list(rows)).encode()
            if kind == "docx":
                file = docx.Document(BytesIO(content))
                cells = [cell.text for table in file.tables for row in table.rows for cell in row.cells]
                content = "\n".join([*cells, *(line.text for line in file.paragraphs)]).encode()
            assert not is_steered(content)

    def test_and_mails(self, steered: Scene, cast: Cast) -> None:
        wish_set(user=cast.analyst, email=EmailWish.DAILY)
        User.objects.filter(pk=cast.reviewer.pk).update(name=STEERED)
        handle = cast.analyst.email.partition("@")[0]
        comment_add(actor=cast.reviewer, run=steered.run, body=f"@{handle} look at this")
        mail_send(user_id=cast.analyst.pk)
        assert len(mail.outbox) == 1
        assert not is_steered(mail.outbox[0].body.encode())
