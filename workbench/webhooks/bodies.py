"""The body of a message as its receiver reads it: our own JSON, or a card of Slack or Teams that says the same."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from .events import EVENTS, TEST
from .models import Delivery, WebhookFormat


def payload_of(delivery: Delivery) -> dict[str, Any]:
    """What is sent: ids and links, never text of a document, whatever the format."""
    build = {WebhookFormat.SLACK: _slack, WebhookFormat.TEAMS: _teams}.get(
        WebhookFormat(delivery.webhook.format)
    )
    return delivery.payload if build is None else build(_sentence(delivery), _link(delivery))


def _sentence(delivery: Delivery) -> str:
    """What happened, in words: "Policies: a question is answered (run 42)"."""
    data = delivery.payload["data"]
    if delivery.action == TEST:
        return _("Test from the workbench: messages arrive here.")
    said = str(EVENTS[delivery.action].label) if delivery.action in EVENTS else delivery.action
    about = data.get("object") or {}
    named = f" ({about.get('type', '')} {about.get('id', '')})" if about else ""
    collection = data.get("collection")
    return f"{collection}: {said}{named}" if collection else f"{said[:1].upper()}{said[1:]}{named}"


def _link(delivery: Delivery) -> str:
    """The page for people; empty where the installation has no PUBLIC_URL, since a path leads nowhere there."""
    url = str(delivery.payload["data"].get("url", ""))
    return url if url.startswith(("http://", "https://")) else ""


def _slack(sentence: str, link: str) -> dict[str, Any]:
    """Block Kit: https://docs.slack.dev/block-kit/. The plain text is what notifications show."""
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "plain_text", "text": sentence, "emoji": False}}
    ]
    if link:
        button = {"type": "button", "text": {"type": "plain_text", "text": _("Open")}, "url": link}
        blocks.append({"type": "actions", "elements": [button]})
    return {"text": sentence, "blocks": blocks}


def _teams(sentence: str, link: str) -> dict[str, Any]:
    """An Adaptive Card in the envelope that a Teams workflow takes."""
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": sentence, "wrap": True}],
    }
    if link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": _("Open"), "url": link}]
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return {"type": "message", "attachments": [attachment]}
