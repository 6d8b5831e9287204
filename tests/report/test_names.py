"""Distinct names of judges, and shortened names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from summeter.records import JudgeKey, judge_names
from summeter.report.terminal import DOTS, shorten_names


def names(*signatures: str, models: tuple[str | None, ...] = ()) -> list[str]:
    asked = models or (None,) * len(signatures)
    judge = signatures[0].removeprefix("composite(").split("|")[0]
    given = [JudgeKey(judge, signature, model) for signature, model in zip(signatures, asked, strict=True)]
    return list(judge_names(given).values())


def test_settings_in_the_form_of_the_command_line() -> None:
    got = names("rouge|v:1", "rouge|stemmer:yes|v:1", "rouge|measure:recall|stemmer:yes|v:1")
    assert got == ["rouge", "rouge[stemmer=yes]", "rouge[measure=recall,stemmer=yes]"]


def test_the_model_is_named_if_it_distinguishes_judges() -> None:
    one, two = "yesno|judge:a/m|t:0|v:1", "yesno|judge:b/m|t:0|v:1"
    assert names(one, two, models=("a/m", "b/m")) == ["yesno (a/m)", "yesno (b/m)"]
    again = "yesno|judge:a/m|t:1|v:1"
    assert names(one, again, models=("a/m", "a/m")) == ["yesno[t=0]", "yesno[t=1]"]


def test_composites_are_named_by_the_settings_of_their_parts() -> None:
    got = names("composite(support|v:1)", "composite(support|min_p:0.6|v:1 + support|min_p:0.6|v:1)")
    assert got == ["support", "support[min_p=0.6]"]


def test_equal_shortened_names_are_numbered() -> None:
    # 12 characters leave 9 for " #1" and 6 of those for the ends.
    got = shorten_names(["system-with-x-at-the-end", "system-with-y-at-the-end"], 12)
    assert list(got.values()) == ["sys...end #1", "sys...end #2"]


@given(st.lists(st.text("ab.# 1", max_size=14), max_size=12), st.integers(8, 12))
def test_shortened_names_fit_and_are_distinct(given: list[str], width: int) -> None:
    got = shorten_names(given, width)
    assert list(got) == list(dict.fromkeys(given))
    assert len(set(got.values())) == len(got)
    assert all(len(short) <= width for short in got.values())
    assert all(short == name for name, short in got.items() if len(name) <= width)
    assert all(DOTS in short for name, short in got.items() if len(name) > width)
