"""Options of studies: keywords, refusals and the command line."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Annotated

import pytest
from pydantic import Field

from summeter.meta import bias, errors, overlap
from summeter.meta.options import STUDIES, Choice, CommandLine, Draws, Judges, Pairs, study
from summeter.records import UsageError

SHARED = "aspect, judge, resamples, confidence, seed"


class RankOptions(Judges, Draws):
    """Options of a study of these tests."""

    order: Annotated[str, Choice(("up", "down"), "order")] = Field("up", description="Order of the ranks.")
    top: int | None = Field(None, ge=1, description="Only the first ranks.")


def test_a_study_takes_its_inputs_and_its_options_as_keywords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("summeter.meta.options.STUDIES", {})

    @study(RankOptions)
    def rank(run: list[str], gold: list[str] | None, options: RankOptions) -> tuple[Sequence[str], object, RankOptions]:
        """Rank things.

        More about it.
        """
        return run, gold, options

    run, gold, options = rank(["a"], order="down", resamples=5)
    assert (run, gold, options) == (["a"], None, RankOptions(order="down", resamples=5))
    assert rank(run=["a"], gold=["b"])[:2] == (["a"], ["b"])
    names = ["run", "gold", "order", "top", "aspect", "judge", "resamples", "confidence", "seed"]
    assert list(inspect.signature(rank).parameters) == names
    assert "order: Order of the ranks." in (rank.__doc__ or "")
    with pytest.raises(TypeError, match="missing a required argument: 'run'"):
        rank()  # type: ignore[call-arg]  # the slip


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"ordr": "up"}, "unknown keyword 'ordr' (did you mean order?); choose one of order, top, " + SHARED),
        ({"order": "upp"}, "unknown order 'upp' (did you mean up?); choose one of up, down"),
        ({"top": 0}, "top must be greater than or equal to 1, not 0"),
        ({"resamples": -1}, "resamples must be greater than or equal to 0, not -1"),
        ({"confidence": 1}, "confidence must be less than 1, not 1"),
        ({"seed": "x"}, "seed must be a valid integer, unable to parse string as an integer, not 'x'"),
        ({"aspect": 3}, "aspect must be a valid string, not 3"),
    ],
)
def test_invalid_options_are_refused_by_name(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        RankOptions.checked(keywords)
    assert str(refused.value) == message


def test_missing_required_options_are_refused() -> None:
    class Needs(Judges):
        """Needs a column."""

        column: str

    with pytest.raises(UsageError, match=r"^column is missing; give column=\.\.\.$"):
        Needs.checked({})


def test_registered_studies() -> None:
    assert [STUDIES[each.__name__].function for each in (errors, bias, overlap)] == [errors, bias, overlap]
    for entry in STUDIES.values():
        assert entry.about.endswith(".")
        for name, field in entry.options.model_fields.items():
            assert field.description, f"{entry.name}: {name}"
            shown = [each for each in field.metadata if isinstance(each, CommandLine)]
            assert len(shown) <= 1


def test_pairs_of_systems_are_named_with_or_without_hyphens() -> None:
    systems = ["gpt-4", "t5", "gpt", "4-t5"]
    assert Pairs().pairs_of(systems) is None
    assert Pairs.checked({"pairs": "t5-gpt-4, gpt-t5"}).pairs_of(systems) == [("t5", "gpt-4"), ("gpt", "t5")]
    assert Pairs(pairs=[("gpt", "4-t5")]).pairs_of(systems) == [("gpt", "4-t5")]
    for text, told in (("gpt-4-t5", "ambiguous"), ("t5-x", "not name two systems"), ("t5-t5", "not name two systems")):
        with pytest.raises(UsageError, match=told):
            Pairs(pairs=[text]).pairs_of(systems)
    with pytest.raises(UsageError, match=r"unknown system 'gpt4' \(did you mean gpt-4\?\); choose from: gpt-4, t5"):
        Pairs(pairs=[("gpt4", "t5")]).pairs_of(systems)
