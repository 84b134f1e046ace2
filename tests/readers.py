"""Everything that reads a text of strangers (a document, a model, a person), and the texts that are meant to hang it.

``python -m tests.readers`` reads every text with every reader and says before each what it is about to do, so that
whoever started it (``tests/test_readers.py``) knows what hangs: a pattern that backtracks can be stopped by a signal
to its process and by nothing else.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

#: Characters of each text: what backtracks shows it at a fraction of the size too, and `make faults` takes all.
SIZE = 100_000 if os.environ.get("WORKBENCH_FUZZ") == "full" else 4_000
Reader = Callable[[str], object]

#: What is repeated, with what stands before and behind it. Each has hung, or could hang, one kind of pattern.
_REPEATED: dict[str, tuple[str, str, str]] = {
    "letters": ("", "a", "!"),
    "capitals": ("", "A", "a!"),
    "digits": ("", "1", "!"),
    "blanks": ("x", " ", "x"),
    "tabs and blanks": ("x", " \t", "x"),
    "line ends": ("system", "\n", "x"),
    "points": ("", ".", "x"),
    "points apart": ("", ". ", "x"),
    "dashes": ("", "-", "x"),
    "rules": ("|", "-|", "x"),
    "hashes": ("", " #", "x"),
    "backticks": ("", "`", "x"),
    "odd backticks": ("", "`a``", "x"),
    "apostrophes": ("\" 'a", "'bbbbbbbb", ""),
    "words in apostrophes": ("", " 'a b's c", ""),
    "single quotes that open": ("", " 'a", ""),
    "curly quotes that open": ("", "“a b c ", ""),
    "quotations": ("", '"the first, the last" ', ""),
    "brackets": ("", "[", "x"),
    "links": ("", "[a](", "x"),
    "braces": ("", "{", "x"),
    "objects that open": ("", '{"a":', "x"),
    "attributes": ("x", " {#a}", "x"),
    "parentheses": ("", "(a", "x"),
    "tags": ("", "<a", "x"),
    "comments": ("", "<!-- a", "x"),
    "comments of a sheet": ("<style>", "/* a", "</style>"),
    "sheets": ("", "<style>", "x"),
    "rules of a sheet": ("<style>", "@a", "</style>"),
    "numbers of a sheet": ('<p style="font-size:', "1", '">x</p>'),
    "thoughts": ("", "<think>a", "{}"),
    "excuses": ("", "sorry, ", "x"),
    "encoded": ("", "aA+", "!"),
    "codes": ("", "A&", "a"),
    "numbers with commas": ("1", ",111", "a"),
    "sections": ("", "§", "x"),
    "numbered": ("", "1.1", "x"),
    "ordinals": ("section ", "1", "x"),
    "references": ("", "section 1, ", "x"),
    "bits": ("", "01010101  ", "x"),
    "letters apart": ("", "A ", "aa"),
    "codes in codes": ("", "A.", "A-1"),
    "exclusions": ("", "not the ", "x"),
    "commands": ("", "ignore skip forget ", "x"),
    "orders": ("", "reveal print ", "x"),
    "mentions": ("", "@a.", "x"),
    "marks that hide": ("x", "\u200b\u00ad", "x"),
    "headings": ("", "# a\n", ""),
    "deeper headings": ("", "## Rule\n\ntext\n\n# Rule\n", ""),
    "quotes in quotes": ("", "> ", "x"),
    "lists in lists": ("", "- ", "x"),
    "cells": ("|", "a|", "\n|-|\n"),
    "one word": ("", "keep ", ""),
    "two words": ("", "keep records ", ""),
    "sentences": ("", "Records are kept for seven years. ", ""),
}
TEXTS = {
    name: f"{before}{part * ((SIZE - len(before) - len(behind)) // len(part))}{behind}"
    for name, (before, part, behind) in _REPEATED.items()
}


def readers() -> dict[str, tuple[Reader, ...]]:
    """By module, what it offers to read a text with. Every module with a pattern or a comparison has an entry."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.test")
    django.setup()
    return {**_of_the_engine(), **_of_the_parsers(), **_of_the_product()}


def _of_the_engine() -> dict[str, tuple[Reader, ...]]:
    from arbitration import (
        alignment,
        bounded_json,
        capped,
        definitions,
        disguise,
        expected_values,
        following,
        grounding,
        injection,
        particulars,
        prompting,
        sentences,
        shown,
        spans,
        tables,
        text,
        versions,
        wording,
    )
    from arbitration.adapters import openai_wire, structured
    from arbitration.contracts import ArbiterOutput
    from arbitration.precedence import dates, documents, statements
    from arbitration.precedence import texts as precedence_texts
    from arbitration.questions import chunker, exclusions, intents, parser, references, translation
    from arbitration.strategies import pointwise
    from tests.arbitration.engine.test_arbiter import pool_of

    half = SIZE // 2
    pool = pool_of()
    anchor = pool.candidates[0]
    return {
        "arbitration.alignment": (lambda t: list(alignment.changes(t[:half], t[half:])),),
        "arbitration.sentences": (sentences.sentences_of,),
        "arbitration.bounded_json": (bounded_json.loads,),
        "arbitration.capped": (capped.capped,),
        "arbitration.definitions": (
            definitions.terms_defined,
            definitions.terms_of,
            lambda t: definitions.uses("Audit Records", t),
        ),
        "arbitration.disguise": (disguise.encoded_run, disguise.hidden_characters, disguise.shown),
        "arbitration.expected_values": (
            expected_values.values_in,
            expected_values.expected_kinds,
            lambda t: expected_values.ExpectedValues(frozenset({"money"}), ("How much?",)).signal([t], "en"),
        ),
        "arbitration.following": (following.depended_on,),
        "arbitration.grounding": (
            lambda t: grounding.check_quotes(t, (t[:half], "Records are kept.")),
            lambda t: grounding.check_quotes(f"“{t[:400]} x y z”", (t,)),
            lambda t: grounding.check_quote(t, (t,)),
            lambda t: grounding.check_quote(t[:900], (t, t[half:])),
        ),
        "arbitration.injection": (injection.injection_reasons,),
        "arbitration.particulars": (lambda t: particulars.particulars_of(_body_lines(t)),),
        "arbitration.precedence.dates": (
            lambda t: list(dates.days_in(t)),
            dates.years_in,
            dates.effective_day,
            dates.version_in,
        ),
        "arbitration.precedence.documents": (
            lambda t: documents.document_relations(
                [_facts(documents, t, "a.md"), _facts(documents, t, "b.md")]
            ),
        ),
        "arbitration.precedence.passages": (_prevailing,),
        "arbitration.precedence.clauses": (_prevailing,),
        "arbitration.precedence.statements": (
            statements.replacement_in,
            statements.edits,
            statements.excepts,
            statements.overrides,
            statements.overrides_everything,
            statements.points_back,
            statements.winner_of_conflict,
            statements.says_it_is_over,
        ),
        "arbitration.precedence.texts": (
            lambda t: list(precedence_texts.sentences_of(t)),
            lambda t: precedence_texts.subject_stems(t, "en"),
        ),
        "arbitration.prompting": (prompting.clean_text, lambda t: prompting.fence(t, label=t)),
        "arbitration.shown": (
            lambda t: shown.places_for_ids(t, {}, pool),
            lambda t: shown.best_sentences(pool, anchor.model_copy(update={"anchor_text": t})),
            lambda t: shown.passage_values(pool, anchor.model_copy(update={"breadcrumb": t}), label=t),
        ),
        "arbitration.spans": (spans.without_code_marks, lambda t: spans.without_spans(t, "<a", "</a>")),
        "arbitration.tables": (
            lambda t: tables.table_in_words(t.split("\n"), text.TermMatcher(["days"], "en")),
        ),
        "arbitration.text": (
            text.normalise,
            text.fold,
            text.join_letter_spaced,
            text.index_terms,
            text.detect_language,
            text.exact_codes,
            text.is_code,
            text.code_prefixes,
            lambda t: text.highlight_spans(
                t, ("records", "seven years", "AC-1", "§ 4", "WHO", "cybersecurity")
            ),
            lambda t: text.highlight_spans(_PLAIN, (t,)),
            lambda t: text.TermMatcher(("keep records", "AC-1", "cybersecurity")).matched_in_each((t, t)),
        ),
        "arbitration.versions": (
            lambda t: versions.word_diff(t, t[::-1]),
            lambda t: versions.section_changes(_sections(versions, t), _sections(versions, t[half:])),
            lambda t: versions.VersionText(_version_lines(versions, t)).match(
                t[half : half + 2000].split("\n")
            ),
            versions.section_key,
            lambda t: versions.squeezed(t.split("\n")),
        ),
        "arbitration.memory": (_split_sentences,),
        "arbitration.wording": (
            lambda t: wording.wordings("How long are records kept?", language="en", passages=[("", t)]),
        ),
        "arbitration.questions.chunker": (lambda t: chunker.chunk(t, "en"), chunker.scope_words),
        "arbitration.questions.exclusions": (lambda t: exclusions.blanked(t, exclusions.exclusions_of(t)),),
        "arbitration.questions.intents": (
            lambda t: intents.intent_of(t, has_reference=False, keywords=(), codes=()),
            lambda t: intents.answer_shape_of(t, "other"),  # type: ignore[arg-type]
            intents.document_fact_of,
        ),
        "arbitration.questions.parser": (parser.parse_question,),
        "arbitration.questions.translation": (
            lambda t: translation.gloss(t, "es", "en"),
            lambda t: translation.other_language_terms(t, "en"),
        ),
        "arbitration.questions.references": (
            references.parse_references,
            references.parse_pages,
            references.leading_address,
            references.heading_text,
            lambda t: references.section_address(t, t),
        ),
        "arbitration.adapters.structured": (
            lambda t: structured.parse_answer(t, ArbiterOutput),
            structured.looks_like_refusal,
        ),
        "arbitration.adapters.openai_wire": (openai_wire.read_chat, openai_wire.read_responses),
        "arbitration.strategies.pointwise": (lambda t: pointwise.parse_grades(t, ["p1_l1_l2"]),),
        "the engine": (_asked,),
    }


def _body_lines(text: str) -> list[object]:
    """One long line, and many short ones behind a word that names parties."""
    from arbitration.documents import Line

    rows = [text, "This agreement is made between ", *(text[at : at + 70] for at in range(0, 4000, 70))]
    return [
        Line(page_num=1, line_num=number, text=row, character_count=len(row))
        for number, row in enumerate(rows, start=1)
    ]


def _facts(documents: object, text: str, name: str) -> object:
    from arbitration.pool import PoolDocument

    document = PoolDocument(document_id=name, name=name, page_count=1)
    return documents.DocumentFacts(document, text, (text[:2000],))  # type: ignore[attr-defined]


def _prevailing(text: str) -> object:
    """Two documents of the text, one of which names the other."""
    from arbitration.documents import ParsedDocument
    from arbitration.memory import InMemoryStore, StoredDocument
    from arbitration.parsing.drafts import to_wire
    from arbitration.pipeline import ask

    said = (
        "Records Rules\nRecords are kept for seven years under section 1. ",
        "Amendment to the Records Rules\nSection 1 is replaced: ",
    )
    stored = [
        StoredDocument(
            f"d{number}",
            f"{number}.txt",
            ParsedDocument.model_validate_json(to_wire(_parsed("txt")(part + text))),  # type: ignore[arg-type]
        )
        for number, part in enumerate(said, start=1)
    ]
    return ask(question="How long are records kept?", store=InMemoryStore(stored))


_PLAIN = "The keeper keeps every record for seven years after the audit has closed."


def _sections(versions: object, text: str) -> list[object]:
    return [versions.VersionSection(row[:80], row) for row in text.split("\n")]  # type: ignore[attr-defined]


def _version_lines(versions: object, text: str) -> list[object]:
    rows = [text[start : start + 160] for start in range(0, len(text), 160)]
    return [
        versions.VersionLine(text=row, page_num=1, line_num=number, heading="")  # type: ignore[attr-defined]
        for number, row in enumerate(rows, start=1)
    ]


def _of_the_parsers() -> dict[str, tuple[Reader, ...]]:
    from arbitration.parsing import (
        clauses,
        html_hidden,
        labels,
        language,
        markdown,
        numbering,
        offsets,
        pdf_rows,
        toc,
    )
    from arbitration.parsing.drafts import DraftLine
    from arbitration.parsing.headings import find_headings
    from arbitration.parsing.passages import build_passages

    def lines(text: str) -> list[DraftLine]:
        """As a parser of pages gives them, which breaks no line: one long line, and one before and behind it."""
        return [
            DraftLine(1, row, number)
            for number, row in enumerate(("1. Rules", text, f"{text[:-1]}-", "x"), 1)
        ]

    return {
        "arbitration.parsing.clauses": (
            lambda t: clauses.find_clauses([(0, t), (1, t)]),
            lambda t: clauses.find_numbered([(n, t) for n in range(4)]),
        ),
        "arbitration.parsing.headings": (lambda t: find_headings(lines(t)),),
        "arbitration.parsing.html": (_parsed("html"),),
        "arbitration.parsing.html_hidden": (
            lambda t: html_hidden.HiddenRules().add_sheet(t),
            lambda t: html_hidden.hides(html_hidden.declarations(f"opacity:{t};color:{t}")),
        ),
        "arbitration.parsing.labels": (labels.names_nothing,),
        "arbitration.parsing.rtf": (_parsed("rtf"),),
        "arbitration.parsing.language": (lambda t: language.guess_language([t]),),
        "arbitration.parsing.mail": (_parsed("eml"),),
        "arbitration.parsing.markdown": (_parsed("md"), markdown.plain),
        "arbitration.parsing.numbering": (
            numbering.heading_number,
            numbering.is_list_item,
            numbering.is_upper_case,
        ),
        "arbitration.parsing.offsets": (offsets.line_spans,),
        "arbitration.parsing.passages": (lambda t: build_passages(lines(t)),),
        "arbitration.parsing.pdf_rows": (pdf_rows.is_label,),
        "arbitration.parsing.plain_text": (_parsed("txt"),),
        "arbitration.parsing.toc": (toc.folded, toc.without_number),
    }


def _parsed(ending: str) -> Reader:
    """A file of the text, read as its ending says, to the end: headings, sections, passages."""
    from arbitration.parsing.limits import ParseLimits
    from arbitration.parsing.registry import parse_here

    head = {
        "html": "<!doctype html><html><body>",
        "eml": "From: a@b.example\nSubject: x\n\n",
        "rtf": "{\\rtf1\\ansi ",
    }.get(ending, "")

    def read(text: str) -> object:
        with tempfile.NamedTemporaryFile(suffix=f".{ending}") as file:
            file.write(f"{head}{text}".encode())
            file.flush()
            return parse_here(Path(file.name), filename=file.name, limits=ParseLimits())

    return read


def _split_sentences(text: str) -> object:
    """A store that has a vector for each sentence cuts passages into sentences."""
    from arbitration.memory import InMemoryStore

    return InMemoryStore([], sentence_vectors=True)._units(text)


def _asked(text: str) -> object:
    """A question to a document that holds nothing but the text, from its lines to the answer."""
    from arbitration.documents import ParsedDocument
    from arbitration.memory import InMemoryStore, StoredDocument
    from arbitration.parsing.drafts import to_wire
    from arbitration.pipeline import ask

    parsed = ParsedDocument.model_validate_json(to_wire(_parsed("txt")(text)))  # type: ignore[arg-type]
    store = InMemoryStore([StoredDocument("d1", "hostile.txt", parsed)])
    return ask(question="How long does section 1 say that records are kept under AC-1?", store=store)


def _of_the_product() -> dict[str, tuple[Reader, ...]]:
    from workbench import direction
    from workbench.documents import finding, likeness, term_queries, versions
    from workbench.erasure import erased_text
    from workbench.infra.diffs import line_diff
    from workbench.infra.storable import storable
    from workbench.labeling import passages, trec
    from workbench.review.cards import reflowed
    from workbench.review.comments import mentions_in
    from workbench.runs.matches import Matches, marked

    half = SIZE // 2
    return {
        "workbench.direction": (
            direction.shown,
            direction.shown_in_html,
            direction.shown_in_json,
            lambda t: direction.is_steered(t.encode()),
        ),
        "workbench.erasure.erased_text": (lambda t: erased_text.Quotations([t]).are_in(t),),
        "workbench.documents.finding": (
            lambda t: finding._spans(t, "records kept", ["records", "kept"], "en"),
            lambda t: finding._spans(_PLAIN, t, [], "en"),
        ),
        "workbench.documents.likeness": (lambda t: likeness.sketch_of([t]),),
        "workbench.documents.term_queries": (
            term_queries.parts,
            lambda t: term_queries.index_words(t, "en"),
            lambda t: term_queries.query_words([t], "en"),
        ),
        "workbench.documents.versions": (lambda t: versions.name_key(t[:255]), versions.title_key),
        "workbench.labeling.passages": (passages._normal,),
        "workbench.labeling.trec": (
            lambda t: list(trec.qrels_rows(f"1 0 {t} 1".encode(), topics=b"1\tWhat?")),
        ),
        "workbench.infra.diffs": (lambda t: line_diff(t[:half].split(" "), t[half:].split(" ")),),
        "workbench.infra.storable": (storable,),
        "workbench.review.cards": (reflowed,),
        "workbench.runs.matches": (
            lambda t: marked(t, ["records", "keep records"], "en", Matches(meant=(("laptop", "equipment"),))),
            lambda t: marked(_PLAIN, [t], "en", Matches(meant=(("laptop", t),))),
        ),
        "workbench.review.comments": (mentions_in,),
    }


def cases() -> Iterator[tuple[str, Callable[[], object]]]:
    """Every reader with every text, by a name."""
    for module, several in readers().items():
        for number, reader in enumerate(several, start=1):
            for name, text in TEXTS.items():
                yield f"{module} {number}: {name}", lambda reader=reader, text=text: reader(text)  # type: ignore[misc]


def main(after: str = "") -> None:
    """Runs the cases behind the one named, all of them without a name."""
    is_reached = not after
    for name, read in cases():
        if is_reached:
            print(name, flush=True)
            # What a text is refused with is not the matter here.
            with suppress(Exception):
                read()
        is_reached = is_reached or name == after
    print("end", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
