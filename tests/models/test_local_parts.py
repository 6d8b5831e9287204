"""Local models without a network: names, labels, folders, batches, truncation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from together import together

from summeter.models.local.batcher import halving, plan
from summeter.models.local.classifier import label_order
from summeter.models.local.names import is_local, locate, parse
from summeter.records import ModelError, UsageError


def test_names_of_the_hub_and_of_folders() -> None:
    hub = parse("hf/org/nli@1a2b3c[precision=int8,max_tokens=1024]")
    assert (hub.source, hub.path, hub.revision) == ("hf", "org/nli", "1a2b3c")
    assert (hub.settings.precision, hub.settings.max_tokens, hub.settings.device) == ("int8", 1024, "auto")
    assert parse("local/models/nli").path == "models/nli"
    assert parse("local//srv/nli").path == "/srv/nli"
    assert [parse(one).path for one in ("./nli", "/srv/nli", "~/nli")] == ["./nli", "/srv/nli", "~/nli"]
    assert not is_local("openai/gpt-4o")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hf/", "is not hf/ORG/NAME"), ("hf/a/b@", "is not hf/ORG/NAME"), ("hf/a/b/c", "is not hf/ORG/NAME"),
        ("local/", "has no folder"), ("openai/gpt-4o", "is not a local model"),
        ("local/x[precision=fp8]", "settings of a local model: precision"), ("local/x[int8]", "is not SETTING=VALUE"),
        ("local/x[max_tokens=0]", "max_tokens"), ("local/x[size=3]", "size"),
    ],
)  # fmt: skip
def test_an_invalid_name_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("[", r"\[")):
        parse(text)


def test_the_label_order_is_read_from_the_config() -> None:
    assert label_order({"id2label": {"0": "contradiction", "1": "entailment", "2": "neutral"}}, "m") == (1, 2, 0)
    assert label_order({"id2label": {0: "Entailment", 1: "NEUTRAL", 2: "Contradictory"}}, "m") == (0, 1, 2)


@pytest.mark.parametrize(
    "labels",
    [
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, {"0": "entailment", "1": "not_entailment"}, {},
        {"0": "entailment", "1": "entails", "2": "neutral"}, {"a": "entailment", "1": "neutral", "2": "contradiction"},
        {"0": "entailment", "1": "neutral", "2": "contradiction", "3": "other"},
    ],
)  # fmt: skip
def test_unknown_labels_are_reported(labels: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="org/nli") as raised:
        label_order({"id2label": labels}, "org/nli")
    assert all(name in str(raised.value) for name in labels.values())


def padding(lengths: list[int], batches: list[list[int]]) -> tuple[int, int]:
    """Return the number of padding tokens in batches, and the number of all tokens."""
    full = sum(len(batch) * max(lengths[index] for index in batch) for batch in batches)
    return full - sum(lengths[index] for batch in batches for index in batch), full


LENGTHS = st.lists(st.integers(1, 512), max_size=60)


@given(LENGTHS, st.integers(8, 4096), st.sampled_from([None, 1, 7]))
def test_batches_hold_every_input_once_within_budget_and_padding(
    lengths: list[int], budget: int, most: int | None
) -> None:
    batches = plan(lengths, budget, most=most)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        wasted, full = padding(lengths, [batch])
        assert full <= budget or len(batch) == 1
        assert wasted <= 0.05 * full
        assert most is None or len(batch) <= most


def test_a_batch_is_halved_if_memory_is_exhausted() -> None:
    seen: list[int] = []

    def compute(batch: list[int]) -> list[int]:
        seen.append(len(batch))
        if len(batch) > 2:
            raise MemoryError("no more")
        return [place * 10 for place in batch]

    assert halving(list(range(7)), compute) == [0, 10, 20, 30, 40, 50, 60]
    assert seen == [7, 3, 1, 2, 4, 2, 2]


@together(
    "raised, kind, said",
    [
        ("CUDA out of memory. Tried to allocate 20 GiB", ModelError, "max_tokens"),
        ("shapes cannot be multiplied", RuntimeError, "shapes"),
    ],
)
def test_a_single_input_too_large_for_memory_is_reported_with_advice(
    raised: str, kind: type[Exception], said: str
) -> None:
    def compute(batch: list[int]) -> list[int]:
        raise RuntimeError(raised)

    with pytest.raises(kind, match=said):
        halving([0, 1], compute)


def _folder(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in {"config.json": "{}", "model.safetensors": "w", **files}.items():
        (path / name).write_text(text)
    return path


def test_the_revision_of_a_folder_is_the_hash_of_its_files(tmp_path: Path) -> None:
    one = locate(parse(f"local/{_folder(tmp_path / 'nli')}"))
    assert one.name == "local/nli"
    assert one.revision == one.digest[:16]
    (tmp_path / "nli" / "README.md").write_text("a card")
    assert locate(parse(f"local/{tmp_path / 'nli'}")).digest == one.digest
    (tmp_path / "nli" / "config.json").write_text(json.dumps({"id2label": {}}))
    assert locate(parse(f"local/{tmp_path / 'nli'}")).digest != one.digest


def test_a_folder_can_be_pinned(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "nli")
    digest = locate(parse(str(folder))).digest
    assert locate(parse(f"{folder}@{digest[:12]}")).digest == digest
    with pytest.raises(UsageError, match=f"pinned to 0123456789ab, but .* is {digest[:16]}"):
        locate(parse(f"{folder}@0123456789ab"))


def test_missing_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        locate(parse(f"local/{tmp_path / 'none'}"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"config\.json is missing"):
        locate(parse(f"local/{tmp_path / 'empty'}"))
    (tmp_path / "empty" / "config.json").write_text("{}")
    with pytest.raises(UsageError, match="contains no weights"):
        locate(parse(f"local/{tmp_path / 'empty'}"))
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        locate(parse(f"local/{tmp_path / 'file'}"))
