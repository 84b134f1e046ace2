"""``python -m workbench.stack.messages``: brings the catalogs of translations up to date with the sources.

Texts are found in templates and Python without any tool of the system: Django turns a template into something
like Python, and Babel reads both. New texts enter ``django.po`` with an empty translation, texts that are gone
leave it, translations stay; ``django.mo``, which Django reads, is written anew. See docs/translating.md.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from .project import ROOT

#: Name of a function to the places of its texts among the arguments; a place marked "c" holds a context.
KEYWORDS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop")),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
#: A comment that begins so is shown to the translator.
NOTE = "Translators"
TEMPLATES = (".html", ".txt")
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Message:
    """One text of the sources and where it stands; ``id`` is a pair (one, many) where it has a plural."""

    id: str | tuple[str, ...]
    context: str | None
    place: str
    notes: tuple[str, ...]


def messages(root: Path) -> Iterator[Message]:
    """Every text of the product that is marked for translation, in the order of the files."""
    for path in _sources(root):
        place = path.relative_to(root).as_posix()
        code = path.read_text("utf-8")
        if path.suffix in TEMPLATES:
            # In brackets, because the indentation of a template means nothing.
            code = f"({templatize(code, origin=place)}\n)"
        for _line, text, notes, context in extract("python", io.BytesIO(code.encode()), KEYWORDS, [NOTE]):
            yield Message(id=text, context=context, place=place, notes=tuple(notes))


def catalogs(root: Path) -> list[Path]:
    """The ``django.po`` of every language but English, in which the sources are written."""
    return sorted((root / "workbench" / "locale").glob("*/LC_MESSAGES/django.po"))


def read(path: Path) -> Catalog:
    """A catalog as it stands in its file."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parent.parent.name)


def update(catalog: Catalog, found: Iterable[Message]) -> None:
    """Gives the catalog the texts of the sources and keeps its translations; never guesses one."""
    sources = Catalog()
    for message in found:
        sources.add(
            message.id,
            context=message.context,
            locations=[(message.place, None)],
            auto_comments=message.notes,
        )
    catalog.update(sources, no_fuzzy_matching=True, update_creation_date=False)
    catalog.obsolete.clear()


def write(path: Path, catalog: Catalog) -> None:
    """``django.po`` for people, and ``django.mo`` for Django."""
    with path.open("wb") as file:
        write_po(file, catalog, width=WIDTH, include_lineno=False)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalog)


def untranslated(catalog: Catalog) -> list[str | tuple[str, ...]]:
    """Texts that have no translation, or lack one of its forms."""
    return [message.id for message in catalog if message.id and not all(forms(message.string))]


def forms(text: str | Iterable[str] | None) -> tuple[str, ...]:
    """The forms of a text or of its translation: one, or one for each kind of number."""
    return (text or "",) if text is None or isinstance(text, str) else tuple(text)


def main() -> int:
    """Updates every catalog and names what waits for a translator; 1 when something does."""
    found = list(messages(ROOT))
    waiting = 0
    for path in catalogs(ROOT):
        catalog = read(path)
        update(catalog, found)
        write(path, catalog)
        missing = untranslated(catalog)
        waiting += len(missing)
        print(f"{path.relative_to(ROOT)}: {len(catalog)} texts, {len(missing)} of them untranslated")
        for text in missing:
            print(f"  {' | '.join(forms(text))}")
    return 1 if waiting else 0


def _sources(root: Path) -> list[Path]:
    templates = [path for path in (root / "templates").rglob("*") if path.suffix in TEMPLATES]
    return sorted([*templates, *(root / "workbench").rglob("*.py")])


if __name__ == "__main__":
    sys.exit(main())
