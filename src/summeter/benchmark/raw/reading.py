"""Reading raw documents: text, HTML, PDF, subtitles, dialogues in JSON, and flat files (also of a hub)."""

from __future__ import annotations

import html
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

from summeter.benchmark.raw.cleaning import PAGE, clean, decode
from summeter.data.faults import Faults
from summeter.data.formats import TABLES, format_of, read_rows
from summeter.data.hub import fetch, is_address
from summeter.data.rows import Columns, check
from summeter.records import InstallError, Parameter, UsageError, describe
from summeter.records.text import SHARE, is_share, read_share

Kind = Literal["text", "html", "pdf", "subtitles", "rows"]
"""What a file is: `rows` are flat files and dialogues in JSON."""
SUFFIXES: dict[str, Kind] = {
    ".txt": "text", ".text": "text", ".md": "text", ".html": "html", ".htm": "html", ".xhtml": "html", ".pdf": "pdf",
    ".srt": "subtitles", ".vtt": "subtitles", ".json": "rows", ".jsonl": "rows", ".ndjson": "rows", ".csv": "rows",
    ".tsv": "rows", ".parquet": "rows", ".pq": "rows", ".xlsx": "rows",
}  # fmt: skip
_LIBRARIES: dict[Kind, tuple[str, str]] = {
    "html": ("trafilatura", "trafilatura"), "pdf": ("pypdf", "pypdf"), "subtitles": ("webvtt", "webvtt-py"),
}  # fmt: skip
"""What reads each kind: module and package, both of the extra `sources`."""
_GIVEN = ("reference", "references", "key_facts", "domain", "split", "share")
"""Fields of a flat row that go with its document."""


class Raw(NamedTuple):
    """A document as it was read and cleaned. `id` is its own within the source; `place` is (file, line);
    `fields` are those of a flat row, `extra` what else the file says of it; `turns` whether it came as a dialogue."""

    id: str
    text: str
    place: tuple[str, int | None]
    fields: Mapping[str, Any]
    extra: Mapping[str, Any]
    counts: Counter[str]
    turns: bool = False


def read_raw(path: str, faults: Faults, columns: Mapping[str, str] | None = None) -> Iterator[Raw]:
    """The documents of a file, of the files in a folder (in the order of their names), or of a hub's data (`hf:...`).

    What cannot be read is a fault of its file: noted in `faults`, which drop it where `on_fault` is not `error`.
    `columns` names the columns of flat files (field: column). Raises InstallError without the extra `sources`.
    """
    if is_address(path):
        fetched = fetch(path)
        known = {"licence": fetched.licence, "commit": fetched.origin["commit"]}
        extra = {name: value for name, value in known.items() if value is not None}
        for file in fetched.files:
            for raw in _rows(str(file), file.stem, faults.of(str(file)), columns):
                yield raw._replace(extra=extra)
        return
    place = Path(path)
    if not place.exists():
        faults.of(path).fail(None, None, "no such file or folder")
    elif not place.is_dir():
        yield from _file(place, place.stem, faults.of(path), columns)
    else:
        yield from _folder(place, faults, columns)


def files_of(path: Path) -> list[Path]:
    """The files that a path holds, in the order of their names, without hidden ones."""
    if not path.is_dir():
        return [path] if path.exists() else []
    visible = (file for file in path.rglob("[!.]*") if not any(part[0] == "." for part in file.relative_to(path).parts))
    return sorted(file for file in visible if file.is_file())


def libraries(files: Iterable[Path]) -> dict[str, str]:
    """The packages that read these files, by the modules that they install."""
    kinds = {SUFFIXES.get(_suffix(file)) for file in files}
    return {"ftfy": "ftfy"} | {module: package for kind, (module, package) in _LIBRARIES.items() if kind in kinds}


def _folder(folder: Path, faults: Faults, columns: Mapping[str, str] | None) -> Iterator[Raw]:
    files = files_of(folder)
    known = [file for file in files if _suffix(file) in SUFFIXES]
    for file in files:
        if _suffix(file) not in SUFFIXES:
            faults.of(str(file)).warn(None, None, f"is left out: no document ends in {_suffix(file) or 'no suffix'!r}")
    if not known:
        kinds = ", ".join(SUFFIXES)
        faults.of(str(folder)).fail(None, None, f"holds no documents; they end in {kinds} (tables also in .gz)")
    names = {file: file.relative_to(folder) for file in known}
    stems = Counter(name.with_suffix("") for name in names.values())
    for file, name in names.items():
        unique = name.with_suffix("") if stems[name.with_suffix("")] == 1 else name
        yield from _file(file, unique.as_posix(), faults.of(str(file)), columns)


def _suffix(file: Path) -> str:
    return (file.with_suffix("") if file.suffix.lower() == ".gz" else file).suffix.lower()


def _file(file: Path, own: str, faults: Faults, columns: Mapping[str, str] | None) -> Iterator[Raw]:
    kind = SUFFIXES.get(_suffix(file))
    if kind is None:
        faults.fail(None, None, f"is no document: its name ends in none of {', '.join(SUFFIXES)}")
        return
    if kind == "rows":
        yield from _rows(str(file), own, faults, columns)
        return
    try:
        content = file.read_bytes()
        read = _READERS[kind](content, _library(kind), file.suffix) if kind in _READERS else _Read(*decode(content))
        cleaned = clean(read.text, pages=kind == "pdf")
        if not cleaned.text:
            raise ValueError("holds no text")
    except (ValueError, OSError) as error:
        message = f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)
        if faults.on_fault == "error":
            faults.fail(None, None, message)
        else:  # a file with one document is like a row: it can be left out
            faults.drop(None, None, message, "row")
    else:
        counts = read.counts + cleaned.counts
        yield Raw(own, cleaned.text, (str(file), None), {}, read.about, counts, read.turns)


class _Read(NamedTuple):
    text: str
    counts: Counter[str]
    about: Mapping[str, Any] = {}
    turns: bool = False


def _library(kind: Kind) -> Any:
    module, package = _LIBRARIES[kind]
    try:
        return import_module(module)
    except ImportError as error:
        raise InstallError.missing(f"{package} ({kind}; {error})", "sources") from error


_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)
_ABOUT = {"title": "title", "author": "author", "url": "url", "license": "licence"}


def _html(content: bytes, trafilatura: Any, _suffix: str) -> _Read:
    """The text of a page without its frame, read by the charset that it names."""
    named = _CHARSET.search(content[:4096])
    encoding = named[1].decode("ascii").lower() if named else "utf-8"
    try:
        if encoding in ("utf-8", "utf8"):
            raise LookupError  # `decode` says what is wrong
        text, counts = content.decode(encoding), Counter({f"encoding {encoding}": 1})
    except (LookupError, UnicodeDecodeError):  # the page is wrong about itself
        text, counts = decode(content)
    page = trafilatura.bare_extraction(text, include_comments=False, with_metadata=True)
    if page is None or not (page.text or "").strip():
        raise ValueError("holds no text that is more than a page's frame")
    every, kept = len(trafilatura.html2txt(text).split()), len(page.text.split())
    frame = Counter({"words of the page's frame": max(0, every - kept)})
    about = {known: value for name, known in _ABOUT.items() if (value := getattr(page, name))}
    return _Read(page.text, +frame + counts, about)


def _pdf(content: bytes, pypdf: Any, _suffix: str) -> _Read:
    """The pages of a PDF, divided by form feeds."""
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if locked else [page.extract_text() or "" for page in reader.pages]
        title = reader.metadata.title if reader.metadata else None
    except Exception as error:  # of a broken file pypdf raises nearly anything
        raise ValueError(f"is no whole PDF: {error}") from error
    if locked:
        raise ValueError("is locked with a password; save it without one")
    if not any(page.strip() for page in pages):
        raise ValueError(f"holds no text in {len(pages)} pages: they are pictures (a scan); run text recognition first")
    empty = Counter({"pages without text": sum(not page.strip() for page in pages)})
    return _Read(PAGE.join(pages), +empty, {"title": title} if isinstance(title, str) and title.strip() else {})


_SOUND = re.compile(r"[\[(][^\])]{1,60}[\])]|[♪♫][^♪♫]*[♪♫]|[♪♫]|^#.*#$|(?<!\w)\*(?=\S)[^*]{1,40}(?<=\S)\*(?!\w)")
_SPOKEN = re.compile(r"(?:>>\s*|-\s*)?(?:([A-Z][\w.' -]{0,30}):\s+(?=\S))?(.*)", re.DOTALL)


def _subtitles(content: bytes, webvtt: Any, suffix: str) -> _Read:
    """SubRip or WebVTT as text: what each cue says, a line for each speaker where they are named."""
    text, counts = decode(content)
    try:
        captions = webvtt.from_buffer(io.StringIO(text), format=suffix.lower().removeprefix("."))
    except webvtt.errors.MalformedFileError as error:
        raise ValueError(f"holds no subtitles: {error}") from error
    turns: list[tuple[str | None, list[str]]] = []
    last: list[str] = []
    for caption in captions:
        lines = []
        for line in caption.text.split("\n"):
            heard, sounds = _SOUND.subn("", html.unescape(line))
            counts["sounds left out"] += sounds
            named, words = re.match(_SPOKEN, heard.strip()).groups()  # type: ignore[union-attr]  # matches any text
            speaker, said = caption.voice or named, " ".join(words.split())
            if (speaker or not turns) and (not turns or turns[-1][0] != speaker):
                turns.append((speaker, []))
            if said in last:
                counts["repeated lines of rolling subtitles"] += 1
            elif said:
                turns[-1][1].append(said)
            lines += [said] * bool(said)
        last = lines or last
    spoken = [f"{speaker}: {' '.join(said)}" if speaker else " ".join(said) for speaker, said in turns if said]
    return _Read("\n".join(spoken), +counts, turns=any(speaker for speaker, _ in turns))


_READERS: dict[Kind, Callable[[bytes, Any, str], _Read]] = {"html": _html, "pdf": _pdf, "subtitles": _subtitles}


# ---- rows: flat files and dialogues ----

_TURNS = ("turns", "dialogue", "dialog", "utterances", "messages", "conversation", "transcript")
_SPEAKERS = ("speaker", "role", "name", "from", "user", "author")
_SAYINGS = ("text", "utterance", "utt", "content", "value", "message", "sentence")
_IDS = ("doc_id", "id", "dialogue_id", "dialog_id", "uid")
_DOCUMENTS = ("document", "text")


def _rows(path: str, own: str, faults: Faults, columns: Mapping[str, str] | None) -> Iterator[Raw]:
    try:
        kind = format_of(path)
    except UsageError as error:
        faults.fail(None, None, str(error))
        return
    names = Columns(columns)
    rows = [(row.line, names.apply(row, faults)) for row in read_rows(path, faults, kind)]
    names.finish(faults)
    if faults.count and faults.on_fault == "error":
        return
    turns = (
        {"speaker", "role"} & cells.keys() and not {*_IDS, "document"} & cells.keys() and _turn(cells) is not None
        for _, cells in rows
    )
    if kind == "json" and rows and all(turns):  # the file is one dialogue
        yield _dialogue(path, own, rows, faults)
    elif rows:
        yield from _documents(path, own, rows, faults, as_text=kind in TABLES)
    else:
        faults.fail(None, None, "holds no rows; give one a document")


_Cells = tuple[int, Mapping[str, Any]]
"""A row's line, and its cells by field."""


def _documents(path: str, own: str, rows: Sequence[_Cells], faults: Faults, *, as_text: bool) -> Iterator[Raw]:
    """The documents of a table, each once; one is withheld where any of its rows says so."""
    seen: dict[str, Raw] = {}
    withheld = {_id_of(cells, f"{own}-{number}") for number, (_, cells) in enumerate(rows, 1) if _withholds(cells)}
    for number, (line, cells) in enumerate(rows, 1):
        own_faults = Faults(path)
        raw = _row(cells, (path, line), f"{own}-{number}", own_faults, as_text=as_text)
        if raw is None:
            for fault in own_faults.listed:
                faults.add(line, fault.field, fault.message)
        elif raw.id not in seen:
            seen[raw.id] = raw
        elif seen[raw.id].text != raw.text:  # with the same text it is another summary's row
            faults.add(line, "doc_id", f"{raw.id!r} is that of an earlier row with another text; give each its own id")
    for raw in seen.values():
        yield raw._replace(fields={**raw.fields, SHARE: False}) if raw.id in withheld else raw


def _dialogue(path: str, own: str, turns: Sequence[_Cells], faults: Faults) -> Raw:
    """A file that is one dialogue, a row a turn."""
    for line, column, cell in ((line, *pair) for line, cells in turns for pair in cells.items() if is_share(pair[0])):
        if column != SHARE or not (cell is None or isinstance(cell, bool)):
            faults.fail(line, column, f"is {cell!r}; give true or false in a column called {SHARE}")
    cleaned = clean("\n".join(_turn(cells) or "" for _, cells in turns))
    fields = {SHARE: False} if any(_withholds(cells) for _, cells in turns) else {}
    return Raw(own, cleaned.text, (path, None), fields, {}, cleaned.counts, turns=True)


def _id_of(cells: Mapping[str, Any], unnamed: str) -> str:
    return str(next((cells[name] for name in _IDS if cells.get(name) not in (None, "")), unnamed))


def _withholds(cells: Mapping[str, Any]) -> bool:
    """Whether a row says that its document may not be passed on."""
    return read_share(cells.get(SHARE)) is False


def _row(
    cells: Mapping[str, Any], place: tuple[str, int], unnamed: str, faults: Faults, *, as_text: bool
) -> Raw | None:  # fmt: skip
    """The document of a row; None with its faults noted."""
    try:
        text, turns = _row_text(cells)
    except ValueError as error:
        faults.add(place[1], None, str(error))
        return None
    cleaned = clean(text)
    if not cleaned.text:
        faults.add(place[1], "document", "holds no text")
        return None
    given = {name: cell for name, cell in cells.items() if (name in _GIVEN or is_share(name)) and cell is not None}
    texts = {"doc_id": _id_of(cells, unnamed), "document": cleaned.text, "summary": "-"}
    row = check(place[1], {**given, **texts}, faults, as_text=as_text)
    if row is None:
        return None
    fields = {name: value for name in _GIVEN if name != "reference" and (value := getattr(row, name)) is not None}
    return Raw(str(row.doc_id), cleaned.text, place, fields, {}, cleaned.counts, turns)


def _turn(cells: Any) -> str | None:
    """A turn of a dialogue as a line; None for what is none."""
    if isinstance(cells, str):
        return " ".join(cells.split())
    if not isinstance(cells, Mapping):
        return None
    speaker = next((cells[name] for name in _SPEAKERS if isinstance(cells.get(name), str)), None)
    said = next((cells[name] for name in _SAYINGS if isinstance(cells.get(name), str)), None)
    if speaker is None or said is None:
        return None
    return f"{speaker.strip()}: {' '.join(said.split())}"


def _row_text(cells: Mapping[str, Any]) -> tuple[str, bool]:
    """The document of a row, and whether it came as turns."""
    for name in _TURNS:
        value = cells.get(name)
        if isinstance(value, str) and value.lstrip().startswith("["):  # a table holds lists as JSON
            with suppress(ValueError):
                value = json.loads(value)
        if isinstance(value, list) and value:
            lines = [_turn(turn) for turn in value]
            if (wrong := next((index for index, line in enumerate(lines) if line is None), None)) is not None:
                what = f"{describe(value[wrong])} without a speaker ({', '.join(_SPEAKERS)}) and a text"
                raise ValueError(f"has in `{name}` turn {wrong + 1}: {what} ({', '.join(_SAYINGS)})")
            return "\n".join(line for line in lines if line), True
    speakers = cells.get("speaker")
    said = next((cells[name] for name in _SAYINGS if isinstance(cells.get(name), list)), None)
    if isinstance(speakers, list) and said is not None:
        if len(speakers) != len(said):
            raise ValueError(f"has {len(speakers)} speakers for {len(said)} utterances")
        return "\n".join(f"{who}: {what}" for who, what in zip(speakers, said, strict=True)), True
    for name in (*_DOCUMENTS, *_TURNS):
        if isinstance(cells.get(name), str):
            return cells[name], False
    there = ", ".join(map(str, cells))
    option = Parameter("columns", "document=COLUMN")
    raise ValueError(f"has no text: name the column of the document ({option}), or of its turns; it has: {there}")


# ---- what kind of text ----

_LINE_OF_SPEAKER = re.compile(r"(?P<speaker>[^\W\d_][\w.'’ -]{0,30}):\s+\S")


def is_dialogue(text: str) -> bool:
    """Whether a text is written as a dialogue: most of four or more lines begin with one of two or more speakers, and
    some speaker comes again.

    >>> is_dialogue("Ana: Rain?\\nBen: Yes.\\nAna: Where?\\nBen: In Ghent."), is_dialogue("Note: it rained.")
    (True, False)
    """
    lines = [line for line in text.split("\n") if line.strip()]
    speakers = Counter(match["speaker"] for match in map(_LINE_OF_SPEAKER.match, lines) if match)
    return (
        len(lines) >= 4
        and sum(speakers.values()) > len(lines) / 2
        and len(speakers) >= 2
        and max(speakers.values()) > 1
    )
