"""What repeats on a page is rendered once: ``{% once role %}...{% endonce %}``.

A page of a hundred cards says "Cannot tell" a hundred times. The words, the forms and the shapes are rendered for the
first card of a kind; what differs from card to card, such as an address, is filled in by name::

    {% once card.role with url=card.approve_url %}<form action="{{ url }}">...{% endonce %}
"""

from __future__ import annotations

import secrets
from typing import Any

from django import template
from django.template.base import (
    FilterExpression,
    NodeList,
    Parser,
    Token,
    render_value_in_context,
    token_kwargs,
)
from django.template.context import Context
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

#: Stands around the name of a slot while the content is rendered. Nobody can write it into a document.
_MARK = f"\x02{secrets.token_hex(8)}\x02"


class OnceNode(template.Node):
    """Renders its content the first time a page comes here with these values; after that the page repeats it.

    Nothing outlives the page, so neither text nor tokens of one person reach another.
    """

    def __init__(
        self, values: list[FilterExpression], slots: dict[str, FilterExpression], nodelist: NodeList
    ) -> None:
        self.values = values
        self.slots = slots
        self.nodelist = nodelist
        self._marked = {name: mark_safe(_MARK + name + _MARK) for name in slots}  # noqa: S308 - ours

    def render(self, context: Context) -> SafeString:
        """The content with its slots filled. Raises TypeError for a value that cannot be hashed."""
        # The bottom of the render context is shared by a page and all it includes; ``include`` keeps templates there.
        rendered: dict[Any, list[str]] = context.render_context.dicts[0].setdefault(OnceNode, {})
        key = (self, *[value.resolve(context, ignore_failures=True) for value in self.values])
        parts = rendered.get(key)
        if parts is None:
            with context.push(**self._marked):
                parts = rendered[key] = self.nodelist.render(context).split(_MARK)
        if len(parts) == 1:
            return mark_safe(parts[0])  # noqa: S308 - rendered by a template
        filled = {
            name: render_value_in_context(value.resolve(context), context)
            for name, value in self.slots.items()
        }
        # Every other part is the name of a slot.
        return mark_safe("".join([filled[p] if i % 2 else p for i, p in enumerate(parts)]))  # noqa: S308


@register.filter
def given(value: object) -> bool:
    """Whether there is such a thing at all: for content that depends on that alone, such as a button's address."""
    return bool(value)


@register.tag
def once(parser: Parser, token: Token) -> OnceNode:
    """``{% once value ... [with name=value ...] %}``.

    Everything that the content depends on must be among the values, except what is the same on the whole page, such
    as the person and the language. What stands behind ``with`` may only be shown, not asked about or filtered.
    """
    bits = token.split_contents()[1:]
    cut = bits.index("with") if "with" in bits else len(bits)
    slots = token_kwargs(bits[cut + 1 :], parser)
    if cut < len(bits) and not slots:
        raise template.TemplateSyntaxError("once: name=value is expected behind 'with'")
    values = [parser.compile_filter(bit) for bit in bits[:cut]]
    nodelist = parser.parse(("endonce",))
    parser.delete_first_token()
    return OnceNode(values, slots, nodelist)
