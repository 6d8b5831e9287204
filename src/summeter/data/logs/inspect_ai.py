"""Logs of inspect_ai, `.eval` and `.json`.

Source: `inspect_ai.log.EvalLog` and `inspect_ai.scorer.Score`, version 0.3.285; logs were written with it. A `.eval`
file is a zip file with `header.json` (or `_journal/start.json`, if the evaluation was cut off) and `samples/*.json`.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from summeter.data.faults import Faults
from summeter.data.formats import LONGEST_JSON
from summeter.data.logs.table import Log, LogFormat, Record, VoteTable
from summeter.records import InstallError

_GRADES = {"C": 1, "I": 0, "P": 0.5, "N": 0}
"""Numbers of the grades correct, incorrect, partially correct and no answer, as in `value_to_float`."""
_ZSTANDARD = 93


def _read(log: Log, table: VoteTable) -> None:
    whole = Record(None, "", log.whole)
    model = log.get(whole, "eval.model", str)
    samples = log.records or list(log.objects(whole, "samples"))
    epochs = len({each.content.get("epoch") for each in samples}) > 1
    for record in samples:
        content = record.content
        name, epoch = content.get("id"), content.get("epoch")
        if name is None:
            log.faults.add(None, f"{record.path}.id", "is absent; each sample has an id")
            continue
        output = log.get(record, "output.completion", str, needed=False)
        item = f"{name} (epoch {epoch})" if epochs else name
        row = table.row(record, name, epoch, item=item, document=name, system=model, output=output)
        for scorer, score in (log.get(record, "scores", dict, needed=False) or {}).items():
            at = Record(None, f"{record.path}.scores.{scorer}", score if isinstance(score, Mapping) else {})
            if "value" not in at.content:
                log.faults.add(None, at.path, "has no value; each score is an object with a value")
                continue
            value, edits = at.content["value"], list(log.objects(at, "history", needed=False))
            changed = [edit.content for edit in edits if edit.content.get("value") != "UNCHANGED"]
            by = changed[-1].get("provenance") if changed else None
            original = edits[0].content.get("value") if edits else value
            for column, vote in _values(scorer, original):
                table.vote(row, at, column, vote)
            if by is not None:  # a person edited the score: the value is theirs, the first edit is the scorer's
                for column, vote in _values(scorer, value):
                    table.vote(row, at, column, vote, str(by.get("author") if isinstance(by, Mapping) else by))
        table.described(row, log.get(record, "metadata", dict, needed=False) or {})


def _values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the columns and votes of a score, which may be an object of several."""
    several = value.items() if isinstance(value, Mapping) else [("", value)]
    for name, each in several:
        yield f"{scorer}.{name}".rstrip("."), _GRADES.get(each, each) if isinstance(each, str) else each


def read_eval(path: Path, faults: Faults) -> Log:
    """Return the content of a `.eval` file. Adds faults for members that are damaged."""
    whole: Mapping[str, Any] = {}
    records: list[Record] = []
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = {member.filename: member for member in archive.infolist()}
            head = "header.json" if "header.json" in members else "_journal/start.json"
            for name in [head, *(each for each in members if each.startswith("samples/"))]:
                if name not in members:
                    faults.fail(None, name, "is absent; the file is not a log of inspect_ai")
                    continue
                if members[name].file_size > LONGEST_JSON:
                    faults.fail(None, name, f"is longer than {LONGEST_JSON >> 30} GiB")
                    continue
                try:
                    content = json.loads(_content(file, archive, members[name]), parse_constant=lambda _: None)
                except (ValueError, OSError, EOFError, RecursionError, zlib.error, zipfile.BadZipFile) as error:
                    faults.fail(None, name, f"is damaged: {error}")
                    continue
                if not isinstance(content, dict):
                    faults.fail(None, name, "is not an object")
                elif name == head:
                    whole = content
                else:
                    records.append(Record(None, name, content))
    except FileNotFoundError:
        faults.fail(None, None, "no such file")
    except (OSError, zipfile.BadZipFile) as error:
        faults.fail(None, None, f"is not a complete zip file: {error}")
    faults.stop()
    return Log(faults, whole, records)


def _content(file: BinaryIO, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the content of a member. Python before 3.14 cannot unpack Zstandard, but pyarrow can."""
    if member.compress_type != _ZSTANDARD:
        return archive.read(member)
    try:
        import pyarrow as pa
    except ImportError:
        raise InstallError.missing("pyarrow, which unpacks .eval files,", "parquet") from None
    file.seek(member.header_offset + 26)
    sizes = file.read(4)
    file.seek(int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little"), io.SEEK_CUR)
    with pa.input_stream(pa.py_buffer(file.read(member.compress_size)), compression="zstd") as stream:
        content: bytes = stream.read(member.file_size)
    if zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile("wrong checksum")
    return content


FORMAT = LogFormat(
    "inspect_ai log", lambda first: isinstance(first.get("eval"), Mapping) and "eval_id" in first["eval"], _read
)
