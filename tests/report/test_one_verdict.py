"""The page, the terminal, `meta compare`, `gate`, the card and `advise` agree on random runs."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report import fake_runs as fake

from summeter.meta import (
    advise,
    agreement_lines,
    agreement_with_people,
    card,
    compare,
    gate,
)
from summeter.meta._compare import matrices, pair_sentence
from summeter.meta.results import Study
from summeter.records import Document, Judgment, Summary
from summeter.report import html, markdown
from summeter.report.build import page
from summeter.report.ranks import headline, rank_tables
from summeter.report.views import sources, views
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder

DRAWS, PARTS = 200, 8
NAMES = ("aster", "birch", "cedar", "dogwood", "elder")
JUDGE = JudgeEntry(
    name="stars", signature="stars|v:1", aspects=("faithfulness",), reduce="mean", file="stars",
)  # fmt: skip


def random_run(folder: Path, rng: np.random.Generator) -> RunFolder:
    """Return a run of 2 to 5 systems on 3 to 20 documents, with ties, unparsed replies and absent summaries."""
    systems, documents = NAMES[: rng.integers(2, 6)], int(rng.integers(3, 21))
    quality = rng.choice([0.0, 0.0, 0.4, 1.5], len(systems))[:, None]
    values = quality + rng.normal(0, 0.7, (len(systems), documents)) + rng.normal(0, 1, documents)
    if rng.random() < 0.5:
        values = np.clip(np.round(values + 3), 1, 5)
    lost = rng.random(values.shape) < rng.choice([0.0, 0.0, 0.1, 0.6], len(systems))[:, None]
    absent = lost & (rng.random(values.shape) < 0.5)
    absent[:, 0] = False  # every system has a summary
    rows: list[dict[str, Any]] = [
        {"doc_id": f"d{at}", "system": name, "document": f"It rained {at} times.", "summary": f"Rain, says {name}."}
        for at in range(documents)
        for place, name in enumerate(systems)
        if not absent[place, at]
    ]

    def judge(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
        place = systems.index(summary.system), int(document.id.removeprefix("d"))
        if lost[place]:
            return [fake.failed(document, summary, entry, "faithfulness", "unparsed", "no number")]
        return [fake.judgment(document, summary, entry, "faithfulness", value=float(values[place]))]

    return fake.make(folder, rows, ((JUDGE, judge),))


def claims(study: Study) -> set[tuple[str, str]]:
    """(better, worse) of every pair with a claim."""
    pairs = [row.details for row in study if row.pair and row.details["better"]]
    return {(pair["better"], *({pair["first"], pair["second"]} - {pair["better"]})) for pair in pairs}


def leader(means: dict[str, float], better: set[tuple[str, str]]) -> str | None:
    """By its definition: highest, better than some, and none is better than it."""
    highest = [name for name, mean in means.items() if mean >= max(means.values()) - 1e-9]
    if len(highest) != 1:
        return None
    (name,) = highest
    return name if name in {one for one, _ in better} and name not in {other for _, other in better} else None


def named(text: str) -> set[str]:
    return set(re.findall("|".join(NAMES), text))


@pytest.mark.parametrize("part", range(PARTS))
def test_all_views_agree(part: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(part)
    for number in range(DRAWS // PARTS):
        run = random_run(tmp_path / str(number), rng)
        study = compare(run, resamples=50)
        better = claims(study)
        rows = {row.system or "": row for row in study.where(statistic="mean")}
        rankings: dict[int, dict[str, float]] = {}
        for name, row in rows.items():
            if row.details["ranking"] is not None:
                rankings.setdefault(row.details["ranking"], {})[name] = row.value or 0.0
        # With several rankings, only differences within one count.
        inside = [
            {pair for pair in better if len(rankings) == 1 or {*pair} <= part.keys()} for part in rankings.values()
        ]
        firsts = [leader(part, pairs) for part, pairs in zip(rankings.values(), inside, strict=True)]
        best = {
            first
            for part, pairs, first in zip(rankings.values(), inside, firsts, strict=True)
            if first and {other for one, other in pairs if one == first} >= part.keys() - {first}
        }
        means = rankings.get(1, {})
        first = firsts[0] if len(rankings) == 1 else None
        table = run.totals.systems
        (column,) = table.columns()

        # The page: its sentence, its ranking and what it marks as best.
        run_views = views([run])
        judges = sources(run_views)
        said, (ranking,) = " ".join(headline(run_views[0], judges)), rank_tables(run_views, judges)
        assert re.findall(r"(\w+) leads on", said) == [name for name in firsts if name], said
        (shown,) = ranking.columns
        assert shown.comparison.best == best
        if first:
            clause = said.partition(" leads on ")[2]
            ahead = clause.partition("but cannot be told apart")[0]
            others = means.keys() - {first}
            beaten = others if "each of the other" in ahead else named(ahead.partition(" than ")[2])
            assert beaten & others == {other for one, other in better if one == first} & others, said
        elif "cannot be told apart from any" in said and len(rankings) == 1:
            assert not {one for pair in better for one in pair} & {said.split()[2]}
        for name, row in rows.items():
            mean = shown.means[name]
            assert mean is not None
            assert (None if mean.value is None else pytest.approx(mean.value)) == row.value
            assert row.value is None or (mean.n, mean.ranking) == (row.n, row.details["ranking"])
        assert (ranking.note or "") in " ".join(map(str, study.notes))
        assert (ranking.note is None) == (len(study.notes) == 1)
        if shared := re.search(r"Ranked on the (\d+) documents?", said):
            assert {rows[name].n for name in means} == {int(shared[1])}

        # The terminal.
        bold = re.findall(r"^\|\s*\d+ \| (\w+) \| \*\*", markdown(table), re.MULTILINE)
        assert set(bold) == best

        # The matrix and the sentences of `meta compare`.
        (matrix,) = matrices(study)
        names = [line[1] for line in matrix.rows]
        signs = {(line[1], names[at]) for line in matrix.rows for at, sign in enumerate(line[6:]) if sign == "+"}
        assert signs == better
        for row in study:
            if row.pair:
                verdict = pair_sentence(row)
                assert ("is better than" in verdict) == (row.details["better"] is not None)
                assert verdict.startswith(row.details["better"] or row.details["first"])
                assert row.details["better"] is None or row.n >= 6

        # `gate` and the card use all documents of each system, like the table below the ranking.
        bound = float(rng.normal(2, 1))
        judged = any(row.details["own_documents"] for row in rows.values())
        gated = gate(run, min={"faithfulness": bound}) if judged else []
        own = {row.system: (row.value, row.n) for row in gated}
        assert own == {name: (of.value, of.n) for name in rows if (of := table.cell(name, column)) is not None}
        assert {name: n for name, (_, n) in own.items()} == {n: row.details["own_documents"] for n, row in rows.items()}
        for row in gated:
            assert row.details["verdict"].startswith(
                "passed" if row.value is not None and row.value >= bound else "FAILED"
            )
        made = card(run, resamples=50)
        assert (len(made.notes) > 1) == (ranking.note is not None)
        whole = [row for row in made if row.statistic == "mean" and row.level == "summary"]
        of_card = {row.system: row.n for row in whole if row.system and not row.domain and not row.category}
        assert {name: of_card.get(name, 0) for name in rows} == {name: n for name, (_, n) in own.items()}


def rated(folder: Path, rng: np.random.Generator) -> RunFolder:
    """Return a run of 3 judges with different noise, on summaries that people rated."""
    documents, noise = int(rng.integers(3, 16)), dict(zip("abc", rng.choice([0.2, 0.3, 2.0, 20.0], 3), strict=True))
    people = {(f"d{at}", name): float(rng.integers(1, 6)) for at in range(documents) for name in NAMES[:2]}
    scores = {(key, judge): value + rng.normal(0, noise[judge]) for key, value in people.items() for judge in noise}
    rows: list[dict[str, Any]] = [
        {"doc_id": document, "system": system, "document": f"It rained {document}.", "summary": f"Rain, says {system}.",
         "human": {"ratings": {"faithfulness": {"ann": value}}}}
        for (document, system), value in people.items()
    ]  # fmt: skip

    def judge(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
        value = scores[(document.id, summary.system), entry.name]
        return [fake.judgment(document, summary, entry, "faithfulness", value=value)]

    entries = [JUDGE.model_copy(update={"name": name, "signature": f"{name}|v:1", "file": name}) for name in noise]
    return fake.make(folder, rows, [(entry, judge) for entry in entries])


@pytest.mark.parametrize("number", range(12))
def test_advise_agrees_with_compare_and_the_page(number: int, tmp_path: Path) -> None:
    run = rated(tmp_path / "run", np.random.default_rng(100 + number))
    advised, people = advise(run, resamples=200), agreement_with_people(run, resamples=200)
    compared = compare(run, run.data, coefficient="spearman", resamples=200)
    verdicts = {row.judge: row.details["verdict"] for row in people}
    used = [row.judge for row in advised if row.details.get("recommended")]
    above = [row.judge for row in people if row.details["verdict"] == "above chance"]
    assert len(used) == (len(above) > 0)
    assert set(used) <= set(above)
    assert [row.details["verdict"] for _, row, _ in page([run]).agreements] == list(verdicts.values())
    assert all(any(f"{judge} on faithfulness: rank correlation" in line and f", {verdict} (" in line
                   for line in agreement_lines(people)) for judge, verdict in verdicts.items())  # fmt: skip
    if not used:
        assert f"the best is {max(people, key=lambda row: row.value or -1).judge}, rank correlation" in advised.notes[0]
        assert "cannot be told from chance" in advised.notes[0] or "below chance" in advised.notes[0]
        return
    difference = advised.one(statistic="difference")
    pair = {difference.details["first"], difference.details["second"]}
    (same,) = [row for row in compared if row.pair and {row.details["first"], row.details["second"]} == pair]
    for name in ("p_holm", "better", "comparisons"):
        assert difference.details[name] == same.details[name]
    sentences_of = re.findall(r"[abc] (?:and|agrees) [^:]*", advised.notes[0])
    assert sorted(pair_sentence(same).partition(":")[0].split()) in [sorted(text.split()) for text in sentences_of]
    # A recommended judge is not significantly worse than another that is above chance.
    best = max((row for row in people if row.judge in above), key=lambda row: row.value or 0).judge
    beats = {(row.details["better"], name) for row in compared if row.pair for name in row.pair.split("-")}
    assert used == [best] or (best, used[0]) not in beats
    needed = advised.one(statistic="labels_needed").value
    words = f"about {needed:,.0f} labelled document" if needed is not None else "labelled document"
    assert (words in advised.notes[0]) == (needed is not None and same.details["better"] is None)


def test_rendered_pages_contain_the_verdict(tmp_path: Path) -> None:
    for number in range(3):
        run = random_run(tmp_path / str(number), np.random.default_rng(number))
        text = html([run], tmp_path / f"{number}.html").read_text(encoding="utf-8")
        (block,) = page([run]).runs
        for sentence in block.verdict:
            assert escape(sentence, quote=False) in text.replace("&#34;", '"').replace("&#39;", "'")


def test_all_views_have_the_same_leading_column(tmp_path: Path) -> None:
    """Systems are ranked by faithfulness, even if the first judge measures overlap."""
    overlap = JUDGE.model_copy(
        update={"name": "rouge", "signature": "rouge|v:1", "aspects": ("rouge1",), "file": "rouge"}
    )

    def judge(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
        high = (summary.system == "aster") == (entry is JUDGE)
        value = high + 0.01 * int(document.id.removeprefix("d"))
        return [fake.judgment(document, summary, entry, entry.aspects[0], value=value)]

    rows = [
        {"doc_id": f"d{at}", "system": name, "document": f"It rained {at} times.", "summary": f"Rain, says {name}."}
        for at in range(8)
        for name in ("aster", "birch")
    ]
    run = fake.make(tmp_path / "run", rows, ((overlap, judge), (JUDGE, judge)))
    made = page([run])
    assert made.runs[0].verdict[0].startswith("By stars, aster leads on faithfulness")
    assert made.items.ordered_by is not None
    assert made.items.ordered_by.startswith("faithfulness")
    (table,) = made.tables
    assert (table.columns[0].about.title, list(table.ranks)) == ("faithfulness", ["aster", "birch"])
    assert run.totals.systems.ranking() == ["aster", "birch"]
