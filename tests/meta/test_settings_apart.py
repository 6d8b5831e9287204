"""Two settings of one judge have different labels in all outputs."""

from __future__ import annotations

from meta.makers import judgment, people, ratings, sentences, voted
from meta.studies import STUDIES
from together import together

from summeter.meta import Study, agreement_lines
from summeter.records import Judgment

COLD, WARM = "j|judge:acme/one|t:0|v:1", "j|judge:acme/one|t:1|v:1"
ITEMS = [(f"d{i}", system) for i in range(6) for system in "ABC"]


def rating(place: int, turn: int) -> float:
    return float((place * (turn + 2) + place // 3) % 5 + 1)


def judged() -> list[Judgment]:
    both: list[Judgment] = []
    for turn, signature in enumerate((COLD, WARM)):
        table: dict[str, dict[str, float | None]] = {}
        for place, (document, system) in enumerate(ITEMS):
            table.setdefault(document, {})[system] = rating(place, turn)
        both += ratings(table, signature=signature)
        labels = {item: [place % 2, (place + turn) % 2] for place, item in enumerate(ITEMS)}
        both += sentences(labels, signature=signature)
        both += [
            judgment(document, system, 0.0, label=0, error_type="entity error", signature=signature, unit="sentence",
                     index=2, aspect="faithfulness")
            for document, system in ITEMS
        ]  # fmt: skip
    texts = ("it flows", "facts are missing")
    return [row.model_copy(update={"model": "acme/one", "reason": texts[place % 2]}) for place, row in enumerate(both)]


def gold() -> list[Judgment]:
    cells = {item: {"x": rating(place, 3), "y": rating(place, 4)} for place, item in enumerate(ITEMS)}
    labels = {
        item: [{"x": place % 2, "y": place % 2}, {"x": 1, "y": place % 3 % 2}] for place, item in enumerate(ITEMS)
    }
    types = [
        judgment(document, system, 0.0, label=0, error_type="entity error", judge=who, unit="sentence", index=2,
                 aspect="faithfulness", signature="human.sentence_labels|v:1")
        for document, system in ITEMS for who in "xy"
    ]  # fmt: skip
    return [*people(cells), *voted(labels), *types]


APART = sorted(
    set(STUDIES) - {"classify", "compare judges of documents", "prefer by system", "self_consistency", "simulate"}
)


@together("name", APART)
def test_two_settings_of_one_judge(name: str) -> None:
    study = STUDIES[name](judged(), gold(), 10)
    for kind in dict.fromkeys(row.study for row in study):
        table = Study(kind, [row for row in study if row.study == kind]).table()
        names = [tuple(row[: table.heads.index("value")]) for row in table.cells()]
        assert len(set(names)) == len(names), kind
    assert len(set(study.notes)) == len(study.notes)
    for note in study.notes:
        assert " j " not in f" {note.replace(',', ' ').replace(':', ' ')} ", note
    if name == "people":
        assert len(set(agreement_lines(study))) == len(study.rows)
