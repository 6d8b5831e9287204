"""docs/build.md does what it says: its commands print what the page prints, numbers of seconds and votes apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from pages import carry_out, section

from summeter.benchmark.card import Answers
from summeter.benchmark.chain import STEPS, read_chain
from summeter.records import InputError

pytest.importorskip("pyarrow")


def steady(text: str) -> list[str]:
    """Lines without the length of blanks, with N for seconds and for counts of votes."""
    return [re.sub(r" +", " ", re.sub(r"\d+\.\d|\d{4}", "N", line)).strip() for line in text.splitlines()]


def check(command: str, printed: str, expected: str) -> None:
    assert steady(printed) == steady(expected), f"{command} printed: {printed}"


def test_the_page_is_true(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(root / "examples")
    page = (root / "docs" / "build.md").read_text("utf-8")
    commands = "\n".join(re.findall(r"^```console\n.*?^```$", page, re.M | re.S))
    python = "\n".join(re.findall(r"^```python\n.*?^```$\n+```text\n.*?^```$", page, re.M | re.S))
    Path("commands.md").write_text(f"{commands}\n\n{python}\n", encoding="utf-8")
    carry_out(Path("commands.md"), check)


def test_the_file_of_the_page_is_read_and_its_fault_told(root: Path, tmp_path: Path) -> None:
    page = (root / "docs" / "build.md").read_text("utf-8")
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)
    file = tmp_path / "BENCH.yaml"
    file.write_text(text, encoding="utf-8")
    chain = read_chain(file)
    assert [step.name for step, _ in chain.steps] == list(yaml.safe_load(text))[2:]
    assert {settings.seed for _, settings in chain.steps} == {7}
    file.write_text(text.replace("  kind: {", "  word: {"), encoding="utf-8")
    told = re.findall(r"^summeter: BENCH\.yaml:(\d+): (.*)$", page, re.M)
    with pytest.raises(InputError) as error:
        read_chain(file)
    fault = error.value.faults[0]
    assert f"{fault.field}: {fault.message}".startswith(told[0][1])
    assert str(fault.line) == told[0][0]


def test_the_page_names_every_step_and_every_answer(root: Path) -> None:
    page = (root / "docs" / "build.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page.partition("## The example")[0], re.M) == list(STEPS)
    named = section(page, "The release").partition("**The datasheet**")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", named)) == set(Answers.model_fields)
