"""Settings and data files that a local judge refuses before it judges anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from together import together

from summeter.evaluators.catalog import build
from summeter.records import InputError, SettingError, UsageError

IDF = '{"schema": "summeter-bertscore-idf/1"'
CONV = '{"schema": "summeter-summac-conv/1"'
ARC = (
    '{"text": "a", "corenlp": {"tokens": [{"word": "a"}], '
    '"enhancedDependencies": [{"dep": "x", "dependent": 1, "governor": 9}]}}'
)
TEXTS: dict[str, list[str]] = {
    "dae[corenlp=FILE]": ["{", '{"text": "a"}', ARC],
    "bertscore[idf=FILE]": [
        "[]", "{", "{}", '{"schema": "other"}', IDF + "}", IDF + ', "holding": [], "references": 1}',
    ],
    "summac[method=conv,weights=FILE]": [
        "[]", "{", '{"schema": "other"}', CONV + "}",
        CONV + ', "bins": [0, 1], "labels": "e", "weights": [1, 2], "final": [0, 1, 0]}',
        CONV + ', "bins": [0, 0.5], "labels": "e", "weights": [1], "final": [0, 1, 0]}',
        CONV + ', "bins": [0, 1], "labels": "x", "weights": [1], "final": [0, 1, 0]}',
    ],
    "lite2pyramid[units=FILE]": [
        "[]", "{", '{"d": "one"}', '{"d": [{"text": "a", "weight": 0}]}', '{"d": [{"text": "a", "weight": NaN}]}',
        '{"d": [{"text": "a", "weight": Infinity}]}', '{"d": [{"words": "a"}]}', '{"d": [{"words": [], "frames": []}]}',
        '{"d": [{"words": ["Ada", "sold"], "frames": [["B-ARG0"]]}]}',
    ],
}  # fmt: skip


@together("spec, text", [(spec, text) for spec, texts in TEXTS.items() for text in texts])
def test_files_that_cannot_be_read(tmp_path: Path, spec: str, text: str) -> None:
    file = tmp_path / "file.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"file\.json"):
        build(spec.replace("FILE", str(file))).sign({})


@together("spec", [*TEXTS, "bertscore[rescale=true,baseline=FILE]"])
def test_files_that_do_not_exist(tmp_path: Path, spec: str) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        build(spec.replace("FILE", str(tmp_path / "none")))


@together(
    "spec, named",
    [
        ("bartscore[directions=up]", "directions"),
        ("bartscore[directions='']", "directions"),
        ("bartscore[directions=avg;avg]", "directions"),
        ("bertscore[baseline=FILE]", "rescale=true"),
        ("fenice[stride=6]", "stride=6"),
        ("fenice[step=nli_claim,coref=true]", "coref"),
        ("granite_guardian[release=3,think=true]", "think=true"),
        ("lite3pyramid[parsed=true,units=FILE]", "parsed=true"),
        ("menli.combined[other=finesure]", "other='finesure' stands for 2 evaluators"),
        ("menli.combined[other=h2h]", "is a pairwise judge"),
        ("menli.combined[other=menli]", "other='menli' is menli"),
        ("menli.combined[other=rouge]", "set aspect to one of"),
        ("menli.combined[other=nobody]", "there is no evaluator 'nobody'"),
        ("menli.combined[weight=1.0]", "weight"),
        ("minicheck[network=llm,variant=legacy]", "variant=legacy"),
        ("qafacteval[window=60,stride=28]", "stride=28 would skip words between windows of 27 tokens"),
        ("questeval[formula=paper,scores=f1]", "scores"),
        ("questeval[formula=paper,variant=legacy]", "variant"),
        ("summac[granularity=word]", "granularity 'word'"),
        ("summac[method=conv]", "conv needs trained weights.*train_summac"),
        ("summac[weights=FILE]", "method=conv"),
        ("summac[method=conv,weights=FILE,labels=ec]", "labels requires method=zs"),
        ("summac[method=conv,weights=FILE,nearest=1]", "nearest requires method=zs"),
        ("unieval[task=fact,dimensions=fluency]", "dimensions"),
    ],
)
def test_settings_that_contradict_each_other(tmp_path: Path, spec: str, named: str) -> None:
    (tmp_path / "file.json").write_text("{}")
    with pytest.raises(SettingError, match=named):
        build(spec.replace("FILE", str(tmp_path / "file.json")))
