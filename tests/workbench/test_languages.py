"""Every text is marked for translation, every catalog is complete, and a page in another language differs in words
alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from babel.messages import Catalog
from babel.messages.mofile import read_mo
from django.core import mail
from django.template import Context, Template
from django.test import Client
from django.utils import translation

from tests.workbench.addresses import ALL, path_of
from tests.workbench.cast import Cast
from tests.workbench.plain_words import coded
from tests.workbench.scene import Scene
from workbench.accounts.models import MemberRole, Membership, User
from workbench.errors import WorkbenchError
from workbench.infra.plots import chart, over
from workbench.people.services import language_choose, user_invite
from workbench.runs.models import EvaluationRun
from workbench.runs.suggestions import suggestions
from workbench.stack import messages

ClientAs = Callable[[User | None], Client]

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = messages.catalogs(ROOT)
catalogs = pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.parent.parent.name)


@pytest.fixture(autouse=True)
def english_before_and_after() -> Iterator[None]:
    """A request leaves its language behind in the thread."""
    with translation.override("en"):
        yield


# --- the catalogs -----------------------------------------------------------------------------------


def keys(catalog: Catalog) -> set[tuple[str, str | None]]:
    """Each text of a catalog with its context."""
    return {(messages.forms(message.id)[0], message.context) for message in catalog if message.id}


@pytest.fixture(scope="module")
def sources() -> set[tuple[str, str | None]]:
    """Each text of the product with its context."""
    return {(messages.forms(found.id)[0], found.context) for found in messages.messages(ROOT)}


@catalogs
def test_the_catalog_holds_the_texts_of_the_sources(path: Path, sources: set[tuple[str, str | None]]) -> None:
    in_catalog = keys(messages.read(path))

    assert sorted(sources - in_catalog, key=str) == [], (
        "run python -m workbench.stack.messages, then translate"
    )
    assert sorted(in_catalog - sources, key=str) == [], "run python -m workbench.stack.messages"


@catalogs
def test_nothing_is_untranslated_or_guessed(path: Path) -> None:
    catalog = messages.read(path)

    assert messages.untranslated(catalog) == []
    assert [message.id for message in catalog if message.id and message.fuzzy] == []


def placeholders(text: str) -> list[str]:
    """What is filled in, and the markup: they must survive translation."""
    return sorted(re.findall(r"%\(\w+\)[a-z]|%%|</?\w+[^>]*>", text))


@catalogs
def test_placeholders_and_markup_survive(path: Path) -> None:
    for message in messages.read(path):
        if not message.id:
            continue
        originals = messages.forms(message.id)
        for number, text in enumerate(messages.forms(message.string)):
            original = originals[min(number, len(originals) - 1)]
            assert placeholders(text) == placeholders(original), text


def texts_of(catalog: Catalog) -> dict[tuple[str | None, tuple[str, ...]], tuple[str, ...]]:
    """Each text, in its context and all its forms, with its translation."""
    return {
        # Babel reads contexts from django.mo as bytes.
        (_decoded(message.context), messages.forms(message.id)): messages.forms(message.string)
        for message in catalog
        if message.id
    }


def _decoded(context: str | bytes | None) -> str | None:
    return context.decode() if isinstance(context, bytes) else context


#: Turns of phrase that design rules out: no native speaker writes them on a page.
_FOREIGN = re.compile(
    r"machine's word|yardstick|\bafresh\b|\banew\b|\b(?:take|taken|taking) (?:it )?in\b|(?<!there )\bis no (?!longer)|"
    r"\bput to use\b|\bgive back\b|\bat once, after\b|\bpassed over\b|\bcan be approved at once\b",
    re.IGNORECASE,
)


def test_the_english_is_a_native_speakers(sources: set[tuple[str, str | None]]) -> None:
    assert [text for text, _context in sources if _FOREIGN.search(text)] == []


def glossary() -> Iterator[tuple[re.Pattern[str], re.Pattern[str]]]:
    """The English words of docs/translating.md, and the Spanish one that the page says not to use for them."""
    for line in (ROOT / "docs/translating.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or not re.fullmatch(r"\w+", cells[2]) or cells[2] == "not":
            continue
        english = "|".join(re.sub(r"\(.*?\)", "", cells[0]).strip().split(", "))
        stem = cells[2].removesuffix("ón")
        yield re.compile(rf"\b(?:{english})s?\b", re.I), re.compile(rf"\b{stem}(?:ón|ones|s)?\b", re.I)


@catalogs
def test_one_word_of_english_has_one_word_of_spanish(path: Path) -> None:
    words = list(glossary())
    assert len(words) >= 8
    wrong = [
        (original, text)
        for message in messages.read(path)
        if message.id
        for original, text in zip(messages.forms(message.id), messages.forms(message.string), strict=False)
        if any(english.search(original) and other.search(text) for english, other in words)
    ]
    assert wrong == []


@catalogs
def test_what_django_reads_is_what_people_read(path: Path) -> None:
    """``django.mo`` was compiled from ``django.po`` as it stands."""
    with path.with_suffix(".mo").open("rb") as file:
        compiled = read_mo(file)

    assert texts_of(compiled) == texts_of(messages.read(path))


def test_every_language_of_the_settings_has_a_catalog(settings: Any) -> None:
    offered = {code for code, _ in settings.LANGUAGES}

    assert {path.parent.parent.name for path in CATALOGS} | {"en"} == offered


def test_texts_are_found_in_templates_and_python(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "workbench").mkdir()
    (tmp_path / "templates" / "a.html").write_text(
        "{% load i18n %}<p title=\"{% translate 'Title' %}\">\n"
        "      {% blocktranslate count n=n %}{{ n }} card{% plural %}{{ n }} cards{% endblocktranslate %}\n"
        '  {% translate "May" context "month" %}</p>{{ x|default:_("None") }}',
        "utf-8",
    )
    (tmp_path / "workbench" / "a.py").write_text(
        'gettext("One " "text")\nngettext_lazy("%(n)d run", "%(n)d runs")\npgettext("verb", "Open")\n',
        "utf-8",
    )

    found = {(message.id, message.context) for message in messages.messages(tmp_path)}

    assert found == {
        ("Title", None),
        (("%(n)s card", "%(n)s cards"), None),
        ("May", "month"),
        ("None", None),
        ("One text", None),
        (("%(n)d run", "%(n)d runs"), None),
        ("Open", "verb"),
    }


def test_an_update_keeps_translations_drops_what_is_gone_and_guesses_nothing() -> None:
    catalog = Catalog(locale="es")
    catalog.add("Open", "Abrir")
    catalog.add("Gone", "Ido")

    messages.update(catalog, [messages.Message(text, None, "a.html", ()) for text in ("Open", "Opens")])

    assert {message.id: messages.forms(message.string) for message in catalog if message.id} == {
        "Open": ("Abrir",),
        "Opens": ("",),
    }
    assert messages.untranslated(catalog) == ["Opens"]
    assert not catalog.obsolete


# --- texts that nobody marked -----------------------------------------------------------------------

#: Names and units that are the same in every language.
SAME_EVERYWHERE = re.compile(
    r"Arbiter Workbench|USD|UTC|ms|JSONL?|CSV|SHA-256|MRR|NDCG|ROC AUC|ECE|F1|MAP|p\d\d"
)
#: Blocks of templates that are a class, not a text.
BLOCK_CLASS = re.compile(r"{% block main_class %}[^{]*{% endblock %}")
MARKED = re.compile(
    r"{%\s*blocktranslate\b.*?{%\s*endblocktranslate\s*%}|{%\s*comment\b.*?{%\s*endcomment\s*%}"
    r"|{%.*?%}|{{.*?}}|{#.*?#}",
    re.DOTALL,
)
CODE = re.compile(r"<(code|kbd|svg|script)\b.*?</\1>|<!--.*?-->", re.DOTALL)
SPOKEN = re.compile(r'\b(?:aria-label|aria-description|title|placeholder|alt|data-text[\w-]*)="([^"]*)"')
TEMPLATES = sorted(
    path for path in (ROOT / "templates").rglob("*") if path.suffix in messages.TEMPLATES
    # Its example documents are in the language of the demo.
    and path.name != "styleguide.html"
)  # fmt: skip


def unmarked(template: str) -> list[str]:
    """Words of a template that stand outside of every tag: between elements, or in attributes that are read out."""
    rest = CODE.sub(" ", MARKED.sub("\x00", BLOCK_CLASS.sub("", template)))
    texts = [*SPOKEN.findall(rest), *re.split(r"[\x00\n]", re.sub(r"<[^<>]*>", "\n", rest))]
    return [text.strip() for text in texts if re.search(r"[^\W\d_]{2,}", SAME_EVERYWHERE.sub("", text))]


def test_templates_hold_no_unmarked_text() -> None:
    found = {str(path.relative_to(ROOT)): unmarked(path.read_text("utf-8")) for path in TEMPLATES}

    assert {path: texts for path, texts in found.items() if texts} == {}


def test_unmarked_text_would_be_found() -> None:
    assert unmarked('<a title="Close it" href="/x/">{% translate "Close" %}</a> now {{ when }} UTC') == [
        "Close it",
        "now",
    ]


ERRORS = {cls.__name__ for cls in [WorkbenchError, *WorkbenchError.__subclasses__()]}
#: Keywords that become a text on a page.
SHOWN = {"label", "help_text", "empty_label"}


def unmarked_calls(tree: ast.AST) -> Iterator[str]:
    """Plain texts that become an error for people, a message, or the label of a field."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        said = [word.value for word in call.keywords if word.arg in SHOWN]
        if name in ERRORS:
            said += call.args[:1]
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "messages":
            said += call.args[1:2]
        for text in said:
            if isinstance(text, ast.Constant | ast.JoinedStr) and _is_worded(text):
                yield ast.unparse(text)


def _is_worded(text: ast.Constant | ast.JoinedStr) -> bool:
    """Whether a constant says something: a sentence, or words between the values of an f-string."""
    if isinstance(text, ast.Constant):
        return isinstance(text.value, str) and " " in text.value
    parts = [part.value for part in text.values if isinstance(part, ast.Constant)]
    return any(re.search(r"[^\W\d_]{2,}", str(part)) for part in parts)


#: Pages and services; not the developer's stack, commands, the backup behind two of them, the style guide's
#: examples, nor models and the API, whose help texts describe columns and fields to developers.
SPEAKING = sorted(
    path
    for path in (ROOT / "workbench").rglob("*.py")
    if not {"stack", "management", "migrations", "models", "demo", "api"} & set(path.parts)
    and path.name not in {"styleguide.py", "models.py", "backup.py", "api.py"}
    and not path.name.endswith(("_api.py", "serializers.py"))
)


def test_python_says_nothing_unmarked() -> None:
    found = {
        str(path.relative_to(ROOT)): unmarked_calls(ast.parse(path.read_text("utf-8"))) for path in SPEAKING
    }

    assert [(path, text) for path, texts in found.items() for text in texts] == []


def test_an_unmarked_error_would_be_found() -> None:
    code = 'raise WorkbenchError(f"No {x}.")\nmessages.error(request, "Not done.")\nraise WorkbenchError(_("No."))'

    assert list(unmarked_calls(ast.parse(code))) == ["f'No {x}.'", "'Not done.'"]


# --- numbers, dates, plurals ------------------------------------------------------------------------


def rendered(template: str, **context: object) -> str:
    return Template("{% load i18n humanize %}" + template).render(Context(context))


def test_numbers_dates_and_plurals_are_spanish() -> None:
    import datetime as dt

    with translation.override("es"):
        assert rendered('{{ day|date:"DATE_FORMAT" }}', day=dt.date(2026, 11, 22)) == "22 nov 2026"
        assert rendered("{{ p|floatformat:2 }}", p=0.625) == "0,63"
        pages = "{% blocktranslate count n=n %}{{ n }} page{% plural %}{{ n }} pages{% endblocktranslate %}"
        assert [rendered(pages, n=n) for n in (0, 1, 2)] == ["0 páginas", "1 página", "2 páginas"]


def test_a_plot_speaks_the_language_and_is_drawn_in_none() -> None:
    def drawn() -> Any:
        return chart(
            title="F1", y_label="F1", labels=["a", "b"], series=[over("F1", [0.8125, 0.5])], digits=3
        )

    english = drawn()
    with translation.override("es"):
        spanish = drawn()

    assert (english.rows[0], spanish.rows[0]) == (("a", "0.812"), ("a", "0,812"))
    assert spanish.series[0].lines == english.series[0].lines


# --- the switch -------------------------------------------------------------------------------------


def choose(client: Client, language: str) -> Any:
    return client.post("/i18n/", {"language": language, "next": "/ask/"})


def language_of(client: Client, path: str = "/ask/") -> str:
    response = client.get(path)
    assert f'<html lang="{response["Content-Language"]}"'.encode() in response.content
    return str(response["Content-Language"])


def test_a_choice_holds_in_every_browser_of_the_account(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.analyst)

    response = choose(client, "es")

    assert (response.status_code, response["Location"]) == (302, "/ask/")
    assert language_of(client) == "es"
    assert language_of(client_as(cast.analyst)) == "es"
    assert language_of(client_as(cast.reviewer)) == "en"


def test_the_account_goes_before_the_browser(cast: Cast, client_as: ClientAs) -> None:
    language_choose(user=cast.analyst, language="en")
    client = client_as(cast.analyst)

    assert client.get("/ask/", headers={"accept-language": "es"})["Content-Language"] == "en"
    assert (
        client_as(cast.reviewer).get("/ask/", headers={"accept-language": "es"})["Content-Language"] == "es"
    )


def test_a_stranger_chooses_at_the_door(client_as: ClientAs) -> None:
    client = client_as(None)

    choose(client, "es")

    page = client.get("/accounts/login/")
    assert page["Content-Language"] == "es"
    assert "Iniciar sesión" in page.content.decode()


def test_a_language_that_is_none_changes_nothing(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.analyst)

    assert choose(client, "xx").status_code == 302

    cast.analyst.refresh_from_db()
    assert cast.analyst.language == ""
    with pytest.raises(WorkbenchError, match="no such language"):
        language_choose(user=cast.analyst, language="xx")


def test_the_switch_is_a_form(client_as: ClientAs) -> None:
    assert client_as(None).get("/i18n/?language=es").status_code == 405


def test_an_invitation_is_in_the_language_of_the_one_who_sends_it(
    cast: Cast, django_capture_on_commit_callbacks: Any
) -> None:
    with translation.override("es"), django_capture_on_commit_callbacks(execute=True):
        user_invite(
            actor=cast.admin,
            collection=cast.alpha,
            email="nueva@example.com",
            role="reviewer",
            name="Nueva",
            build_url=lambda path: f"http://testserver{path}",
        )

    assert mail.outbox[-1].subject == "Su invitación a Alpha"


def test_a_mail_is_in_the_language_of_its_reader(scene: Scene, cast: Cast) -> None:
    from workbench.review.models import EmailWish, Notification
    from workbench.review.notifications import mail_send, wish_set

    for user, language in ((cast.reviewer, "es"), (cast.second_reviewer, "en")):
        language_choose(user=user, language=language)
        wish_set(user=user, email=EmailWish.EACH)
        Notification.objects.create(
            user=user,
            kind="reopened",
            actor=cast.admin,
            collection=cast.alpha,
            run=scene.run,
        )
        assert mail_send(user_id=user.pk)

    assert [message.subject for message in mail.outbox[-2:]] == ["1 cosa le espera", "1 thing waits for you"]
    assert translation.get_language() == "en"


# --- pages ------------------------------------------------------------------------------------------

#: Attributes that hold words.
WORDED = (
    "label",
    "aria-label",
    "aria-description",
    "title",
    "placeholder",
    "alt",
    "data-text",
    "lang",
    "content",
)
#: Values that differ at each request.
FRESH = ("csrfmiddlewaretoken", "nonce", "X-CSRFToken", "data-elapsed", "data-countdown")


class Bones(HTMLParser):
    """A page without its words, and its words: elements with their attributes, and the texts between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[tuple[str, str], ...]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value or "" for name, value in attrs if name.startswith(WORDED)]
        if any(word in f"{name} {value}" for name, value in attrs for word in FRESH):
            attrs = []
        if ("type", "datetime-local") in attrs:
            attrs = []
        if tag == "button" and ("name", "language") in attrs:  # the present language is marked
            attrs = []
        self.elements.append((tag, tuple((n, v or "") for n, v in attrs if not n.startswith(WORDED))))

    def handle_data(self, data: str) -> None:
        self.texts.append(" ".join(data.split()))


@pytest.fixture(scope="module")
def english() -> set[str]:
    """Whole texts whose Spanish is another."""
    return {
        message.id
        for message in messages.read(ROOT / "workbench" / "locale" / "es" / "LC_MESSAGES" / "django.po")
        if isinstance(message.id, str) and message.id and message.id != message.string
    }


#: Pages that show codes as they are on record; one of them asks for a time and offers the present one.
OF_RECORDS = re.compile(r"/audit/|/receipt/|/as-of/|/prompts/")


def _is_label(text: str, path: str) -> bool:
    """Whether a text is the product's own word, and not the code of something on record."""
    return not (OF_RECORDS.search(path) and text.islower())


@pytest.mark.usefixtures("plain_templates")
def test_a_page_in_spanish_differs_in_its_words_alone(
    cast: Cast, client_as: ClientAs, scene: Scene, english: set[str]
) -> None:
    """No decimal comma in an address, a drawing or a value for a script; no text left in English."""
    User.objects.filter(pk=cast.admin.pk).update(is_staff=True)
    for role in MemberRole:
        Membership.objects.get_or_create(user=cast.admin, collection=cast.alpha, role=role)
    client = client_as(cast.admin)
    #: The cast is named after its roles; the style guide asks the question of the scene; a language stands in the menu
    #: under its own name; headings are the documents' own.
    own = {*User.objects.values_list("name", flat=True), scene.run.question.text, "English"}
    own |= {suggestion.heading for suggestion in suggestions(collection=cast.alpha, user=cast.analyst)}
    #: What stands behind a link is a stored file, in the language it was made in.
    walked = [a for a in ALL if not a.name.startswith("api:") and a.name != "exports:shared"]
    paths = [path_of(address, scene) for address in walked]
    paths += [f"/runs/{scene.run.pk}/?{more}" for more in ("all=1", "tab=comments")]
    EvaluationRun.objects.all().delete()  # made for an address of the API, and empty
    differing, pages, in_code = {}, 0, {}
    client.get("/operations/")  # the first look stores the budgets
    for path in paths:
        first, second = (client.get(path, headers={"accept-language": code}) for code in ("en", "es"))
        if first.status_code != 200 or not first["Content-Type"].startswith("text/html") or first.streaming:
            continue  # what streams is a stored file, in the language it was made in
        for page in (first, second):
            if not OF_RECORDS.search(path) and (codes := coded(page.content.decode(), path=path, own=NAMES)):
                in_code[path] = codes
        bones, huesos = Bones(first.content.decode()), Bones(second.content.decode())
        pages += 1
        pairs = zip(bones.elements, huesos.elements, strict=False)
        found = [pair for pair in pairs if pair[0] != pair[1]][:3]
        left = sorted(
            text for text in (english & set(huesos.texts) & set(bones.texts)) - own if _is_label(text, path)
        )
        if found or left:
            differing[path] = (found, left)
    assert differing == {}, "\n".join(f"{path}: {what}" for path, what in differing.items())
    assert in_code == {}, "\n".join(f"{path}: {what}" for path, what in in_code.items())
    assert pages > 30


#: Columns of a file that people write, by their names.
NAMES = frozenset({"line_from, line_to"})


def test_what_is_no_word_is_found() -> None:
    page = "<p>p3_l2_l10 by rule 2, rank 5, p = 0.12; .71</p><code>no_keyword_match</code> all_discarded"
    found = [said.partition(":")[0] for said in coded(page, path="/runs/1/")]
    assert found == [
        *("an identifier", "an identifier", "a numbered rule", "a rank", "a probability"),
        *("a bare probability", "a bare probability"),
    ]
    assert coded("<p>17 %, low; MRR .71</p>", path="/strategies/") == []
    plot = (
        "<select><option>detecting</option></select><svg><text>late_in_list</text><text>estimate</text></svg>"
    )
    found = [said.split(":")[0] for said in coded(plot, path="/runs/")]
    assert found == ["a code", "a code", "a code", "an identifier"]
