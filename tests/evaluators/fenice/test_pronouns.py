"""Pronouns resolved by rules: what they stand for, and above all where the rules stay silent."""

from __future__ import annotations

import pytest
from evaluators.networks import TableNLI, document, judge
from hypothesis import given
from hypothesis import strategies as st

from summeter.evaluators.base import Tools
from summeter.evaluators.catalog import build
from summeter.evaluators.fenice.evaluator import Fenice
from summeter.records import UsageError
from summeter.text.english.pronouns import clusters
from summeter.text.split import split

RESOLVED = [
    ("Ana Ruiz came home.", "She won gold.", "Ana Ruiz"),
    ("Peter Vale was born in 1950.", "He built boats.", "Peter Vale"),
    ("Mr. Okafor resigned on Monday.", "He gave no reason.", "Mr. Okafor"),
    ("Dr. Lund retired in May.", "She had taught for years.", "Dr. Lund"),
    ("Mayor Ana Ruiz resigned.", "She left the town.", "Mayor Ana Ruiz"),
    ("Ilse Brandt, 41, moved to the coast.", "She sells boats now.", "Ilse Brandt"),
    ("Zeno Haug, a teacher, was injured.", "He has recovered.", "Zeno Haug"),
    ("The widow kept the farm.", "She sold it in 1990.", "The widow"),
    ("His mother was born in 1950.", "She taught.", "His mother"),
    ("Ana Ruiz met Peter Vale.", "She knew his books.", "Ana Ruiz"),
    ("Ana Ruiz lived in Bern.", "She taught there.", "Ana Ruiz"),
    ("In 1998, Ana Ruiz came home.", "Later, she won gold.", "Ana Ruiz"),
    ("Ana Ruiz came home.", "But she lost the key.", "Ana Ruiz"),
    ("The bridge was opened in 1998.", "It is 14 metres wide.", "The bridge"),
    ("The old mill burnt on Friday.", "It had stood empty.", "The old mill"),
    ("The painted door opened slowly.", "It had no lock.", "The painted door"),
    ("The council had met on Tuesday.", "It voted for a toll.", "The council"),
    ("NASA was founded in 1958.", "It runs ten centres.", "NASA"),
    ("Acme Corp. grew fast.", "It opened a plant.", "Acme Corp"),
    ("The nurses went home.", "They had worked for two days.", "The nurses"),
    ("Local residents protested in May.", "They want a school.", "Local residents"),
    ("Ana Ruiz and Peter Vale met on Friday.", "They took the train.", "Ana Ruiz and Peter Vale"),
]

SILENT = [
    # Two whom it may mean.
    ("Ana Ruiz met Eva Holm.", "She smiled."),
    ("Dr. Lund spoke to Dr. Okafor.", "He smiled."),
    ("The mother of Eva Holm left.", "She was tired."),
    ("Her mother left.", "She was tired."),
    ("Ana Ruiz saw her leave.", "She was tired."),
    ("Ana Ruiz spoke to the plumber.", "She was late."),
    ("Peter Vale wrote to Lindqvist.", "He got no reply."),
    ("The bridge was built over the river.", "It is wide."),
    ("The firm sold its plant.", "It was too small."),
    ("The bridge was rebuilt in steel.", "It rusts."),
    ("The nurses met the doctors.", "They were tired."),
    ("The nurses told the council.", "They were angry."),
    # None that it plainly means.
    ("Bern was cold.", "She stayed in."),
    ("Lindqvist left.", "He was tired."),
    ("Peter Vale left.", "She was tired."),
    ("The mayor opened a bridge.", "It is wide."),
    ("Ana Ruiz slept.", "It took hours."),
    ("The council met.", "They voted for a toll."),
    ("The nurse came home.", "They were tired."),
    ("There was a storm.", "It passed."),
    ("The old painted door opened slowly.", "It had no lock."),
    ("The police had left.", "It was over."),
    ("Acme, the firm of Anna Bell, grew.", "She is rich."),
    # "It" that means nothing.
    ("The bridge was opened in 1998.", "It rained."),
    ("The bridge was opened in 1998.", "It was clear that more were needed."),
    ("The bridge was opened in 1998.", "It took years to pay for all."),
    ("The bridge was opened in 1998.", "It was late."),
    # Another speaker, a question, another paragraph; a pronoun that does not open its sentence.
    ('"Ana Ruiz came home."', "She smiled."),
    ("Ana Ruiz came home?", "She did."),
    ("Ana Ruiz came home.\n", "\nShe won gold."),
    ("Ana Ruiz came home.", "The crowd saw she was tired."),
    ("Ana Ruiz came home.", "Her boat sank."),
    ("Ana Ruiz came home.", "She."),
]


def places(text: str, spans: list[tuple[int, int]]) -> list[list[str]]:
    return [[text[start:end] for start, end in one] for one in clusters(text, spans)]


def made(*sentences: str) -> list[list[str]]:
    source = document(*sentences)
    return places(source.text, [(span.start, span.end) for span in source.sentences])


@pytest.mark.parametrize(("before", "here", "name"), RESOLVED)
def test_a_pronoun_that_opens_a_sentence_stands_for_the_only_fitting_subject(before: str, here: str, name: str) -> None:
    ((said, pronoun),) = made(before, here)
    assert said == name
    assert pronoun.lower() in {"he", "she", "it", "they"}


@pytest.mark.parametrize(("before", "here"), SILENT)
def test_it_does_nothing_where_that_is_not_plain(before: str, here: str) -> None:
    assert made(before, here) == []


def test_one_subject_goes_through_several_sentences_and_no_further_than_it_is_plain() -> None:
    told = ("Ana Ruiz came home.", "She won gold.", "She retired in May.", "It rained.", "She slept.")
    assert made(*told) == [["Ana Ruiz", "She", "She"]]
    assert made("Ana Ruiz came home.", "She met Eva Holm.", "She retired in May.") == [["Ana Ruiz", "She"]]
    assert made("Ana Ruiz came home.", "She won gold.", "He retired in May.") == [["Ana Ruiz", "She"]]
    assert made("She won gold.", "She retired.") == []


@given(st.lists(st.sampled_from([one for pair in [*RESOLVED, *SILENT] for one in pair[:2]] + ["", "É.", "She it"])))
def test_clusters_are_a_subject_and_pronouns_behind_it_in_any_text(told: list[str]) -> None:
    text = " ".join(told)
    for first, *others in clusters(text, [(start, end) for start, end in split(text)]):
        assert text[slice(*first)].strip() == text[slice(*first)] != ""
        assert others == sorted(others)
        for start, end in others:
            assert first[1] <= start
            assert text[start:end].lower() in {"he", "she", "it", "they"}


CLAIM = "Ana Ruiz won gold."
TABLE = {("She won gold.", CLAIM): (0.4, 0.6, 0.0), (CLAIM, CLAIM): (0.95, 0.05, 0.0)}


@pytest.mark.parametrize("settings", [{}, {"step": "nli_coref"}, {"variant": "legacy"}])
def test_as_a_setting_it_asks_for_no_model_of_coreference(settings: dict[str, str]) -> None:
    # "She won gold." alone has .4; "Ana Ruiz won gold." .95 (legacy: .95 - .05 = .90).
    fenice = Fenice(coref="rules", **settings)  # type: ignore[arg-type]
    assert fenice.required_roles == ("nli",)
    assert "coref:rules" in fenice.sign({"nli": "a/b"})
    source = document("Ana Ruiz came home.", "She won gold.")
    ((found,),) = judge(fenice, source, CLAIM, tools=Tools("sig", networks={"nli": TableNLI(TABLE)}))
    assert found.value == pytest.approx(0.9 if settings.get("variant") == "legacy" else 0.95)
    assert found.reason is not None
    assert "sentence 2 (of 2) with 'She' read as 'Ana Ruiz'" in found.reason
    assert [span.cut(source.text) for span in found.evidence] == ["She won gold.", "Ana Ruiz"]


def test_it_is_written_as_the_others_are_and_nothing_else_is_taken() -> None:
    assert build("fenice[coref=rules]") == Fenice(coref="rules")
    assert build("fenice[coref=true]").required_roles == ("nli", "coref")
    assert build("fenice[coref=true]") != build("fenice[coref=rules]")
    with pytest.raises(UsageError, match="coref"):
        build("fenice[coref=maybe]")
    with pytest.raises(UsageError, match="without coreference"):
        build("fenice[coref=rules,step=nli_claim]")
