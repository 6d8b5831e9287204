"""Agreement on error types: names, votes, confusion and localisation accuracy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from meta.makers import imported, judgment

from summeter.meta import errors
from summeter.meta._errors import LOCALISATION, named_types
from summeter.records import Judgment, UsageError
from summeter.records.taxonomy import FINESURE, NO_ERROR


def canonical_type(name: str, rename: dict[str, str] | None = None) -> str:
    (found,) = named_types(name, rename or {})
    return found


def typed(
    kinds: list[str | None], judge: str = "j", signature: str | None = None, document: str = "d"
) -> list[Judgment]:
    """Return judgments with one type per sentence. None is a sentence without a usable judgment."""
    return [
        judgment(document, "A", None if kind is None else float(kind in {"NoE", NO_ERROR}),
                 label=None if kind is None else int(kind in {"NoE", NO_ERROR}), unit="sentence", index=index,
                 aspect="faithfulness", judge=judge, signature=signature, error_type=kind)
        for index, kind in enumerate(kinds)
    ]  # fmt: skip


def gold(*raters: list[str | None]) -> list[Judgment]:
    return [
        one for number, kinds in enumerate(raters)
        for one in typed(kinds, f"a{number}", "human.sentence_labels|v:1")
    ]  # fmt: skip


def test_types_can_be_renamed_before_they_are_compared() -> None:
    mapping = {"out-of-context error": "out-of-article error", "RelE": "relation error"}
    assert canonical_type("OutE", mapping) == "out-of-article error"
    assert canonical_type("predicate error", mapping) == "predicate error"
    assert canonical_type("RelE", mapping) == "relation error"


def test_joined_types_can_be_renamed() -> None:
    assert named_types("EntE+RelE", {"RelE+EntE": "semantic frame"}) == {"semantic frame"}
    assert named_types("EntE", {"RelE+EntE": "semantic frame"}) == {"entity error"}  # not both of them
    assert named_types("EntE+OutE", {"EntE": "a+b"}) == {"a", "b", "out-of-context error"}
    both = gold(["EntE+RelE", "OutE"])
    found = errors(typed(["entity error+predicate error", "no error"]), both, rename={"EntE+RelE": "frame"})
    assert [row.details["group"] for row in found][:2] == ["out-of-context error", "frame"]


def test_localisation_by_hand() -> None:
    # People (all agree):  Ent   Ent   Out   Rel   No   No
    # The judge:           Ent   Pred  No    Rel   No   Ent
    # Entity 1 of 2, out-of-context 0 of 1, predicate 1 of 1: mean of types .5; pooled 2 of 4; detected 3 of 4.
    people = gold(["EntE", "EntE", "OutE", "RelE", "NoE", "NoE"])
    judge = typed(["entity error", "predicate error", "no error", "predicate error", "no error", "entity error"])
    study = errors(judge, people)
    found = {(row.statistic, row.details["group"]): (row.value, row.n) for row in study}
    assert found == {
        (LOCALISATION, "entity error"): (0.5, 2), (LOCALISATION, "out-of-context error"): (0.0, 1),
        (LOCALISATION, "predicate error"): (1.0, 1), (LOCALISATION, "mean of types"): (0.5, 4),
        (LOCALISATION, "all errors"): (0.5, 4), ("detection", "all errors"): (0.75, 4),
    }  # fmt: skip
    confusion = next(row for row in study if "confusion" in row.details).details["confusion"]
    assert confusion["no error"] == {"no error": 1, "entity error": 1}
    assert sum(sum(row.values()) for row in confusion.values()) == 6


def test_votes_on_types_are_a_majority_and_ties_are_unclear() -> None:
    # Ent Ent Gram -> Ent; No Ent Out -> three ways: unclear; No No Ent -> no error.
    people = gold(["EntE", "NoE", "NoE"], ["EntE", "EntE", "NoE"], ["GramE", "OutE", "EntE"])
    judge = typed(["entity error"] * 3)
    row = next(row for row in errors(judge, people) if "confusion" in row.details)
    assert (row.value, row.n, row.details["gold_unclear"]) == (1.0, 1, 1)
    # With "any", sentence 1 is an error (two of three say so), entity or out-of-context.
    anyone = errors(judge, people, annotators="any")
    row = next(row for row in anyone if "confusion" in row.details)
    assert (row.value, row.n, row.details["gold_unclear"]) == (1.0, 2, 0)
    assert row.gold_signature == "human.sentence_labels|types:any|v:1"


def test_too_few_votes_are_unclear() -> None:
    people = gold(["EntE", "EntE"], ["EntE", None])
    row = next(row for row in errors(typed(["entity error"] * 2), people, min_votes=2)
               if "confusion" in row.details)  # fmt: skip
    assert (row.n, row.details["gold_unclear"]) == (1, 1)


def test_a_sentence_without_a_usable_verdict_is_missing_not_wrong() -> None:
    people = gold(["EntE", "EntE"])
    row = next(row for row in errors(typed(["entity error", None]), people) if "confusion" in row.details)
    assert (row.value, row.n, row.missing) == (1.0, 1, 1)


def test_missing_error_types_are_refused() -> None:
    plain = [judgment("d", "A", 0.0, label=0, unit="sentence", index=0, aspect="faithfulness", judge="a",
                      signature="human.sentence_labels|v:1")]  # fmt: skip
    with pytest.raises(UsageError, match="people assigned no error types"):
        errors(typed(["entity error"]), plain)
    with pytest.raises(UsageError, match="no judge of the run assigned error types"):
        errors(typed(["no error"]), gold(["EntE"]))


def test_a_sentence_has_a_set_of_types() -> None:
    # People:    Ent+Out        Ent      Ent+Out    Out
    # The judge: Out+Ent        Ent+Gram Ent        Ent
    people = gold(["EntE+OutE", "EntE", "EntE+out-of-context error", "OutE"])
    judge = typed(["OutE+EntE", "EntE+GramE", "entity error", "EntE"])
    pooled = {"any": 3 / 4, "all": 2 / 4, "exact": 1 / 4}
    for match, value in pooled.items():
        study = errors(judge, people, match=match)
        whole = next(row for row in study if "confusion" in row.details)
        assert (whole.value, whole.n) == (value, 4)
    whole = next(row for row in errors(judge, people) if "confusion" in row.details)
    assert whole.details["confusion"]["entity error+out-of-context error"] == {
        "entity error+out-of-context error": 1, "entity error": 1,
    }  # fmt: skip
    by_type = {row.details["group"]: (row.value, row.n) for row in errors(judge, people)
               if row.statistic == LOCALISATION}  # fmt: skip
    assert by_type["entity error"] == (1.0, 3)
    assert by_type["out-of-context error"] == (pytest.approx(1 / 3), 3)


def test_annotators_sets_are_merged_by_majority() -> None:
    # Ent+Out, Ent, Out: each type has two of three votes.
    people = gold(["EntE+OutE", "EntE"], ["EntE", "GramE"], ["OutE", "LinkE"])
    row = next(row for row in errors(typed(["EntE+OutE", "EntE"]), people, match="exact") if "confusion" in row.details)
    assert (row.value, row.n, row.details["gold_unclear"]) == (1.0, 1, 1)
    assert row.gold_signature == "human.sentence_labels|types:majority|match:exact|v:1"


@given(st.lists(st.tuples(st.sampled_from(FINESURE), st.sampled_from(FINESURE)), min_size=1, max_size=20))
def test_the_counts_add_up(cells: list[tuple[str, str]]) -> None:
    if all(kind == NO_ERROR for kind, _ in cells) or all(kind == NO_ERROR for _, kind in cells):
        return
    study = errors(typed([said for _, said in cells]), gold([kind for kind, _ in cells]))
    whole = next(row for row in study if "confusion" in row.details)
    wrong = [(kind, said) for kind, said in cells if kind != NO_ERROR]
    assert whole.n == len(wrong)
    assert whole.value == pytest.approx(sum(kind == said for kind, said in wrong) / len(wrong))
    by_type = [row for row in study if row.statistic == LOCALISATION and row.details["group"] in FINESURE]
    assert sum(row.n for row in by_type) == whole.n
    assert sum((row.value or 0) * row.n for row in by_type) == pytest.approx((whole.value or 0) * whole.n)


@pytest.mark.shared
def test_finesures_samples(shared: Path, tmp_path: Path) -> None:
    # Read off the ten samples: five sentences with a majority for one type of error (three entity, one
    # circumstantial, one grammatical); the released GPT-4o replies name two of them rightly.
    data, run = imported(shared, "finesure_samples", tmp_path)
    study = errors(run, data)
    whole = next(row for row in study if "confusion" in row.details)
    assert (whole.value, whole.n) == (0.4, 5)


def test_reasons_of_undefined_shares() -> None:
    types = gold(["EntE", "OutE"])
    (unclear,) = [
        row for row in errors(typed(["entity error"] * 2), types, min_votes=2) if row.statistic == "detection"
    ]
    assert unclear.reason == "people found no such error; people disagree on the types of 2 sentences"
    mixed = [*typed(["entity error", None]), *typed(["entity error"], document="other")]
    (lost,) = [row for row in errors(mixed, gold(["NoE", "OutE"])) if row.statistic == "detection"]
    assert (lost.missing, lost.reason) == (1, "the judge has no usable judgment of such an error")
