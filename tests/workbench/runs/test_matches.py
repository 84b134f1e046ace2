"""Which words of a passage meet the question's: marked in its text, said in words, and kept from who decides blind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.pool import WordMatch
from tests.workbench.cast import Cast
from tests.workbench.scene import TokenHashEmbedder, make_document, make_run
from workbench.documents import reembedding
from workbench.documents.embedding import active_space
from workbench.review import cards
from workbench.review.blindness import Sight
from workbench.runs import execution
from workbench.runs.matches import Matches, marked
from workbench.runs.models import Candidate, CandidateText
from workbench.runs.templatetags.evidence import marked as shown

TEXT = "Equipment that was misplaced is reported. Loss of equipment is kept on record."


def word(asked: str, met: str, weight: float = 0.1) -> dict[str, Any]:
    return WordMatch(asked=asked, met=met, cosine=0.8, weight=weight).model_dump()


def texts(parts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(part["text"], part["meets"]) for part in parts if part["matched"]]


class TestMarks:
    def test_both_kinds_are_marked_wherever_they_stand(self) -> None:
        matches = Matches.of([word("laptop", "equipment"), word("reporting", "reported")], "en")

        parts = marked(TEXT, [], "en", matches)

        assert texts(parts) == [("Equipment", "laptop"), ("reported", ""), ("equipment", "laptop")]
        assert "".join(part["text"] for part in parts) == TEXT

    def test_a_keyword_is_never_said_to_be_near_only(self) -> None:
        matches = Matches.of([word("laptop", "equipment")], "en")

        assert texts(marked(TEXT, ["loss of equipment"], "en", matches)) == [
            ("Equipment", "laptop"),
            ("Loss of equipment", ""),
        ]

    @given(
        text=st.text(alphabet="ab-'é \n", max_size=60),
        keywords=st.lists(st.sampled_from(["a", "ab a", "bé"]), max_size=3),
        met=st.lists(st.sampled_from(["b", "ab", "a-b", "é"]), max_size=3),
    )
    def test_no_text_is_lost_or_said_twice(self, text: str, keywords: list[str], met: list[str]) -> None:
        matches = Matches(meant=tuple(("asked", word) for word in met))

        parts = marked(text, keywords, "en", matches)

        assert "".join(part["text"] for part in parts) == text
        assert all(part["text"] for part in parts)

    def test_text_and_title_stay_text(self) -> None:
        parts = [{"text": '<b>"x"</b>', "matched": True, "meets": '"><i>'}, {"text": "&", "matched": False}]

        assert shown(parts) == (
            '<mark class="by-meaning" title="&quot;&gt;&lt;i&gt; ↔ &lt;b&gt;&quot;x&quot;&lt;/b&gt;">'
            "&lt;b&gt;&quot;x&quot;&lt;/b&gt;</mark>&amp;"
        )

    def test_every_word_of_a_long_text_is_looked_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[str] = []

        def counted(text: str) -> str:
            seen.append(text)
            return text.lower()

        monkeypatch.setattr("workbench.runs.matches.fold", counted)
        matches = Matches(meant=tuple((f"asked{n}", f"word{n}") for n in range(20)))

        parts = marked("word1 " * 5000, [], "en", matches)

        assert len(seen) == 5000 + 20
        assert len(texts(parts)) == 5000


def test_words_near_in_meaning_are_named_in_pairs() -> None:
    rows = [
        word("retain", "retained", 0.3),
        word("laptop", "Equipment", 0.2),
        word("records", "records", 0.4),
    ]
    assert Matches.of(rows, "en").pairs == ["laptop ↔ Equipment"]
    assert Matches.of(rows, "en").same == ("records", "retain")


@pytest.fixture
def candidate(cast: Cast, here: None, monkeypatch: pytest.MonkeyPatch) -> Candidate:
    """Of a finished run on a document with vectors of tokens."""
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    for _ in reembedding.Reembedding(TokenHashEmbedder(), active_space()).steps():
        pass
    monkeypatch.setattr(execution, "current_embedder", TokenHashEmbedder)
    run = make_run(asker=cast.analyst, document=document)
    return run.candidates.select_related("text").exclude(text__matched_words=[])[0]


def card(
    candidate: Candidate, cast: Cast, monkeypatch: pytest.MonkeyPatch, *, hidden: bool
) -> dict[str, Any]:
    monkeypatch.setattr(Sight, "hides", lambda self, **_: hidden)
    (row,) = execution.Candidate.objects.filter(pk=candidate.pk).select_related("text", "document", "run")
    return cards.card_of(row, run=row.run, sight=Sight(cast.reviewer), reviewer=None)


@pytest.mark.django_db
class TestCard:
    def test_the_words_are_kept_beside_the_text(self, candidate: Candidate) -> None:
        (first, *_) = candidate.text.matched_words

        assert set(first) == {"asked", "met", "cosine", "weight"}
        assert first["met"] in candidate.text.anchor

    def test_a_card_shows_what_meets_by_meaning(
        self, candidate: Candidate, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        met = candidate.text.anchor.split()[-1].strip(".")
        CandidateText.objects.filter(pk=candidate.pk).update(matched_words=[word("laptop", met)])

        open_card = card(candidate, cast, monkeypatch, hidden=False)

        assert open_card["meant"] == [f"laptop ↔ {met}"]
        assert (met, "laptop") in texts(open_card["snippet"])

    def test_a_hidden_card_shows_the_questions_keywords_and_nothing_that_was_measured(
        self, candidate: Candidate, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        met = candidate.text.anchor.split()[-1].strip(".")
        CandidateText.objects.filter(pk=candidate.pk).update(
            matched_words=[word("laptop", met), word("zebra", "zebra")]
        )

        hidden = card(candidate, cast, monkeypatch, hidden=True)

        assert (hidden["meant"], hidden["reason"]) == ([], None)
        assert all(part["meets"] == "" for part in hidden["snippet"] + hidden["context"])
        keywords = marked(
            cards.reflowed(candidate.text.anchor), candidate.matched_keywords, candidate.document.language
        )
        assert hidden["snippet"] == keywords
