"""The shards of a dataset: a folder of dataset folders, each with some of the documents, sealed by shards.json.

    DATA/   shards.json . shard-00000/ . shard-00001/ ...

shards.json lists the shards in order, each with its counts and the SHA-256 of its dataset.json, which in turn holds
those of its files. It is written last: a folder without it is no dataset. A run keeps only shards.json, with `place`
saying where the shards lie.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Literal, NamedTuple, Self

from pydantic import Field, ValidationError

from summeter.data import folder as folders
from summeter.data import remote
from summeter.data.atomic import building, write_lines, write_text
from summeter.data.faults import Dropped
from summeter.data.folder import Card, Content
from summeter.data.remote import is_remote, joined
from summeter.records import Document, Fault, InputError, Parameter, Record, Summary, UsageError

MANIFEST = "shards.json"
SHARD_DOCUMENTS = 1000
"""Documents of a shard, where nobody says otherwise: with ten summaries each some 50 MB in memory."""
_AGAIN = "bring it back as it was, or shard the data again"
_SPILL = ".summaries"
_WRITTEN = re.compile(rf"shard-\d{{5,}}/|{re.escape(folders.DROPPED)}$")
"""What is uploaded before the list."""


class Shard(Record):
    """A shard: its folder's name, how much is in it, and the SHA-256 of its dataset.json."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    documents: int
    summaries: int
    hash: str


class Manifest(Record):
    """The whole of shards.json. The `card` is that of all shards together, and its hash that of the documents and
    summaries of all, document by document; `sets` names the judgment sets, each with its aspects. `place` is the folder
    of the shards where that is not the manifest's own."""

    layout: Literal["summeter-shards/1"] = "summeter-shards/1"
    card: Card
    systems: tuple[str, ...]
    domains: tuple[str, ...]
    splitters: tuple[str, ...]
    sets: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    shards: tuple[Shard, ...]
    place: str | None = None

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return sum(shard.documents for shard in self.shards)

    @property
    def summaries(self) -> int:
        """How many summaries there are."""
        return sum(shard.summaries for shard in self.shards)

    def differs(self, other: Manifest) -> str | None:
        """The first shard of `other` that is not as here, by name; None where all are."""
        own = {shard.name: shard for shard in self.shards}
        changed = (shard.name for shard in other.shards if own.get(shard.name) != shard)
        return next(changed, None if len(own) == len(other.shards) else self.shards[-1].name)


class Shards(NamedTuple):
    """The shards in a folder, or at an address of remote storage, with the manifest that lists them."""

    folder: str | Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: str | Path) -> Shards:
        """Raises InputError where the manifest is damaged."""
        manifest = read_manifest(folder)
        place = folder if manifest.place is None else manifest.place
        return cls(str(place) if is_remote(place) else Path(place), manifest)

    @property
    def place(self) -> str:
        """Where they are, for one who looks from another folder."""
        return str(self.folder) if is_remote(self.folder) else str(Path(self.folder).resolve())

    def read(self, shard: Shard, only: Container[str] | None = None) -> Content:
        """What a shard holds, or what it holds of these documents `only`, without judgments. Raises InputError naming
        the shard where it is missing, or not as it was written."""
        with self._here(shard) as folder:
            if only is not None:
                return folders.read_some(folder, only, self._advice(shard))
            content = folders.read(folder, verify=True, advice=self._advice(shard))
            if not is_remote(self.folder):
                return content
            # The files go with the folder, so that the judgments are read now.
            sets = {name: tuple(make()) for name, make in content.judgments.items()}
            return content._replace(judgments={name: partial(iter, rows) for name, rows in sets.items()})

    def outline(self, shard: Shard) -> dict[str, list[str]]:
        """The systems of the summaries of each document of a shard, by its id. Raises InputError as `read` does."""
        with self._here(shard) as folder:
            return folders.outline(folder, self._advice(shard))

    def domains(self, shard: Shard) -> dict[str, str]:
        """The domain of each document of a shard that has one, by its id. Raises InputError as `read` does."""
        with self._here(shard) as folder:
            return folders.document_domains(folder, self._advice(shard))

    @contextmanager
    def _here(self, shard: Shard) -> Iterator[Path]:
        """The folder of a shard, checked; of a remote one a copy that goes, in whose faults the address is named."""
        folder = joined(self.folder, shard.name)
        if isinstance(folder, Path):
            self._check(shard, folder)
            yield folder
            return
        with TemporaryDirectory(prefix="summeter-shard-") as place:
            copy = Path(place) / shard.name
            remote.download(folder, copy)
            try:
                self._check(shard, copy)
                yield copy
            except InputError as error:
                faults = [each._replace(file=each.file.replace(str(copy), folder)) for each in error.faults]
                raise InputError(faults) from None

    def check(self) -> None:
        """Raise InputError naming every shard that is missing, or whose card is not as it was written (of remote ones
        only the former is known). Their texts are not read."""
        there = set(remote.names(str(self.folder))) if is_remote(self.folder) else None
        faults: list[Fault] = []
        for shard in self.manifest.shards:
            try:
                if isinstance(folder := joined(self.folder, shard.name), Path):
                    self._check(shard, folder)
                elif there is not None and f"{shard.name}/{folders.CARD}" not in there:
                    raise self._missing(shard, folder)
            except InputError as error:
                faults += error.faults
        if faults:
            raise InputError(faults)

    def _advice(self, shard: Shard) -> str:
        return f"it belongs to {self._which(shard)}: {_AGAIN}"

    def _check(self, shard: Shard, folder: Path) -> None:
        if not (folder / folders.CARD).is_file():
            raise self._missing(shard, folder)
        if folders.file_hash(folder / folders.CARD) != shard.hash:
            message = f"{self._which(shard)} was changed after the data were sharded; {_AGAIN}"
            raise InputError.at(folder / folders.CARD, None, None, message)

    def _missing(self, shard: Shard, folder: str | Path) -> InputError:
        return InputError.at(folder, None, None, f"{self._which(shard)} is missing; {_AGAIN}")

    def _which(self, shard: Shard) -> str:
        return f"shard {1 + self.manifest.shards.index(shard):,} of {len(self.manifest.shards):,}"


def is_sharded(folder: str | Path) -> bool:
    """Whether the folder holds shards, or says where they lie."""
    path = joined(folder, MANIFEST)
    return path.is_file() if isinstance(path, Path) else remote.is_file(path)


def read_manifest(folder: str | Path) -> Manifest:
    """The manifest in a folder. Raises InputError where it is damaged."""
    path = joined(folder, MANIFEST)
    content = path.read_bytes() if isinstance(path, Path) else remote.read_bytes(path)
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or None
        raise InputError.at(path, None, field, f"damaged: {first['msg']}; {_AGAIN}") from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / MANIFEST, json.dumps(manifest.model_dump(), ensure_ascii=False, indent=1) + "\n")


def check_target(folder: str | Path, *, force: bool) -> None:
    """Raise UsageError unless shards may be written to `folder`."""
    unlisted = False
    if is_remote(folder):
        names = remote.names(str(folder))
        there = bool(names)
        unlisted = all(_WRITTEN.match(name) for name in names)
    else:
        there = Path(folder).exists() and (not Path(folder).is_dir() or any(Path(folder).iterdir()))
    if not there:
        return
    if is_sharded(folder):
        holds = "already holds a dataset in shards"
    elif unlisted:
        holds = "holds shards without their list, as writing that was ended leaves them"
    else:
        raise UsageError(f"{folder} exists and is not a dataset in shards; nothing was written: choose another folder")
    if not force:
        raise UsageError(
            f"{folder} {holds}; choose another folder, or replace it with ",
            Parameter("force", "True"),
        )


@contextmanager
def building_shards(target: str | Path) -> Iterator[Path]:
    """A new folder to fill; it takes the place of `target` when the block ends without an error.

    On remote storage an earlier list of shards goes first and the new one comes last, so that no list names shards
    that are not whole.
    """
    if not is_remote(target):
        with building(target) as fresh:
            yield fresh
        return
    with TemporaryDirectory(prefix="summeter-shards-") as place:
        fresh = Path(place)
        yield fresh
        files = sorted(str(path.relative_to(fresh)) for path in fresh.rglob("*") if path.is_file())
        for name in sorted(remote.names(str(target)), key=lambda name: name != MANIFEST):
            remote.remove(str(joined(target, name)))
        for name in sorted(files, key=lambda name: name == MANIFEST):
            remote.upload(fresh / name, str(joined(target, name)))


class ShardWriter:
    """Writes shards into a new folder, one by one; `seal` ends with the manifest. Memory holds one shard at a time, and
    what each system and domain is called."""

    def __init__(self, folder: Path, card: Card) -> None:
        """`card` is that of all shards together, as far as it is known before they are written."""
        self._folder, self._card = folder, card
        self._shards: list[Shard] = []
        self._counts = Counter[str]()
        self._sets: dict[str, dict[str, None]] = {}
        self._systems: dict[str, None] = {}
        self._domains: dict[str, None] = {}
        self._splitters: set[str] = set()
        self._hash = hashlib.sha256()

    def __enter__(self) -> Self:
        # The hash is over all documents, then all summaries: these wait in a file.
        self._spill: IO[bytes] = (self._folder / _SPILL).open("w+b")
        return self

    def __exit__(self, *_: object) -> None:
        self._spill.close()
        (self._folder / _SPILL).unlink(missing_ok=True)

    def add(self, content: Content) -> None:
        """Write a shard. One without documents is none."""
        if not content.documents:
            return
        documents, summaries = self._note(content.documents, content.summaries)
        name = f"shard-{len(self._shards):05}"
        own = hashlib.sha256(documents + summaries).hexdigest()
        card = self._card.model_copy(
            update={"name": f"{self._card.name}-{len(self._shards):05}", "hash": own, "counts": {}, "files": {}}
        )
        sealed = folders.write(
            self._folder / name, content.documents, content.summaries, content.judgments, card,
            fact_origins=content.fact_origins,
        )  # fmt: skip
        self._counts.update(sealed.counts)
        for judgment_set, make in content.judgments.items():
            self._sets.setdefault(judgment_set, {}).update((judgment.aspect, None) for judgment in make())
        self._shards.append(
            Shard(
                name=name, documents=len(content.documents), summaries=len(content.summaries),
                hash=folders.file_hash(self._folder / name / folders.CARD),
            )
        )  # fmt: skip

    def _note(self, documents: Mapping[str, Document], summaries: Iterable[Summary]) -> tuple[bytes, bytes]:
        """Take what the manifest says of them all; returns what their hash is over."""
        first = b"".join(map(folders.hashed_line, documents.values()))
        second = b"".join(map(folders.hashed_line, summaries))
        self._hash.update(first)
        self._spill.write(second)
        for summary in summaries:
            self._systems[summary.system] = None
            self._splitters.add(summary.splitter)
        self._domains.update((each.domain, None) for each in documents.values() if each.domain is not None)
        return first, second

    def seal(self, dropped: Iterable[Dropped] = ()) -> Manifest:
        """Write the manifest, and what was left out of the data beside it."""
        self._spill.seek(0)
        while block := self._spill.read(1 << 20):
            self._hash.update(block)
        card = self._card.model_copy(
            update={"hash": self._hash.hexdigest(), "counts": dict(sorted(self._counts.items())), "files": {}}
        )
        manifest = Manifest(
            card=card, systems=tuple(self._systems), domains=tuple(self._domains),
            splitters=tuple(sorted(self._splitters)), shards=tuple(self._shards),
            sets={name: tuple(sorted(aspects)) for name, aspects in sorted(self._sets.items())},
        )  # fmt: skip
        if lines := [json.dumps(each._asdict(), ensure_ascii=False) for each in dropped]:
            write_lines(self._folder / folders.DROPPED, lines)
        write_manifest(self._folder, manifest)
        return manifest
