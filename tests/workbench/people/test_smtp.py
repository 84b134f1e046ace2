"""Mails leave through a real mail server: invitation, new password, daily mail, test mail, and one that is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope
from django.test import Client

from tests.ports import own_port
from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.review.comments import comment_add
from workbench.review.notifications import mail_send

ClientAs = Callable[[User | None], Client]

pytestmark = pytest.mark.django_db


class Mailbox:
    """Takes mails for everybody but those at ``refused.example``."""

    def __init__(self) -> None:
        self.mails: list[Message[str, str]] = []

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """The answer to each addressee."""
        if address.endswith("@refused.example"):
            return "550 no such mailbox here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        """Keeps the mail."""
        assert isinstance(envelope.content, bytes)
        self.mails.append(message_from_bytes(envelope.content, policy=default))
        return "250 OK"

    def the_mail(self, *, to: str) -> str:
        """The text of the only mail, which went to the address."""
        (mail,) = self.mails
        assert mail["To"] == to
        assert mail["From"] == "workbench@house.example"
        body: Any = mail
        return str(body.get_content())


@pytest.fixture
def mailbox(settings: Any) -> Iterator[Mailbox]:
    """A mail server of its own, which the settings name."""
    box = Mailbox()
    server = Controller(box, hostname="127.0.0.1", port=own_port())
    server.start()
    try:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.hostname, server.port
        settings.DEFAULT_FROM_EMAIL = "workbench@house.example"
        yield box
    finally:
        server.stop()


@pytest.mark.django_db(transaction=True)
def test_an_invitation_arrives_and_its_link_opens(cast: Cast, client_as: ClientAs, mailbox: Mailbox) -> None:
    client_as(cast.admin).post(
        "/collections/alpha/people/invite/", {"email": "new@house.example", "role": "reviewer"}
    )
    link = re.search(r"https?://[^/\s]+(/\S+)", mailbox.the_mail(to="new@house.example"))
    assert link is not None
    assert client_as(None).get(link[1], follow=True).status_code == 200


def test_a_new_password_arrives(cast: Cast, client_as: ClientAs, mailbox: Mailbox) -> None:
    client_as(None).post("/accounts/password/reset/", {"email": cast.analyst.email})
    assert "/accounts/password/reset/key/" in mailbox.the_mail(to=cast.analyst.email)


def test_the_daily_mail_arrives(cast: Cast, scene: Scene, mailbox: Mailbox) -> None:
    comment_add(actor=cast.analyst, run=scene.run, body="@reviewer please look")
    assert mail_send(user_id=cast.reviewer.pk)
    assert f"/runs/{scene.run.pk}/" in mailbox.the_mail(to=cast.reviewer.email)


class TestTestMail:
    def ask(self, client: Client) -> str:
        """What the Operations page says after the button."""
        return client.post("/operations/mail/", follow=True).content.decode()

    def test_it_arrives_and_is_on_record(self, cast: Cast, client_as: ClientAs, mailbox: Mailbox) -> None:
        assert f"took a mail to {cast.staff.email}" in self.ask(client_as(cast.staff))
        assert "The mail server works" in mailbox.the_mail(to=cast.staff.email)
        assert AuditEvent.objects.filter(action="mail.tested", actor=cast.staff).exists()

    def test_a_refusal_is_told_in_the_servers_words(
        self, cast: Cast, client_as: ClientAs, mailbox: Mailbox
    ) -> None:
        User.objects.filter(pk=cast.staff.pk).update(email="staff@refused.example")
        cast.staff.refresh_from_db()
        assert "no such mailbox here" in self.ask(client_as(cast.staff))
        assert mailbox.mails == []
        assert not AuditEvent.objects.filter(action="mail.tested").exists()

    def test_a_silent_server_is_told(self, cast: Cast, client_as: ClientAs, settings: Any) -> None:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
        assert "Check EMAIL_HOST, EMAIL_PORT" in self.ask(client_as(cast.staff))

    def test_without_a_server_the_page_says_what_to_set(
        self, cast: Cast, client_as: ClientAs, settings: Any
    ) -> None:
        settings.EMAIL_HOST = ""
        page = client_as(cast.staff).get("/operations/").content.decode()
        assert "No mail server is set" in page
        assert "/operations/mail/" not in page
        assert "Set EMAIL_HOST" in self.ask(client_as(cast.staff))
