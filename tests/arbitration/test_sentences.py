from __future__ import annotations

from arbitration.sentences import SentenceMap, sentences_of

TEXT = "  First part\nends here. Second one (b) is\nlonger! A third"


def test_sentences_come_on_one_line_with_the_lines_they_stand_on() -> None:
    found = [(s.text, s.first, s.last) for s in sentences_of(TEXT)]

    assert found == [
        ("First part ends here.", 0, 1),
        ("Second one (b) is longer!", 1, 2),
        ("A third", 2, 2),
    ]
    assert sentences_of(" \n ") == []


def test_where_sentences_and_lines_begin() -> None:
    found = SentenceMap.of(TEXT)

    assert found.begins == (0, 22, 48)
    assert found.lines == (0, 11, 40)
    assert [found.flat[begin:].split()[0] for begin in found.begins] == ["First", "Second", "A"]
