"""The commands in docs/build.md print what the page shows, except for durations and votes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import yaml
from pages import carry_out

from summeter.benchmark.chain import STEPS, Shared, read_chain
from summeter.benchmark.protocol import read_config
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


def test_the_files_of_the_page_are_read_and_one_shows_each_step(root: Path, tmp_path: Path) -> None:
    page = (root / "docs" / "build.md").read_text("utf-8")
    texts = re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)
    file = tmp_path / "BENCH.yaml"
    shown: set[str] = set()
    for text in texts:
        file.write_text(text, encoding="utf-8")
        if text.startswith("protocol:"):
            read_config(file)
            continue
        steps = [step.name for step, _ in read_chain(file).steps]
        assert set(steps) == yaml.safe_load(text).keys() - Shared.model_fields.keys()
        shown |= set(steps) if len(steps) <= 2 else set()
    assert shown == set(STEPS)
    assert re.findall(r"^\| `(\w+)` \|", page.partition("## The example")[0], re.M) == list(STEPS)
    file.write_text(texts[0].replace("  kind: {", "  word: {"), encoding="utf-8")
    told = re.findall(r"^summeter: BENCH\.yaml:(\d+): (.*)$", page, re.M)
    with pytest.raises(InputError) as error:
        read_chain(file)
    fault = error.value.faults[0]
    assert f"{fault.field}: {fault.message}".startswith(told[0][1])
    assert str(fault.line) == told[0][0]


def test_the_reference_page_is_up_to_date(root: Path) -> None:
    made = runpy.run_path(str(root / "scripts" / "bench_page.py"))["page"]()
    assert (root / "docs" / "bench-file.md").read_text("utf-8") == made, "run python scripts/bench_page.py"
    assert "| `per_source` | `25` |" in made
