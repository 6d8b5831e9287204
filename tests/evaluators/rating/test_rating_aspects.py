"""Aspect definitions of rating judges: the registry, and a user's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from summeter.evaluators.aspects import RATED, AspectDef, read_aspects
from summeter.evaluators.catalog import build, rebuild
from summeter.evaluators.rating.mcq import MultipleChoice
from summeter.evaluators.rating.rts import ReasonThenScore
from summeter.records import InputError, digest

TONE = (
    "name: tone\ndefinition: how far it keeps the tone\nlowest: its tone is the opposite\nhighest: its tone is kept\n"
)


@pytest.fixture
def tone(tmp_path: Path) -> Path:
    file = tmp_path / "tone.yaml"
    file.write_text(TONE)
    return file


class TestRegistry:
    @pytest.mark.parametrize("one", RATED.values(), ids=RATED)
    def test_every_aspect_has_five_different_levels_that_end_without_a_full_stop(self, one: AspectDef) -> None:
        texts = [one.definition, one.short, *one.levels]
        assert len(set(one.levels)) == 5
        assert one.levels[0] == one.lowest
        assert one.levels[-1] == one.highest
        assert all(text == text.strip(" .") and text[0].islower() for text in texts)
        assert len(one.short) < len(one.definition)

    def test_wordings_are_pinned_to_versions(self) -> None:
        """Signatures contain the versions of the definitions, not their texts: change both together."""
        wordings = digest([one.model_dump(mode="json", exclude={"title"}) for one in RATED.values()], 12)
        assert (wordings, ReasonThenScore.version, MultipleChoice.version) == ("a1f04776e3e1", "2", "2")


class TestOwnAspect:
    def test_user_definitions_are_signed(self, tone: Path) -> None:
        custom = ReasonThenScore(aspect_file=tone)
        assert f"|aspect:tone|def:{custom.about.hash}|" in custom.sign({"judge": "p/m"})
        assert "|aspect:coherence|prompt:" in ReasonThenScore().sign({"judge": "p/m"})
        tone.write_text(TONE.replace("kept", "the same"))
        assert ReasonThenScore(aspect_file=tone).sign({}) != custom.sign({})

    def test_a_run_does_not_need_the_file_again(self, tone: Path) -> None:
        judge = MultipleChoice(aspect_file=tone)
        settings = judge.model_dump(mode="json", exclude_defaults=True)
        tone.unlink()
        again = rebuild("mcq", settings)
        assert again.sign({"judge": "p/m"}) == judge.sign({"judge": "p/m"})
        assert "aspect_file" not in settings

    def test_one_of_several_is_chosen_by_name(self, tmp_path: Path) -> None:
        file = tmp_path / "two.yaml"
        file.write_text(
            "".join("- " + t.replace("\n", "\n  ").rstrip() + "\n" for t in (TONE, TONE.replace("tone", "wit")))
        )
        assert build(f"rts[aspect=wit,aspect_file={file}]").active_aspects == ("wit",)
        with pytest.raises(InputError, match=r"two\.yaml: name: the file defines tone, wit; choose one"):
            build(f"rts[aspect_file={file}]")
        with pytest.raises(InputError, match="choose one"):
            build(f"rts[aspect=style,aspect_file={file}]")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("- name: [", ":1: is not YAML"),
            ("name: tone\ndefinition: x\nlowest: y\n", ": highest: is missing"),
            (TONE + "hue: red\n", ": hue: is not known"),
            (TONE + "between: [a, b]\n", ": between.2: is missing"),
            (TONE.replace("tone\n", "two words\n", 1), ": name: "),
            (TONE.replace("how far it keeps the tone", "''"), ": definition: "),
            ("", ": must be a mapping"),
            ("just words", ": must be a mapping"),
            ("[]", ": defines no aspect"),
            ("- 3", ": aspect 1: must be a mapping"),
            (("- " + TONE.replace("\n", "\n  ").rstrip() + "\n") * 2, ": aspect 2: name: 'tone' is defined twice"),
        ],
    )
    def test_errors_in_aspect_files(self, tmp_path: Path, text: str, said: str) -> None:
        file = tmp_path / "faulty.yaml"
        file.write_text(text)
        with pytest.raises(InputError) as caught:
            ReasonThenScore(aspect_file=file)
        assert f"{file}{said}" in str(caught.value)

    def test_no_file_and_no_text(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="cannot be read: No such file"):
            ReasonThenScore(aspect_file=tmp_path / "absent.yaml")
        (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9")
        with pytest.raises(InputError, match="is not UTF-8 text"):
            ReasonThenScore(aspect_file=tmp_path / "latin.yaml")

    def test_conflicting_definitions(self, tone: Path) -> None:
        custom = read_aspects(tone)["tone"]
        with pytest.raises(ValueError, match="defines 'tone', but `aspect` is 'coherence'"):
            ReasonThenScore(definition=custom)
        with pytest.raises(ValueError, match="cannot be combined"):
            ReasonThenScore(aspect="tone", definition=custom, aspect_file=tone)
