"""The index of finished judgments: found again, small, and repaired from the lines."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
from engine.judges import Lengths, rows

from summeter.engine.api import evaluate
from summeter.runs.journal import Journal
from summeter.runs.progress import (
    PROGRESS,
    Done,
    DoneItems,
    ProgressTable,
    item_hash,
    item_hashes,
)
from summeter.runs.run import read_manifest

MANY = 20_000


def test_finished_items_are_found_and_no_others() -> None:
    done = DoneItems()
    for number in range(MANY):
        done.add(("j|v:1", f"d{number}", "s", None if number % 2 else "r"))
    done.add(("j|v:1", "d0", "s", "r"))
    assert len(done) == done.count("j|v:1") == MANY
    assert all(("j|v:1", f"d{number}", "s", None if number % 2 else "r") in done for number in range(0, MANY, 97))
    for other in (("j|v:1", "d0", "s", None), ("k|v:1", "d0", "s", "r"), ("j|v:1", "d", "0s", "r"), "d0", ("d0",)):
        assert other not in done
    done.drop("j|v:1")
    assert len(done) == 0
    assert ("j|v:1", "d0", "s", "r") not in done


def test_a_finished_item_takes_few_bytes() -> None:
    keys = [("j|v:1", f"d{number}", "s", None) for number in range(MANY)]
    tracemalloc.start()
    try:
        done = DoneItems()
        for key in keys:
            done.add(key)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(done) == MANY
    assert taken < 50 * MANY


def test_texts_that_join_alike_are_different_items() -> None:
    items = [("ab", "c", None), ("a", "bc", None), ("a", "b", "c"), ("a", "b", ""), ("a", "b", None), ("ab", "", "c")]
    assert len(set(item_hashes(items).tolist())) == len(items)


def test_no_hash_ends_with_a_zero() -> None:
    # numpy takes zeros off the end of bytes: such a hash would not be found.
    assert all(item_hash(f"d{number}", "s", None)[-1] for number in range(2000))
    assert len({item_hash(f"d{number}", "s", None) for number in range(2000)}) == 2000


def test_the_later_line_of_an_item_counts_at_the_place_of_the_first(tmp_path: Path) -> None:
    lines = [
        Done(signature="j", document_id=document, system="s", judgments=many, checksum=7, prepared=prepared)
        for document, many, prepared in (("d0", 1, None), ("d1", 2, "p"), ("d0", 3, "q"))
    ]
    file = tmp_path / PROGRESS
    file.write_text("".join(line.model_dump_json() + "\n" for line in lines))
    table = ProgressTable.read(file)
    assert [table.record(row) for row in range(len(table))] == [lines[2], lines[1]]
    assert list(table.lines()) == [lines[2].model_dump_json(), lines[1].model_dump_json()]


def test_unconfirmed_lines_at_the_end_are_cut_and_damaged_ones_named(tmp_path: Path) -> None:
    run = evaluate(rows(), [Lengths()], out=tmp_path / "run")
    (file,) = (run.folder / "judgments").glob("*.jsonl")
    whole = file.read_bytes()
    number = len(whole.splitlines())
    file.write_bytes(whole + whole.splitlines(keepends=True)[0] + b"{garbage}\n" + b'{"torn')
    with Journal(run.folder) as journal:
        (fault,) = journal.repair(read_manifest(run.folder).judges)
        assert len(journal.done) == len(rows())
    assert str(fault).startswith(f"{file}:{number + 2}: damaged")
    assert file.read_bytes() == whole


def test_files_are_sorted_by_stretches_and_stay_as_they_are_where_in_order(tmp_path: Path) -> None:
    run = evaluate(rows(), [Lengths(), "abstractiveness"], out=tmp_path / "run")
    files = [run.folder / PROGRESS, *(run.folder / "judgments").iterdir(), *(run.folder / "prepared").iterdir()]
    wanted = {file: file.read_bytes() for file in files}
    shuffle = np.random.default_rng(0)
    by_item: dict[str, list[bytes]] = {}
    for file, content in wanted.items():
        if file.parent.name == "judgments":  # the lines of an item keep their order
            by_item.clear()
            for line in content.splitlines(keepends=True):
                by_item.setdefault(line.split(b'"unit"')[0].decode(), []).append(line)
            blocks = [b"".join(lines) for lines in by_item.values()]
        else:
            blocks = content.splitlines(keepends=True)
        file.write_bytes(b"".join(blocks[at] for at in shuffle.permutation(len(blocks))))
    with Journal(run.folder) as journal:
        journal.sort_files(run.manifest.judges, run.data)
        assert {file: file.read_bytes() for file in files} == wanted
        before = [file.stat().st_ino for file in files]
        journal.sort_files(run.manifest.judges, run.data)
    assert [file.stat().st_ino for file in files] == before
