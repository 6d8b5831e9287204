"""Reading of raw documents from files of several types.

These are text, HTML, PDF, subtitles, dialogues in JSON, and flat files, including those on the Hugging Face Hub.
"""

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
from summeter.data.formats import TABLES, Row, format_of, read_rows
from summeter.data.hub import fetch, is_address
from summeter.data.intake import Intake
from summeter.data.rows import Columns
from summeter.records import InstallError, Parameter, UsageError, describe
from summeter.records.text import SHARE, is_share, read_share

FileType = Literal["text", "html", "pdf", "subtitles", "rows"]
"""Type of a file; `rows` stands for flat files and dialogues in JSON."""
SUFFIXES: dict[str, FileType] = {
    ".txt": "text", ".text": "text", ".md": "text", ".html": "html", ".htm": "html", ".xhtml": "html", ".pdf": "pdf",
    ".srt": "subtitles", ".vtt": "subtitles", ".json": "rows", ".jsonl": "rows", ".ndjson": "rows", ".csv": "rows",
    ".tsv": "rows", ".parquet": "rows", ".pq": "rows", ".xlsx": "rows",
}  # fmt: skip
_LIBRARIES: dict[FileType, tuple[str, str]] = {
    "html": ("trafilatura", "trafilatura"), "pdf": ("pypdf", "pypdf"), "subtitles": ("webvtt", "webvtt-py"),
}  # fmt: skip
"""Module and package that read each type of file; the extra `sources` installs these packages."""
_DOCUMENT_FIELDS = ("reference", "references", "key_facts", "domain", "split", "share")
"""Fields of a flat row that belong to the document."""


class Raw(NamedTuple):
    """A document that was read and cleaned.

    `id` is unique within the source, and `location` is (file, line). `fields` contains the fields of a flat row, and
    `extra` further metadata. `turns` is True if the file stores the document as a dialogue.
    """

    id: str
    text: str
    location: tuple[str, int | None]
    fields: Mapping[str, Any]
    extra: Mapping[str, Any]
    counts: Counter[str]
    turns: bool = False


def read_raw(path: str, faults: Faults, columns: Mapping[str, str] | None = None) -> Iterator[Raw]:
    """Read the documents in a file, in the files of a folder, or in a Hub dataset (`hf:...`).

    The files of a folder are read in the order of their names. Files and rows that cannot be read are added to
    `faults`, which drops them unless `on_fault` is `error`. `columns` maps fields to columns of flat files. Raises
    InstallError if the extra `sources` is needed but not installed.
    """
    if is_address(path):
        fetched = fetch(path)
        metadata = {"licence": fetched.licence, "commit": fetched.origin["commit"]}
        extra = {name: value for name, value in metadata.items() if value is not None}
        for file in fetched.files:
            for raw in _rows(str(file), file.stem, faults.of(str(file)), columns):
                yield raw._replace(extra=extra)
        return
    root = Path(path)
    if not root.exists():
        faults.of(path).fail(None, None, "no such file or folder")
    elif not root.is_dir():
        yield from _read_file(root, root.stem, faults.of(path), columns)
    else:
        files = files_of(root)
        documents = [file for file in files if _suffix(file) in SUFFIXES]
        for file in files:
            if _suffix(file) not in SUFFIXES:
                message = f"is left out, because {_suffix(file) or 'no suffix'!r} is not the suffix of a document"
                faults.of(str(file)).warn(None, None, message)
        if not documents:
            message = f"contains no documents. Suffixes are {', '.join(SUFFIXES)} (for tables also followed by .gz)"
            faults.of(str(root)).fail(None, None, message)
        names = {file: file.relative_to(root) for file in documents}
        stems = Counter(name.with_suffix("") for name in names.values())
        for file, name in names.items():
            unique = name.with_suffix("") if stems[name.with_suffix("")] == 1 else name
            yield from _read_file(file, unique.as_posix(), faults.of(str(file)), columns)


def files_of(path: Path) -> list[Path]:
    """Return a file itself, or the files in a folder and its subfolders, sorted by name.

    Hidden files and folders are ignored.
    """
    if not path.is_dir():
        return [path] if path.exists() else []
    visible = (file for file in path.rglob("[!.]*") if not any(part[0] == "." for part in file.relative_to(path).parts))
    return sorted(file for file in visible if file.is_file())


def libraries(files: Iterable[Path]) -> dict[str, str]:
    """Return the packages that are needed to read these files, by module."""
    types = {SUFFIXES.get(_suffix(file)) for file in files}
    return {"ftfy": "ftfy"} | {module: package for type_, (module, package) in _LIBRARIES.items() if type_ in types}


def _suffix(file: Path) -> str:
    return (file.with_suffix("") if file.suffix.lower() == ".gz" else file).suffix.lower()


def _read_file(file: Path, doc_id: str, faults: Faults, columns: Mapping[str, str] | None) -> Iterator[Raw]:
    file_type = SUFFIXES.get(_suffix(file))
    if file_type is None:
        faults.fail(None, None, f"is not a document: its suffix is not one of {', '.join(SUFFIXES)}")
        return
    if file_type == "rows":
        yield from _rows(str(file), doc_id, faults, columns)
        return
    try:
        content = file.read_bytes()
        if file_type in _READERS:
            module, package = _LIBRARIES[file_type]
            try:
                library = import_module(module)
            except ImportError as error:
                raise InstallError.missing(f"{package} ({file_type}; {error})", "sources") from error
            extracted = _READERS[file_type](content, library, file.suffix)
        else:
            extracted = _Extracted(*decode(content))
        text, changes = clean(extracted.text, pages=file_type == "pdf")
        if not text:
            raise ValueError("contains no text")
    except (ValueError, OSError) as error:
        message = f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)
        if faults.on_fault == "error":
            faults.fail(None, None, message)
        else:  # a file with one document can be left out like a row
            faults.drop(None, None, message, "row")
    else:
        counts = extracted.counts + changes
        yield Raw(doc_id, text, (str(file), None), {}, extracted.metadata, counts, extracted.turns)


class _Extracted(NamedTuple):
    text: str
    counts: Counter[str]
    metadata: Mapping[str, Any] = {}
    turns: bool = False


_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)
_METADATA = {"title": "title", "author": "author", "url": "url", "license": "licence"}


def _read_html(content: bytes, trafilatura: Any, _suffix: str) -> _Extracted:
    """Extract the main text of a web page, decoded with the charset that the page declares."""
    declared = _CHARSET.search(content[:4096])
    encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
    try:
        if encoding in ("utf-8", "utf8"):
            raise LookupError  # `decode` reports what is wrong
        text, counts = content.decode(encoding), Counter({f"encoding {encoding}": 1})
    except (LookupError, UnicodeDecodeError):  # the declared charset is wrong
        text, counts = decode(content)
    page = trafilatura.bare_extraction(text, include_comments=False, with_metadata=True)
    if page is None or not (page.text or "").strip():
        raise ValueError("contains no text besides navigation, headers and footers")
    total, extracted = len(trafilatura.html2txt(text).split()), len(page.text.split())
    frame = Counter({"words outside the main text": max(0, total - extracted)})
    metadata = {field: value for name, field in _METADATA.items() if (value := getattr(page, name))}
    return _Extracted(page.text, +frame + counts, metadata)


def _read_pdf(content: bytes, pypdf: Any, _suffix: str) -> _Extracted:
    """Extract the pages of a PDF, separated by form feeds."""
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if locked else [page.extract_text() or "" for page in reader.pages]
        title = reader.metadata.title if reader.metadata else None
    except Exception as error:  # pypdf raises nearly any error for a broken file
        raise ValueError(f"is not a valid PDF file: {error}") from error
    if locked:
        raise ValueError("is password-protected. Save it without a password")
    if not any(page.strip() for page in pages):
        raise ValueError(
            f"has no text on its {len(pages)} pages; it is probably a scan. Run text recognition (OCR) first"
        )
    empty = Counter({"pages without text": sum(not page.strip() for page in pages)})
    return _Extracted(PAGE.join(pages), +empty, {"title": title} if isinstance(title, str) and title.strip() else {})


_SOUND = re.compile(r"[\[(][^\])]{1,60}[\])]|[♪♫][^♪♫]*[♪♫]|[♪♫]|^#.*#$|(?<!\w)\*(?=\S)[^*]{1,40}(?<=\S)\*(?!\w)")
_SPOKEN = re.compile(r"(?:>>\s*|-\s*)?(?:([A-Z][\w.' -]{0,30}):\s+(?=\S))?(.*)", re.DOTALL)


def _read_subtitles(content: bytes, webvtt: Any, suffix: str) -> _Extracted:
    """Extract the text of the cues in a SubRip or WebVTT file.

    Each change of the named speaker starts a new line.
    """
    text, counts = decode(content)
    try:
        captions = webvtt.from_buffer(io.StringIO(text), format=suffix.lower().removeprefix("."))
    except webvtt.errors.MalformedFileError as error:
        raise ValueError(f"contains no valid subtitles: {error}") from error
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
    return _Extracted("\n".join(spoken), +counts, turns=any(speaker for speaker, _ in turns))


_READERS: dict[FileType, Callable[[bytes, Any, str], _Extracted]] = {
    "html": _read_html, "pdf": _read_pdf, "subtitles": _read_subtitles,
}  # fmt: skip


# ---- rows: flat files and dialogues ----

_TURNS = ("turns", "dialogue", "dialog", "utterances", "messages", "conversation", "transcript")
_SPEAKERS = ("speaker", "role", "name", "from", "user", "author")
_SAYINGS = ("text", "utterance", "utt", "content", "value", "message", "sentence")
_IDS = ("doc_id", "id", "dialogue_id", "dialog_id", "uid")
_DOCUMENTS = ("document", "text")


def _rows(path: str, prefix: str, faults: Faults, columns: Mapping[str, str] | None) -> Iterator[Raw]:
    """Read a flat file, or a JSON file that contains one dialogue with a row per turn.

    Documents without an id get an id that begins with `prefix`.
    """
    try:
        file_format = format_of(path)
    except UsageError as error:
        faults.fail(None, None, str(error))
        return
    names = Columns(columns)
    rows = [(row.line, names.apply(row, faults)) for row in read_rows(path, faults, file_format)]
    names.finish(faults)
    if faults.count and faults.on_fault == "error":
        return
    turns = (
        {"speaker", "role"} & cells.keys() and not {*_IDS, "document"} & cells.keys() and _turn_line(cells) is not None
        for _, cells in rows
    )
    if not rows:
        faults.fail(None, None, "contains no rows. Give one row per document")
    elif file_format == "json" and all(turns):
        yield _one_dialogue(path, prefix, rows, faults)
    else:
        yield from _documents(path, prefix, rows, faults, as_text=file_format in TABLES)


_Row = tuple[int, Mapping[str, Any]]
"""The line of a row, and its cells by field."""


def _documents(path: str, prefix: str, rows: Sequence[_Row], faults: Faults, *, as_text: bool) -> Iterator[Raw]:
    """Yield each document in a table once. Rows with the same id must have the same text."""
    intake = Intake(faults, Columns(None), "en")
    read: dict[str, tuple[int, Counter[str], bool]] = {}
    """The line, changes and type of the text of each row."""
    for number, (line, cells) in enumerate(rows, 1):
        doc_id = str(next((cells[name] for name in _IDS if cells.get(name) not in (None, "")), f"{prefix}-{number}"))
        fields = {name: cell for name, cell in cells.items() if name in _DOCUMENT_FIELDS or is_share(name)}
        row = Row(path, line, {**fields, "doc_id": doc_id, "system": str(number), "summary": "-"}, as_text)
        content, changes = cells.get("document"), Counter[str]()
        turns = False
        if isinstance(content, list):  # several sources; the intake checks their form
            cleaned = [
                (each, clean(str(each["text"]))) for each in content if isinstance(each, Mapping) and "text" in each
            ]
            if len(cleaned) == len(content):
                content = [{**each, "text": text} for each, (text, _) in cleaned]
                changes = sum((counts for _, (_, counts) in cleaned), changes)
        else:
            try:
                content, turns = _row_text(cells)
            except ValueError as error:
                intake.refuse(row, None, str(error))
                continue
            content, changes = clean(content)
        read[str(number)] = line, changes, turns
        if content:
            intake.take(row._replace(cells={**row.cells, "document": content}))
        else:
            intake.refuse(row, "document", "contains no text")
    if (content := intake.batch()) is None:
        return
    first_of = {summary.document_id: summary.system for summary in reversed(tuple(content.summaries))}
    for document in content.documents.values():
        line, changes, turns = read[first_of[document.id]]
        given = {
            name: value
            for name in (*_DOCUMENT_FIELDS, "sources")
            if (value := getattr(document, name, None)) not in (None, ())
        }
        yield Raw(document.id, document.text, (path, line), given, {}, changes, turns)


def _one_dialogue(path: str, doc_id: str, turns: Sequence[_Row], faults: Faults) -> Raw:
    for line, column, cell in ((line, *pair) for line, cells in turns for pair in cells.items() if is_share(pair[0])):
        if column != SHARE or not (cell is None or isinstance(cell, bool)):
            faults.fail(line, column, f"is {cell!r}. Give true or false in a column called {SHARE}")
    text, counts = clean("\n".join(_turn_line(cells) or "" for _, cells in turns))
    fields = {SHARE: False} if any(read_share(cells.get(SHARE)) is False for _, cells in turns) else {}
    return Raw(doc_id, text, (path, None), fields, {}, counts, turns=True)


def _turn_line(cells: Any) -> str | None:
    """Return a turn of a dialogue as a line of text, or None if the value is not a turn."""
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
    """Return the text of a row's document, and whether it is stored as turns.

    Raises ValueError if the row contains no text.
    """
    for name in _TURNS:
        value = cells.get(name)
        if isinstance(value, str) and value.lstrip().startswith("["):  # a table stores lists as JSON
            with suppress(ValueError):
                value = json.loads(value)
        if isinstance(value, list) and value:
            lines = [_turn_line(turn) for turn in value]
            if None in lines:
                turn = value[lines.index(None)]
                raise ValueError(
                    f"turn {lines.index(None) + 1} in `{name}` is {describe(turn)} without a speaker "
                    f"({', '.join(_SPEAKERS)}) and a text ({', '.join(_SAYINGS)})"
                )
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
    columns = ", ".join(map(str, cells))
    option = Parameter("columns", "document=COLUMN")
    raise ValueError(f"has no text. Name the column of the document ({option}) or of its turns. Columns: {columns}")


# ---- recognition of dialogues ----

_LINE_OF_SPEAKER = re.compile(r"(?P<speaker>[^\W\d_][\w.'’ -]{0,30}):\s+\S")


def is_dialogue(text: str) -> bool:
    """Return whether a text is a dialogue.

    A dialogue has at least four lines, most of which start with the name of a speaker, and at least two speakers, one
    of whom speaks more than once.

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
