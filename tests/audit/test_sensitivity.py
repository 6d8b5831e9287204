"""The sensitivity audit: planted texts, and judges that notice every error or none."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from together import together

from summeter.audit import sensitivity
from summeter.audit.planting import ERRORS, REWRITES, Planted, Subject, plant
from summeter.data.dataset import load
from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.meta.results import read_study
from summeter.records import Item, Judgment, UsageError

DOCUMENT = (
    "Mayor Anna Berg told reporters in Oslo that the bridge was closed on 3 March for 14 months. "
    "Mr. Tom Hale, a baker, asked for help. The repair will cost €350,000, and the council cannot pay it. "
    "Three workers were hired. A second bridge is to open near Bergen."
)


def planted(kind: str, summary: str, document: str = DOCUMENT, wrong: tuple[int, ...] = ()) -> set[str]:
    """Return all texts that some seed plants, with the changes marked."""
    document_, (record,) = next(iter(load([{"document": document, "summary": summary}]).items()))
    found = [plant(Subject(document_, record, wrong), kind, (seed,)) for seed in range(60)]
    return {each.marked for each in found if each}


@together("kind, summary, marked", [
        ("number", "It was closed on 3 March.", {f"It was closed on [3 → {day}] March." for day in range(4, 10)}),
        ("number", "Three workers were hired for 99 days.", set()),  # one starts the sentence, one is not in the source
        ("name", "Anna Berg told reporters about the bridge.",
         {"[Anna Berg → Tom Hale] told reporters about the bridge."}),
        ("name", "A second bridge is to open near Bergen.", {"A second bridge is to open near [Bergen → Oslo]."}),
        ("name", "Anna Berg sings.", set()),  # the source connects the name with no such claim
        ("negation", "The bridge was closed for 14 months.", {"The bridge [was → was not] closed for 14 months."}),
        ("negation", "The council cannot pay the repair.", {"The council [cannot → can] pay the repair."}),
        ("negation", "If the bridge was closed, it was closed in March.", set()),
        ("negation", "The moon is made of cheese.", set()),  # not in the source
        ("unit", "It was closed for 14 months.",
         {f"It was closed for 14 [months → {unit}s]." for unit in ("minute", "hour", "day", "week", "year")}),
        ("unit", "It will cost €350,000.", {f"It will cost [€ → {sign}]350,000." for sign in "$£"}),
        ("role", "Anna Berg told Tom Hale to wait.", {"[Anna Berg → Tom Hale] told [Tom Hale → Anna Berg] to wait."}),
        ("role", "Anna Berg met Tom Hale.", set()),  # the exchange would not change the claim
        ("omission", "The bridge was closed for 14 months. It is.", {"[The bridge was closed for 14 months. → ]"}),
        ("omission", "The bridge was closed for 14 months.", set()),
        ("contraction", "The council cannot pay it.", {"The council [cannot → can't] pay it."}),
        ("contraction", "They don't pay.", {"They [don't → do not] pay."}),
        ("contraction", "Isn't it? They said: isn't it closed?", set()),
        ("digits", "The council hired two bakers.", {"The council hired [two → 2] bakers."}),
        ("digits", "It lost two thirds on 3 March, by two to one.", set()),
        ("date", "It closed on 3 March.", {"It closed on [3 March → March 3]."}),
        ("date", "It closed on March 3, 2021.", {"It closed on [March 3, 2021 → 3 March 2021]."}),
        ("date", "It closed from 3 March to 5 May.", set()),
        ("synonym", "They nearly won.", {"They [nearly → almost] won."}),
        ("order", "Bakers want help. Repairs cost money.",
         {"[Bakers want help. → Repairs cost money.] [Repairs cost money. → Bakers want help.]"}),
        ("order", "Bakers want help. They cost money.", set()),
    ],
)  # fmt: skip
def test_planted_texts(kind: str, summary: str, marked: set[str]) -> None:
    assert planted(kind, summary) == marked


def test_an_error_is_not_planted_in_a_wrong_sentence() -> None:
    assert planted("negation", "The bridge was closed for 14 months.", wrong=(0,)) == set()
    assert planted("synonym", "They nearly won.", wrong=(0,))


def changes(seed: int) -> list[Planted]:
    document, (summary,) = next(iter(load([{"document": DOCUMENT, "summary": SUMMARY}]).items()))
    subject = Subject(document, summary)
    return [found for kind in (*ERRORS, *REWRITES) if (found := plant(subject, kind, (seed, 0)))]


SUMMARY = (
    "Anna Berg told Tom Hale that the bridge was closed on 3 March for 14 months. Bakers nearly lost three shops. "
    "The council cannot pay €350,000."
)


def test_a_seed_determines_the_changes_and_sentences_stay_whole() -> None:
    assert changes(1) == changes(1) != changes(2)
    for each in changes(1):
        texts = each.summary.sentence_texts
        assert len(texts) == (2 if each.kind == "omission" else 3)
        assert all(text.endswith(".") and text[0].isupper() for text in texts)
        assert each.at is None or texts[each.at] == each.changed != each.original


class Stub(Evaluator):
    """A judge that rejects the sentences in `false`, and rates a summary by its number of sentences if `counts`."""

    name: ClassVar[str] = "stub"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "for tests"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness", "completeness")

    false: tuple[str, ...] = ()
    counts: bool = False

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        pen = JudgmentBuilder(self, item, tools.signature)
        labels = [int(text not in self.false) for text in item.sentences]
        return [
            *(pen.ok("faithfulness", "sentence", at, label=label) for at, label in enumerate(labels)),
            pen.ok("completeness", "summary", value=float(len(labels)) if self.counts else 3.0),
        ]


DATA = [{"doc_id": f"d{number}", "document": DOCUMENT, "summary": SUMMARY} for number in range(3)]


def test_a_constant_judge_notices_nothing_and_a_perfect_one_everything(tmp_path: Path) -> None:
    constant = sensitivity(DATA, [Stub()], out=tmp_path / "constant")
    assert {row.value for row in constant if row.n} == {0.0}
    assert {row.statistic for row in constant} == {"noticed", "punished"}
    items = [item for row in constant.where(statistic="noticed") for item in row.details.get("items", ())]
    errors = {item["changed"] for item in items if item["unit"] == "sentence"}
    perfect = sensitivity(DATA, [Stub(false=tuple(sorted(errors)), counts=True)], out=tmp_path / "perfect")
    for aspect, kinds in (("faithfulness", 4), ("completeness", 1)):
        pooled = next(row for row in perfect.where(aspect=aspect, statistic="noticed"))
        # Three summaries, each with one error of each kind that concerns the aspect, but no other name that suits.
        assert (pooled.value, pooled.details["kind"], pooled.n) == (1.0, "all", 3 * kinds)
        assert pooled.low == pooled.high == 1.0
    assert {row.value for row in perfect.where(statistic="punished") if row.n} == {0.0}
    assert read_study(tmp_path / "perfect" / "sensitivity.json").to_dicts() == perfect.to_dicts()
    assert sensitivity(DATA, [Stub()], out=tmp_path / "again").to_dicts() == constant.to_dicts()


def test_sentences_that_the_judge_rejects_are_left_out(tmp_path: Path) -> None:
    rejected = tuple(next(iter(load(DATA).summaries)).sentence_texts)
    row = sensitivity(DATA, [Stub(false=rejected)], out=tmp_path / "run").where(aspect="faithfulness")[0]
    assert (row.value, row.n, row.details["rejected"]) == (None, 0, 12)
    assert row.reason == "the judge rejects each unchanged sentence"


def test_what_cannot_be_audited_is_an_error(tmp_path: Path) -> None:
    german = [
        {"document": "Die Katze liegt auf der Matte und frisst 14 Mäuse.", "summary": "Die Katze frisst 14 Mäuse."}
    ]
    bare = [{"document": DOCUMENT, "summary": "It was so."}]  # no change suits it
    named = [{**DATA[0], "system": "a"}, {**DATA[0], "system": "a/date"}]  # the name of a change
    for data, judges in ((german, [Stub()]), (bare, [Stub()]), (named, [Stub()]), (DATA, ["h2h"])):
        with pytest.raises(UsageError):
            sensitivity(data, judges, out=tmp_path / "run")
    mixed = sensitivity([*DATA, *german], [Stub()], out=tmp_path / "mixed")
    assert mixed.notes[1] == "1 of the 4 sampled summaries are not English"
