"""What repeats on a page is rendered once, and what differs is filled in."""

from __future__ import annotations

import pytest
from django.template import Context, Template, TemplateSyntaxError


class Counted:
    """Says how often it was shown."""

    def __init__(self) -> None:
        self.times = 0

    def __str__(self) -> str:
        self.times += 1
        return "shown"


def rendered(source: str, **context: object) -> str:
    return Template("{% load once %}" + source).render(Context(context))


def test_equal_values_share_one_rendering_and_others_have_their_own() -> None:
    word = Counted()

    said = rendered(
        "{% for role in roles %}{% once role %}{{ role }} {{ word }};{% endonce %}{% endfor %}",
        roles=["primary", "discarded", "primary", "primary"],
        word=word,
    )

    assert said == "primary shown;discarded shown;primary shown;primary shown;"
    assert word.times == 2


def test_slots_are_filled_anew_and_escaped() -> None:
    said = rendered(
        "{% for row in rows %}{% once row.kind with url=row.url %}<a href='{{ url }}'>{{ row.kind }} {{ url }}</a>"
        "{% endonce %}{% endfor %}",
        rows=[{"kind": "a", "url": "/1?x=1&y"}, {"kind": "a", "url": "<b>"}],
    )

    assert said == "<a href='/1?x=1&amp;y'>a /1?x=1&amp;y</a><a href='&lt;b&gt;'>a &lt;b&gt;</a>"


def test_a_page_knows_nothing_of_another() -> None:
    template = Template("{% load once %}{% once %}{{ token }}{% endonce %}")

    assert [template.render(Context({"token": token})) for token in ("one", "two")] == ["one", "two"]


def test_a_slot_does_not_outlive_its_block() -> None:
    assert rendered("{% once with url=address %}{{ url }}{% endonce %}[{{ url }}]", address="/a") == "/a[]"


def test_what_is_missing_is_a_value_too() -> None:
    assert rendered("{% once nothing.there %}here{% endonce %}") == "here"


@pytest.mark.parametrize("source", ["{% once with %}{% endonce %}", "{% once with url %}{% endonce %}"])
def test_slots_have_names(source: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        rendered(source)


def test_given_says_whether_there_is_one() -> None:
    assert rendered("{{ a|given }} {{ b|given }} {{ c.d|given }}", a="/x", b="") == "True False False"
