"""What earlier sessions prepared is read on demand, and not in the thread of the event loop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine.judges import Lengths, rows

from summeter.engine.api import evaluate
from summeter.engine.plan import jobs
from summeter.engine.worker import PreparedIndex
from summeter.evaluators.base import Prepared
from summeter.records import InputError


def test_of_two_rows_the_later_one_counts_and_asking_whether_reads_nothing(tmp_path: Path) -> None:
    run = evaluate(rows(2), [Lengths()], out=tmp_path / "run")
    (file,) = (run.folder / "prepared").iterdir()
    first, second = file.read_text(encoding="utf-8").splitlines()
    later = Prepared(document_id="d0", data={"words": 99})
    third = json.dumps({**json.loads(first), "id": later.id, **later.model_dump(mode="json")})
    file.write_text("\n".join([first, second, third]) + "\n", encoding="utf-8")
    work = jobs([Lengths()], {}, "rules-1", {})
    index = PreparedIndex(run.folder, work)
    assert index[work[0].signature, "d0"].data == {"words": 99}
    assert index[work[0].signature, "d1"].data == {"words": 13}
    file.unlink()
    assert (work[0].signature, "d0") in index
    assert (work[0].signature, "d7") not in index


@pytest.mark.parametrize("line", ["{}", "[]", "nonsense"])
def test_a_damaged_line_is_named_and_dropped(tmp_path: Path, line: str, caplog: pytest.LogCaptureFixture) -> None:
    run = evaluate(rows(2), [Lengths()], out=tmp_path / "run")
    (file,) = (run.folder / "prepared").iterdir()
    before = file.read_text(encoding="utf-8")
    file.write_text(f"{before}{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"{file.name}:3: damaged: is not a row of prepared data"):
        PreparedIndex(run.folder, jobs([Lengths()], {}, "rules-1", {}))
    evaluate(rows(2), [Lengths()], out=tmp_path / "run")
    assert f"{file.name}:3: damaged: is not a row of prepared data" in caplog.text
    assert file.read_text(encoding="utf-8") == before
