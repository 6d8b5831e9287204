"""Agreement of annotators: by hand, against `stats`, and against published values of alpha."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meta.duels import sound
from meta.makers import judgment, people, ratings, sentences, voted
from together import together

from summeter.data.dataset import load
from summeter.meta._agree import AgreeOptions, agree, export, leave_one_out, override_rate
from summeter.meta.measure import COEFFICIENTS, estimate
from summeter.meta.results import Study, resampling
from summeter.meta.sample import Rater, Sample, Units
from summeter.records import Judgment, Span, Target, UsageError
from summeter.scoring.table import Categorical, JudgmentTable
from summeter.stats import cohen_kappa, fleiss_kappa, gwet_ac1, gwet_ac2, krippendorff_alpha

NAN = float("nan")

# Two annotators on four sentences of two documents: 0 0 1 1 against 0 1 1 1. Alpha = 1 - .25 / .5357 = .5333.
LABELS = {
    ("d1", "A"): [{"x": 0, "y": 0}, {"x": 0, "y": 1}],
    ("d2", "A"): [{"x": 1, "y": 1}, {"x": 1, "y": 1}],
}
RATED = {("d1", "A"): {"x": 5, "y": 4}, ("d1", "B"): {"x": 4, "y": 4}, ("d2", "A"): {"x": 2, "y": None},
         ("d2", "B"): {"x": 1, "y": 2}, ("d3", "A"): {"x": 3, "y": 5}}  # fmt: skip


def cast(votes: np.ndarray) -> Sample:  # type: ignore[type-arg]
    """Return votes raters x units, with one document per unit."""
    documents = Categorical.of([f"d{place}" for place in range(votes.shape[1])])
    units = Units.of_summaries(documents, Categorical.same("A", votes.shape[1]))
    raters = [Rater(f"r{place}", "human.ratings|v:1", None, "coherence") for place in range(len(votes))]
    return Sample.of_values(units, raters, votes)


def value(study: Study, statistic: str, **more: object) -> float | None:
    return study.one(**{"study": "agreement", "statistic": statistic, **more}).value


def test_labels_by_hand() -> None:
    study = agree(voted(LABELS), resamples=100)
    sound(study)
    assert value(study, "alpha_nominal") == pytest.approx(1 - 0.25 / (2 * 3 * 5 / 56))
    # Cohen: po = .75, pe = .5 * .25 + .5 * .75 = .5. Fleiss: pe = (3/8)^2 + (5/8)^2 = .53125.
    assert value(study, "kappa_cohen") == pytest.approx(0.5)
    assert value(study, "kappa_fleiss") == pytest.approx((0.75 - 0.53125) / (1 - 0.53125))
    # AC1: pe = 2 * 3/8 * 5/8 = .46875.
    assert value(study, "ac1") == pytest.approx((0.75 - 0.46875) / (1 - 0.46875))
    row = study.one(statistic="ac1")
    assert (row.n, row.missing, row.level) == (4, 0, "sentence")
    assert row.gold_signature == "human.sentence_labels|merge:none|v:1"
    assert (row.details["raters"], row.details["votes"], row.details["observed"]) == (2, 8, 0.75)


def test_ratings_by_hand() -> None:
    study = agree(people(RATED), resamples=100)
    sound(study)
    # d2/A has one vote. Alpha interval: of 4 pairs the squared gaps are 1 0 1 4, observed 2 * 6 / 8 = 1.5; over all
    # 56 ordered pairs of 5 4 4 4 1 2 3 5: 2 (8 * 112 - 28^2) = 224, expected 224 / 56 = 4.
    row = study.one(statistic="alpha_interval")
    assert row.value == pytest.approx(1 - 1.5 / 4)
    assert (row.n, row.missing) == (4, 1)
    # Population deviations: .5, 0, .5, 1.
    assert value(study, "rater_deviation") == pytest.approx(0.5)
    # Within d1 y is constant, d2 has one common item, d3 one.
    pairwise = study.one(statistic="mean_pairwise_pearson")
    assert pairwise.value is None
    assert pairwise.details["undefined_documents"] == 3


@together("name", COEFFICIENTS)
def test_coefficients_handle_empty_single_and_constant_votes(name: str) -> None:
    for votes in (np.full((2, 3), NAN), np.array([[1.0], [1.0]]), np.ones((2, 4)), np.zeros((3, 0))):
        got = estimate(cast(votes), name, resampling(20))
        assert (got.value is None) == (got.status == "undefined")
        assert got.value is not None or got.reason
        assert got.n + got.missing == votes.shape[1]


def test_a_vote_off_the_scale_is_undefined() -> None:
    got = estimate(replace(cast(np.array([[1.0, 2.5], [1.0, 2.0]])), scale=(1, 2, 3)), "ac2", resampling(0))
    assert (got.value, got.reason) == (None, "some votes are not on the scale 1, 2, 3")
    assert estimate(cast(np.array([[-1.0, 2], [1.0, 2]])), "alpha_ratio", resampling(0)).reason


def test_the_scale_is_that_of_all_votes() -> None:
    # In d1 alone no one used 1: the scale stays 0 and 1, so AC1 of a full agreement there is 1, not undefined.
    votes = {("d1", "A"): [{"x": 0, "y": 0}], ("d2", "A"): [{"x": 1, "y": 0}]}
    study = agree(voted(votes), by="document", resamples=0)
    sound(study)
    found = {row.details.get("group"): row.value for row in study.where(statistic="ac1")}
    assert found["d1"] == 1.0
    given_scale = agree(voted(votes), coefficients=("ac1",), scale=(0, 1, 2), resamples=0)
    assert given_scale.one(statistic="ac1").details["scale"] == [0, 1, 2]


votes_strategy = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.0, NAN]), min_size=raters, max_size=raters), min_size=3, max_size=9
    )
)


@settings(max_examples=20)
@given(votes_strategy, st.integers(0, 99))
def test_draws_equal_the_statistic_on_resampled_units(rows: list[list[float]], seed: int) -> None:
    votes = np.array(rows).T
    documents = np.arange(votes.shape[1]) // 2
    size = int(documents.max()) + 1
    times = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), 6)
    scale = (1.0, 2.0, 3.0)
    weights = times.astype(float)
    quick = {f"alpha_{level}": krippendorff_alpha(votes, level, documents)
             for level in ("nominal", "ordinal", "interval", "ratio")}  # fmt: skip
    quick |= {
        "kappa_fleiss": fleiss_kappa(votes, scale, documents),
        "ac1": gwet_ac1(votes, scale, documents),
        "ac2": gwet_ac2(votes, "quadratic", scale, documents),
        "kappa_cohen": cohen_kappa(votes, scale=scale, clusters=documents),
    }
    slow = {
        "kappa_fleiss": lambda v: fleiss_kappa(v, scale), "ac1": lambda v: gwet_ac1(v, scale),
        "ac2": lambda v: gwet_ac2(v, scale=scale), "kappa_cohen": lambda v: cohen_kappa(v, scale=scale),
    }  # fmt: skip
    for draw, row in enumerate(times):
        columns = np.repeat(np.arange(votes.shape[1]), row[documents])
        for name, agreement in quick.items():
            function = slow.get(name) or (lambda v, n=name: krippendorff_alpha(v, n.removeprefix("alpha_")))
            want = function(votes[:, columns]).value
            assert agreement.weighted(weights)[draw] == pytest.approx(
                NAN if want is None else want, abs=1e-9, nan_ok=True
            ), name


def test_each_annotator_and_leave_one_out() -> None:
    votes = {("d1", "A"): [{"x": 1, "y": 1, "z": 0}, {"x": 0, "y": 0, "z": 1}, {"x": 1, "y": 1, "z": 1}]}
    study = agree(voted(votes), coefficients=("kappa_cohen",), each=True, resamples=0)
    sound(study)
    # Without z the others agree fully; z beside the majority of x and y (1 0 1): po = 1/3, pe = 1/3 * 1/3 + 2/3 * 2/3.
    assert study.one(study="agreement_without", judge="z").value == 1.0
    assert study.one(study="annotator", judge="z").value == pytest.approx((1 / 3 - 5 / 9) / (4 / 9))
    # x against y and z, who differ on the first two sentences: one sentence is left, with equal labels.
    alone = study.one(study="annotator", judge="x")
    assert (alone.value, alone.n, alone.missing) == (None, 1, 2)
    assert alone.gold_signature == "human.sentence_labels|merge:majority|tie:drop|v:1"
    assert study.one(study="agreement_without", judge="z").gold_signature == "human.sentence_labels|merge:none|v:1"


TENTHS = [(0.1, 0.2, 0.3, 0.2), (0.3, 0.2, 0.1, 0.2), (0.7, 0.7, 0.1, 0.3), (0.3, 0.1, 0.7, 0.7), (0.2, 0.3, 0.1, 0.6)]
"""Means of three that are equal must be one value: .1 + .2 + .3 in another order is another float."""
DECISIONS = [(1, 1, 0, 1), (0, 0, 0, 1), (1, 0, 0, NAN), (1, 1, 1, 1), (0, 1, 0, 0), (NAN, 0, 1, 0)]


@pytest.mark.parametrize(
    ("marks", "coefficient"),
    [
        *((TENTHS, f"alpha_{level}") for level in ("nominal", "ordinal", "interval", "ratio")),
        (TENTHS, "icc"),
        (TENTHS, "rater_deviation"),
        *((DECISIONS, name) for name in ("alpha_nominal", "kappa_cohen", "kappa_fleiss", "ac1", "identical")),
    ],
)
def test_leave_one_out_equals_annotator_rows(marks: list[tuple[float, ...]], coefficient: str) -> None:
    rows = [
        judgment(
            f"d{number}",
            "A",
            mark,
            judge=who,
            signature="human.ratings|v:1",
            label=mark if marks is DECISIONS else None,
        )
        for number, cast_votes in enumerate(marks)
        for who, mark in zip("wxyz", cast_votes, strict=True)
        if not np.isnan(mark)
    ]
    study = agree(rows, coefficients=[coefficient], each=True, resamples=0).where(study="annotator")
    found = {rater.judge: (got.value, got.n) for rater, got in leave_one_out(JudgmentTable.of(rows), coefficient)}
    assert found == {row.judge: (pytest.approx(row.value), row.n) for row in study}
    assert len(found) == 4


def test_others_who_all_call_a_pair_even_agree() -> None:
    cast = {"a": 0.5, "b": 0.5, "c": 0.5, "e": 1.0}
    rows = [
        Judgment(target=Target(document_id=f"d{i}", system="A", rival="B", unit="pair"), aspect="overall", judge=who,
                 signature="human.pairs|v:1", value=vote if i else 0.0)
        for i in range(3) for who, vote in cast.items()
    ]  # fmt: skip
    study = agree(rows, coefficients=("alpha_nominal",), each=True, resamples=0)
    beside = study.one(study="annotator", judge="a")
    # Beside b, c and e, of whom two call the pair even, a agrees on each document.
    assert (beside.value, beside.n, beside.missing) == (1.0, 3, 0)


def test_a_judge_beside_people() -> None:
    judge = sentences({("d1", "A"): [0, 0], ("d2", "A"): [1, None]})
    study = agree(voted(LABELS), judges=[judge], coefficients=("kappa_cohen",), resamples=0)
    sound(study)
    # People merged (ties: supported) 0 1 1 1; the judge 0 0 1 on three: po = 2/3, pe = 1/3 * 2/3 + 2/3 * 1/3.
    row = study.one(study="judge_and_people")
    assert row.value == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    assert (row.judge, row.n, row.gold_signature) == ("j", 3, "human.sentence_labels|merge:majority|tie:high|v:1")
    with_all = study.one(study="agreement_with_judge")
    # On the three: x and y .4, x and the judge 1, y and the judge .4.
    assert with_all.details["people"] == pytest.approx(0.4)
    assert with_all.value == pytest.approx((0.4 + 1 + 0.4) / 3)
    assert with_all.details["change"] == pytest.approx(0.2)


def test_a_judge_that_names_no_list_of_key_facts_is_beside_the_list_people_judged() -> None:
    votes = [
        judgment("d", "A", float(label), label=label, unit="key_fact", index=index, list_id="x", judge=who,
                 aspect="completeness", signature="human.key_fact_labels|v:1")
        for who in ("ann", "bob") for index, label in enumerate([0, 1, 1])
    ]  # fmt: skip
    own = sentences({("d", "A"): [0, 1, 1]}, unit="key_fact", aspect="completeness")
    study = agree(votes, judges=[own], coefficients=("alpha_nominal",), resamples=0)
    beside = study.one(study="judge_and_people")
    assert (beside.value, beside.n) == (1.0, 3)


def test_a_judge_outside_the_scale_is_undefined() -> None:
    judge = ratings({"d1": {"A": 90.0, "B": 80.0}})
    study = agree(people(RATED), judges=[judge], resamples=0)
    sound(study)
    for row in study.where(judge="j"):
        assert row.value is None
        assert "outside people's scale (1-5)" in (row.reason or "")


def test_scores_of_summaries_from_labels() -> None:
    # x gives d1 0 of 2, d2 2 of 2; y gives 1 of 2 and 2 of 2.
    study = agree(voted(LABELS), level="summary", coefficients=("rater_deviation",), resamples=0)
    row = study.one(statistic="rater_deviation")
    assert (row.value, row.n, row.level) == (0.125, 2, "summary")
    with pytest.raises(UsageError, match="unknown level 'document'; choose one of sentence, key_fact, summary, pair"):
        agree(voted(LABELS), level="document")


def test_types_agree_whatever_their_spelling_and_order() -> None:
    pairs = [("OutE", "out-of-context error"), ("EntE+RelE", "RelE+entity error"), ("EntE", "EntE"), ("OutE", "EntE")]
    rows = [
        judgment(f"d{i}", "A", 0.0, label=0, error_type=kind, judge=who, unit="sentence", index=0,
                 aspect="faithfulness", signature="human.sentence_labels|v:1")
        for i, kinds in enumerate(pairs) for who, kind in zip("ab", kinds, strict=True)
    ]  # fmt: skip
    study = agree(rows, error_types=True, resamples=0)
    # o o, er er, e e, o e: observed 2/8; of eight votes o 3, er 2, e 3: expected 1 - (3 * 2 + 2 * 1 + 3 * 2) / (8 * 7).
    assert study.one(statistic="alpha_nominal").value == pytest.approx(1 - (2 / 8) / (42 / 56))
    given = [row[6:] for row in export(rows, AgreeOptions(error_types=True)).rows]
    assert given[0] == ("OutE", "OutE")


def span(document: str, system: str, who: str, start: int, end: int) -> Judgment:
    target = Target(document_id=document, system=system, unit="span", index=start)
    return Judgment(
        target=target, aspect="faithfulness", judge=who, signature="human.spans|v:1", value=0.0, label=0,
        evidence=(Span(of="summary", start=start, end=end),),
    )  # fmt: skip


def test_spans_by_hand() -> None:
    # d1/A: x marks 0-4, y 2-6: two characters of both, four of each. d2/A: only x marks, 0-2; y rated it, so saw it.
    marks = [span("d1", "A", "x", 0, 4), span("d1", "A", "y", 2, 6), span("d2", "A", "x", 0, 2)]
    rated = people({("d1", "A"): {"x": 1, "y": 1}, ("d2", "A"): {"x": 1, "y": 2}})
    study = agree(marks + rated, resamples=50)
    sound(study)
    row = study.one(statistic="span_f1")
    assert row.value == pytest.approx(2 * 2 / (6 + 4))
    assert (row.n, row.missing, row.level) == (2, 0, "summary")
    # Nobody says that y saw d2, where only spans are known: one summary is left.
    only = agree(marks, coefficients=("span_f1",), resamples=0).one(statistic="span_f1")
    assert (only.value, only.n, only.missing) == (0.5, 1, 1)
    assert agree(rated, resamples=0).where(statistic="span_f1").rows == ()


def test_a_single_annotator_has_no_agreement() -> None:
    both = voted(LABELS) + people({("d1", "A"): {"people": 3}}, "overall")
    study = agree(both, resamples=0)
    assert study.where(aspect="overall").rows == ()
    assert "overall: one annotator, or merged votes, 1 units (summary)" in study.notes
    asked = agree(both, aspect="overall", resamples=0)
    sound(asked)
    assert {row.value for row in asked} == {None}


def test_no_votes_at_all() -> None:
    with pytest.raises(UsageError, match="no unit has votes of two annotators"):
        agree([])
    with pytest.raises(UsageError, match="people did not vote on 'fluency'"):
        agree(people(RATED), aspect="fluency")
    for bad in ({"coefficients": ("kappa",)}, {"weights": "cubic"}, {"icc_model": "4,1"}):
        with pytest.raises(UsageError, match="unknown "):
            agree(people(RATED), **bad)  # type: ignore[arg-type]


def test_overruled_both_ways() -> None:
    shown = sentences({("d1", "A"): [1, 1, 0, 0], ("d2", "A"): [1, None]})
    final = voted({("d1", "A"): [{"x": 1}, {"x": 0}, {"x": 0}, {"x": 1}], ("d2", "A"): [{"x": 1}, {"x": 1}]})
    study = override_rate(shown, final, resamples=100)
    sound(study)
    # Shown 1 1 0 0 1, decided 1 0 0 1 1: 1 of 3 shown as 1 and 1 of 2 shown as 0 were overruled, 2 of 5 in all.
    found = {row.details.get("shown"): (row.value, row.n) for row in study}
    assert found == {None: (0.4, 5), 1: (pytest.approx(1 / 3), 3), 0: (0.5, 2)}
    assert study[0].missing == 1
    turned = override_rate(shown, final, merge="x", resamples=0)
    assert turned[0].gold_signature == "human.sentence_labels|annotator:x|v:1"
    with pytest.raises(UsageError, match="none in common"):
        override_rate(ratings({"d1": {"A": 1.0}}), final)


def test_votes_on_pairs_by_hand() -> None:
    def choice(who: str, document: str, system: str, rival: str, value: float) -> Judgment:
        target = Target(document_id=document, system=system, rival=rival, unit="pair")
        return Judgment(target=target, aspect="overall", judge=who, signature="human.pairs|v:1", value=value)

    # x and y on three pairs: 1 1, 1 0, 0 0, one of them named the other way round.
    cast = [choice("x", "d1", "A", "B", 1), choice("y", "d1", "B", "A", 0), choice("x", "d2", "A", "B", 1),
            choice("y", "d2", "A", "B", 0), choice("x", "d2", "A", "C", 0), choice("y", "d2", "A", "C", 0)]  # fmt: skip
    study = agree(cast, resamples=20)
    sound(study)
    # Cohen: po = 2/3, pe = 2/3 * 1/3 + 1/3 * 2/3 = 4/9.
    row = study.one(statistic="kappa_cohen")
    assert row.value == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    assert (row.n, row.level, row.gold_signature) == (3, "pair", "human.pairs|merge:none|v:1")
    assert ("overall", "pair", "d1", "A vs B", None, None, 1, 1) in export(cast, AgreeOptions()).rows
    # Ratings of the same aspect go first, unless pairs are asked for.
    both = [*cast, *people({("d1", "A"): {"x": 1, "y": 2}, ("d2", "A"): {"x": 2, "y": 2}}, "overall")]
    assert {row.level for row in agree(both, resamples=0)} == {"summary"}
    assert {row.level for row in agree(both, level="pair", resamples=0)} == {"pair"}


def test_export_is_the_raw_matrix() -> None:
    table = export(people(RATED), AgreeOptions())
    assert table.heads == ["aspect", "unit", "doc_id", "system", "list_id", "index", "x", "y"]
    assert ("coherence", "summary", "d2", "A", None, None, 2, None) in table.rows
    assert len(table.rows) == 5


@pytest.mark.shared
@pytest.mark.parametrize("name", ["qags_cnndm", "qags_xsum"])
def test_qags_alpha(shared: Path, name: str) -> None:
    study = agree(load(shared / "data" / f"{name}.jsonl.gz"), resamples=0)
    want = published(shared)[name, "Krippendorff alpha, sentence labels, nominal"]
    assert round(value(study, "alpha_nominal") or 0.0, 4) == want


@pytest.mark.shared
def test_dialsummeval_alphas(shared: Path) -> None:
    figures = published(shared)
    campus = agree(load(shared / "data" / "dialsummeval.jsonl.gz"), resamples=0)
    crowd = agree(load(shared / "data" / "dialsummeval_amt.jsonl.gz"), resamples=0)
    for aspect in ("coherence", "consistency", "fluency", "relevance"):
        for level in ("nominal", "ordinal", "interval"):
            want = figures["dialsummeval", f"Krippendorff alpha {aspect} {level}, 3 campus annotators"]
            assert round(value(campus, f"alpha_{level}", aspect=aspect) or 0.0, 4) == want
        row = crowd.one(aspect=aspect, statistic="alpha_interval")
        assert round(row.value or 0.0, 4) == figures[
            "dialsummeval_amt", f"Krippendorff alpha {aspect} interval, 283 AMT workers"
        ]  # fmt: skip
        assert row.details["raters"] == 283


@pytest.mark.shared
def test_realsumm_alpha(shared: Path) -> None:
    study = agree(load(shared / "data" / "realsumm.jsonl.gz"), aspect="completeness", resamples=0)
    want = published(shared)["realsumm", "Krippendorff alpha nominal, key-fact labels"]
    assert round(value(study, "alpha_nominal") or 0.0, 4) == want


def published(shared: Path) -> dict[tuple[str, str], float]:
    entries = json.loads((shared / "data" / "expected.json").read_text(encoding="utf-8"))["entries"]
    return {(one["dataset"], one["statistic"]): one["recomputed"] for one in entries}


def test_merged_values_are_not_votes() -> None:
    alone = agree(voted(LABELS), resamples=0)
    came_merged = {("d3", "A"): [{"people": 1}, {"people": 0}], ("d4", "A"): [{"people": 1}]}
    beside = agree(voted({**LABELS, **came_merged}), resamples=0)
    for row in alone:
        assert value(beside, str(row.statistic)) == row.value
        assert beside.one(statistic=row.statistic).n == row.n
    each = agree(voted({**LABELS, **came_merged}), each=True, resamples=0)
    assert "people" not in {row.details.get("annotator") for row in each}


def test_a_rating_of_another_summary_is_no_search_for_spans() -> None:
    marks = [{"annotator": who, "start": 0, "end": 4, "label": 0} for who in "ab"]
    row = {"doc_id": "d", "document": "It rained.", "summary": "Rain fell."}
    data = load([
        {**row, "system": "s", "human": {"spans": marks, "span_annotators": ["a", "b"]}},
        {**row, "system": "t", "human": {"ratings": {"fluency": {"a": 1, "b": 2}}}},
    ])  # fmt: skip
    (found,) = agree(data.judgments("human.raw"), coefficients=["span_f1"], resamples=0).where(statistic="span_f1")
    assert found.n == 1
