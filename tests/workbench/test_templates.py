"""The shared templates: they render on the promised context, escape document text, and hold no inline code."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import get_template, render_to_string
from django.test import RequestFactory
from django.urls import include, path
from django.utils import translation

from workbench.devtools.styleguide import example_context
from workbench.review.models import ReasonCode

#: The shell's own links need only these, whatever pages exist.
urlpatterns = [path("accounts/", include("allauth.urls")), path("i18n/", include("django.conf.urls.i18n"))]
pytestmark = pytest.mark.urls(__name__)

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "templates"
ALL_TEMPLATES = sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html"))
ERROR_PAGES = ["400.html", "403.html", "403_csrf.html", "404.html", "429.html", "500.html", "503.html"]
#: Presentation attributes of SVG that a decimal comma would break.
NUMBERS = {"x", "y", "width", "height", "viewbox"}


class Page(HTMLParser):
    """Every start tag of a page as (name, attributes), with the text of the whole."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        """Attributes of every element of that name."""
        return [attributes for name, attributes in self.tags if name == tag]

    def values(self, attribute: str) -> list[str]:
        """Every value of that attribute, in order."""
        return [attributes[attribute] for _, attributes in self.tags if attribute in attributes]


def test_every_key_is_in_the_list_of_keys() -> None:
    sources = {path.name: path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.html")}
    bound = {key for text in sources.values() for key in re.findall(r'data-key="([^"{]+)"', text)}
    listed = set(re.findall(r'_key_row.html" with key="(.)"', sources["_keys_dialog.html"]))
    listed |= set(re.findall(r"<kbd>([^<{]+)</kbd>", sources["_keys_dialog.html"]))
    assert bound <= listed


def card(**changes: Any) -> str:
    """A candidate card from the style guide's first example with some values changed."""
    context = {"card": example_context()["cards"][0] | changes, "reason_choices": ReasonCode.choices}
    return render_to_string("partials/_candidate_card.html", context)


@pytest.fixture
def styleguide() -> Page:
    return Page(render_to_string("styleguide.html", example_context()))


@pytest.mark.parametrize("name", ALL_TEMPLATES)
def test_every_template_compiles(name: str) -> None:
    assert get_template(name).template.nodelist, "it is empty"


@pytest.mark.parametrize("name", [name for name in ALL_TEMPLATES if name.startswith("partials/")])
def test_every_partial_states_its_context(name: str) -> None:
    assert (TEMPLATES / name).read_text(encoding="utf-8").startswith("{% comment %}")


@pytest.mark.parametrize("name", ALL_TEMPLATES)
def test_no_template_holds_inline_script_or_style(name: str) -> None:
    source = (TEMPLATES / name).read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|hx-on|javascript:|hx-vals=.js:", source, re.IGNORECASE)
    # A block of data is no script: the browser does not run it, and the content security policy lets it be.
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", source, re.DOTALL)
    assert not [body for attributes, body in scripts if body.strip() and "application/json" not in attributes]


def test_styleguide_has_unique_ids_and_every_reference_resolves(styleguide: Page) -> None:
    ids = styleguide.values("id")
    assert len(ids) == len(set(ids))
    for attribute in ("for", "aria-labelledby", "aria-describedby", "data-dialog-open"):
        for value in styleguide.values(attribute):
            assert set(value.split()) <= set(ids), (attribute, value)


def test_styleguide_headings_never_skip_a_level(styleguide: Page) -> None:
    levels = [int(name[1]) for name, _ in styleguide.tags if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] in (1, 2)
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_post_form_is_protected_and_works_without_htmx() -> None:
    context = example_context() | {"csrf_token": "token"}
    html = render_to_string("styleguide.html", context, request=None)
    for form in re.findall(r'<form[^>]*method="post".*?</form>', html, re.DOTALL):
        assert 'name="csrfmiddlewaretoken"' in form
        action = re.search(r' action="([^"]+)"', form)
        assert action, form
        posted = re.search(r' hx-post="([^"]+)"', form)
        assert posted is None or posted.group(1) == action.group(1)


@pytest.mark.parametrize("language", ["en", "es"])
def test_svg_numbers_have_points_in_every_language(language: str) -> None:
    with translation.override(language):
        page = Page(render_to_string("styleguide.html", example_context()))
    shapes = [attributes for tag, attributes in page.tags if tag in {"rect", "svg"}]
    assert len(shapes) > 20
    for attributes in shapes:
        for name in NUMBERS & set(attributes):
            assert re.fullmatch(r"[\d.\- ]+", attributes[name]), (name, attributes[name])


def test_document_text_stays_text() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    html = card(snippet=[{"text": hostile, "matched": True}], reason=hostile, breadcrumb=[hostile])
    page = Page(html)
    assert page.all("img") == []
    assert page.text.count(hostile) >= 3


def test_card_marks_exactly_the_matched_keywords() -> None:
    html = card(snippet=[{"text": "kept for ", "matched": False}, {"text": "24 months", "matched": True}])
    assert re.findall(r"<mark>(.*?)</mark>", html) == ["24 months"]
    assert "kept for <mark>24 months</mark>" in html


def test_card_shows_the_persons_role_beside_the_machines() -> None:
    decision = {
        "action": "override",
        "role": "discarded",
        "by": "Ruth",
        "reason_label": "duplicate",
        "at": None,
    }
    text = " ".join(Page(card(decision=decision)).text.split())
    assert "The machine said Primary → Ruth decided Discarded" in text
    assert "Because Duplicate" in text


def test_override_form_names_its_fields() -> None:
    page = Page(card())
    roles = [field["value"] for field in page.all("input") if field.get("name") == "role"]
    assert roles == ["primary", "supporting", "tangential", "discarded"]
    assert [field["name"] for field in page.all("select")] == ["reason_code"]
    assert [option["value"] for option in page.all("option")] == [
        "",
        *(value for value, _ in ReasonCode.choices),
    ]
    assert {field["name"] for field in page.all("input")} >= {"comment", "version"}
    assert page.values("data-key") == ["a", "o", "u", "e", "1", "2", "3", "4"]


def test_card_offers_only_what_has_an_address() -> None:
    page = Page(card(approve_url="", override_url="", unsure_url=""))
    assert page.all("form") == []
    assert page.values("data-key") == ["e"]


def test_blind_card_tells_nothing_of_the_machines_word() -> None:
    context = {
        "card": example_context()["blind_card"],
        "hide_machine": True,
        "reason_choices": ReasonCode.choices,
    }
    html = render_to_string("partials/_candidate_card.html", context)
    before_form = html[: html.index("override__form")]
    assert "primary" not in before_form.lower()
    for secret in ("States the retention period", "0.94", "gpt-5-mini", "BM25", "Annex B sets"):
        assert secret not in html
    assert 'name="reason_code"' not in html
    assert 'action="#blind"' in html


@pytest.mark.parametrize("state", ["ready", "failed", "cancelled"])
def test_ended_work_is_not_polled(state: str) -> None:
    progress = example_context()["progress_list"][0] | {"state": state, "poll_url": "/poll"}
    assert "hx-get" not in render_to_string("partials/_progress.html", {"progress": progress})
    document = example_context()["documents"][1] | {"state": state, "poll_url": "/poll"}
    assert "hx-get" not in render_to_string("partials/_document_row.html", {"document": document})


@pytest.mark.parametrize("state", ["running", "queued"])
def test_work_under_way_is_polled(state: str) -> None:
    progress = example_context()["progress_list"][0] | {"state": state, "poll_url": "/poll"}
    assert 'hx-get="/poll"' in render_to_string("partials/_progress.html", {"progress": progress})


def test_page_boxes_stand_where_the_lines_are() -> None:
    context = example_context()["viewer"]
    page = Page(render_to_string("partials/_page_image.html", context))
    boxes = {attributes["data-line"]: attributes for attributes in page.all("rect")}
    line = context["lines"][3]
    assert float(boxes["p6-l4"]["x"]) == line["x0"]
    assert float(boxes["p6-l4"]["height"]) == line["height"]
    assert "box--anchor" in boxes["p6-l4"]["class"]
    unplaced = context | {"lines": [line | {"x0": None}], "box_note": "No box."}
    assert Page(render_to_string("partials/_page_image.html", unplaced)).all("rect") == []


def test_shell_shows_navigation_only_when_there_is_some() -> None:
    assert "<nav" not in render_to_string("base.html", {})
    page = Page(render_to_string("base.html", example_context()))
    assert next(a["href"] for a in page.all("a")) == "#main"
    assert [a["href"] for a in page.all("a") if a.get("aria-current") == "page"] == ["#"]


def test_language_switch_posts_and_returns_to_this_page() -> None:
    request = RequestFactory().get("/queue/?role=primary")
    html = render_to_string("partials/_user_menu.html", {"request": request})
    assert 'name="next" value="/queue/?role=primary"' in html
    assert re.findall(r'name="language" value="(\w+)"', html) == ["en", "es"]


def test_htmx_is_configured_for_confidential_text_and_a_strict_policy() -> None:
    config = get_meta("htmx-config")
    assert '"historyCacheSize":0' in config
    assert '"allowEval":false' in config
    assert '"includeIndicatorStyles":false' in config


def get_meta(name: str) -> str:
    """Content of a meta element of the shell."""
    page = Page(render_to_string("base.html", {}))
    return next(meta["content"] for meta in page.all("meta") if meta.get("name") == name)


@pytest.mark.parametrize("name", ERROR_PAGES)
def test_error_pages_need_no_context(name: str) -> None:
    page = Page(get_template(name).render())
    assert "Arbiter Workbench" in page.text
    assert name[:3] in page.text
    assert {"href": "/", "class": "button button--primary"} in page.all("a")


def test_scripts_are_small() -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "static" / "js").glob("*.js"))
    assert len(scripts.encode()) < 46_000
    assert "eval(" not in scripts
    assert "new Function" not in scripts
