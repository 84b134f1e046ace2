"""Labels and rankings in the files of TREC: qrels, topics and runs, which trec_eval, ir-measures, pytrec_eval and ranx
read.

    qrels    topic 0 passage grade              the label that counts of each pair
    topics   topic <tab> question               what the topics ask
    run      topic Q0 passage rank score tag    the newest finished run of each question under a strategy

A topic is the hash of the question's words, a passage ``d42:p5_l12_l14``: document, page, first and last line. Grades:
primary 2, supporting 1, tangential and discarded 0, so that a grade from 1 on is evidence. Of a run's score only the
order means anything: it is one over the rank. None of these files holds text of a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from django.utils.translation import gettext as _

from arbitration.contracts import CandidateScope, Role, candidate_id
from arbitration.evaluation.question_groups import question_hash
from workbench.accounts.models import User
from workbench.documents.models import Collection
from workbench.errors import WorkbenchError
from workbench.infra.imports import file_text
from workbench.review.blindness import require_sight, require_sight_of_collection
from workbench.runs.models import Candidate, Run, RunStatus
from workbench.runs.records import anchor_of

from .models import Label
from .selectors import labels_for_training
from .transfer import MAX_MEGABYTES, Row

GRADES = {Role.PRIMARY: 2, Role.SUPPORTING: 1, Role.TANGENTIAL: 0, Role.DISCARDED: 0}
_SURVIVORS = (Role.PRIMARY.value, Role.SUPPORTING.value, Role.TANGENTIAL.value)
_PASSAGE = re.compile(
    r"d?(?P<document>[^:\s]+):p(?P<page>\d+)_l(?P<line_from>\d+)(?:_p(?P<page_to>\d+))?_l(?P<line_to>\d+)"
)


# --- out ----------------------------------------------------------------------------------------------------


def qrels_text(*, actor: User, collection: Collection) -> str:
    """The label that counts of every pair; pairs on which people disagree are absent.

    Raises :class:`DecideFirst` for a person who decides blind on a card of the collection.
    """
    require_sight_of_collection(user=actor, collection=collection)
    winners = {int(row.label_id): row.role for row in labels_for_training(collections=[collection])}
    labels = Label.objects.filter(pk__in=list(winners))
    lines = {(label.question_hash, _passage_of_label(label)): GRADES[winners[label.pk]] for label in labels}
    return _text(f"{topic} 0 {passage} {grade}" for (topic, passage), grade in sorted(lines.items()))


def topics_text(*, collection: Collection, strategy: str = "") -> str:
    """What the topics of the collection's qrels ask; with a strategy, those of its run too."""
    labels = Label.objects.standing().filter(collection=collection)
    topics = dict(labels.order_by("question_hash", "id").values_list("question_hash", "question"))
    if strategy:
        topics |= {topic: run.question.text for topic, run in _newest_runs(collection, strategy).items()}
    return _text(f"{topic}\t{' '.join(question.split())}" for topic, question in sorted(topics.items()))


def run_text(*, actor: User, collection: Collection, strategy: str) -> str:
    """The machine's ranking of each question: what it kept, best first, as it said it, whatever people decided since.

    Raises :class:`WorkbenchError` where nothing was asked under the strategy, and :class:`DecideFirst` for a person who
    must not see one of these runs yet.
    """
    runs = _newest_runs(collection, strategy)
    if not runs:
        raise WorkbenchError(
            _("No finished run of this collection was asked under “%(name)s”.") % {"name": strategy[:40]},
            code="no_runs",
        )
    require_sight(user=actor, runs=list(runs.values()))
    topic_of = {run.pk: topic for topic, run in runs.items()}
    kept = Candidate.objects.filter(run__in=list(topic_of), verdict__role__in=_SURVIVORS)
    ranking: dict[str, list[str]] = {}
    for candidate in kept.order_by("run_id", "verdict__order", "pk").iterator(chunk_size=2000):
        ranking.setdefault(topic_of[candidate.run_id], []).append(_passage_of_candidate(candidate))
    return _text(
        f"{topic} Q0 {passage} {rank} {1 / rank:.6f} {strategy}"
        for topic, passages in sorted(ranking.items())
        for rank, passage in enumerate(dict.fromkeys(passages), start=1)
    )


def _newest_runs(collection: Collection, strategy: str) -> dict[str, Run]:
    runs = Run.objects.filter(collection=collection, strategy=strategy, status=RunStatus.DONE)
    return {question_hash(run.question.text): run for run in runs.select_related("question").order_by("pk")}


def _passage_of_label(label: Label) -> str:
    scope = CandidateScope.model_validate(label, from_attributes=True)
    return candidate_id(scope, document=f"d{label.document_id}")


def _passage_of_candidate(candidate: Candidate) -> str:
    return candidate_id(anchor_of(candidate), document=f"d{candidate.document_id}")


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# --- in -----------------------------------------------------------------------------------------------------


def qrels_rows(content: bytes, *, topics: bytes) -> Iterator[Row]:
    """The rows of a qrels file as :func:`~workbench.labeling.transfer.labels_import` reads rows; a problem in words
    where a line cannot be read. ``topics`` says what each topic asks: its name, a tab, the question."""
    questions = _questions(topics)
    for number, line in enumerate(file_text(content, max_megabytes=MAX_MEGABYTES).splitlines(), start=1):
        if line.strip():
            yield number, _row(line, questions)


def _row(line: str, questions: Mapping[str, str]) -> Mapping[str, str] | str:
    cells = line.split()
    if len(cells) != 4:
        return _("A line of qrels has four words: topic, 0, passage, grade.")
    topic, _iteration, passage, grade = cells
    place = _PASSAGE.fullmatch(passage)
    if topic not in questions:
        return _("The topics do not say what “%(topic)s” asks.") % {"topic": topic[:80]}
    if place is None:
        return _("“%(passage)s” is not a passage such as d42:p5_l12_l14.") % {"passage": passage[:80]}
    role = _role_of(grade)
    if role is None:
        return _("The grade is a whole number, not “%(grade)s”.") % {"grade": grade[:40]}
    return {name: value or "" for name, value in place.groupdict().items()} | {
        "question": questions[topic],
        "role": role.value,
    }


def _role_of(grade: str) -> Role | None:
    """2 and more is primary, 1 supporting, 0 and less (spam, by custom) discarded."""
    if not re.fullmatch(r"[+-]?\d{1,4}", grade):
        return None
    return (Role.DISCARDED, Role.SUPPORTING, Role.PRIMARY)[max(0, min(2, int(grade)))]


def _questions(topics: bytes) -> dict[str, str]:
    questions = {}
    for number, line in enumerate(file_text(topics, max_megabytes=MAX_MEGABYTES).splitlines(), start=1):
        if not line.strip():
            continue
        topic, separator, question = line.partition("\t")
        if not separator or not question.strip():
            raise WorkbenchError(
                _("Line %(line)d of the topics is not a name, a tab and a question.") % {"line": number},
                code="bad_topics",
            )
        questions[topic.strip()] = question.strip()
    return questions
