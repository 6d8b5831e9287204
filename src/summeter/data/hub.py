"""Fetch datasets from the Hugging Face hub: `hf:org/name@revision#[config/]split`.

Files are fetched by huggingface_hub (extra `hub`) into its cache; scripts are never run. With `HF_HUB_OFFLINE=1`, only
the cache is read. The card records the commit and the hash of each file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from summeter.data.folder import file_hash
from summeter.data.formats import format_of
from summeter.data.mapping import parse_yaml
from summeter.records import Fault, InputError, InstallError, UsageError, nearest

PREFIX = "hf:"
README = "README.md"
DEFAULT = "default"
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHARD = re.compile(r"-(?P<number>\d{5})-of-(?P<all>\d{5})(-[0-9a-f]+)?$")
_HEAD = re.compile(r"\A---[ \t]*\r?\n(?P<yaml>.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_ON = frozenset({"1", "on", "yes", "true"})
_TIMEOUT = 10.0
"""Timeout, in seconds, for resolving a revision on the hub."""

Tables = dict[str, dict[str, list[str]]]
"""The file names by config and split."""


class Address(NamedTuple):
    """The components of `hf:org/name@revision#config/split`.

    `config` and `split` are None if they are absent.
    """

    repo: str
    revision: str
    config: str | None
    split: str | None

    @classmethod
    def of(cls, text: str) -> Address:
        """Parse an address. Raises UsageError if it is invalid.

        >>> Address.of("hf:Salesforce/rose@refs/convert/parquet#xsum/data")
        Address(repo='Salesforce/rose', revision='refs/convert/parquet', config='xsum', split='data')
        """
        head, _, subset = (
            text.removeprefix(PREFIX).rpartition("#") if "#" in text else (text.removeprefix(PREFIX), "", "")
        )
        repo, at, revision = head.partition("@")
        config, slash, split = subset.rpartition("/")
        complete = (revision or not at) and (config or not slash) and (subset or "#" not in text)
        if not _REPO.fullmatch(repo) or not complete or (slash and not split):
            raise UsageError(f"{text!r} is not an address of a dataset; give hf:ORG/NAME[@REVISION][#[CONFIG/]SPLIT]")
        return cls(repo, revision or "main", config or None, split or None)

    def __str__(self) -> str:
        subset = "/".join(filter(None, (self.config, self.split)))
        return f"{PREFIX}{self.repo}@{self.revision}{f'#{subset}' if subset else ''}"


class Fetched(NamedTuple):
    """The cached files of an address, with the name, licence and provenance for the card."""

    files: tuple[Path, ...]
    name: str
    licence: str | None
    origin: dict[str, Any]
    warnings: tuple[Fault, ...]


class Snapshot(NamedTuple):
    """A commit of a repository.

    `names` lists the files of the commit, and `folder` contains those that were fetched. `online` says whether the
    commit was resolved by the hub; if not, `warning` says why the cache was used.
    """

    commit: str
    folder: Path
    names: tuple[str, ...]
    online: bool
    warning: str | None


def is_address(data: object) -> bool:
    """Return whether `data` is an address on the hub."""
    return isinstance(data, str | Path) and str(data).startswith(PREFIX)


def is_offline() -> bool:
    """Return whether environment variables forbid access to the hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in _ON


def fetch(data: str | Path) -> Fetched:
    """Return the files of an address, after fetching those that are not in the cache.

    Raises UsageError for an invalid address, InputError if neither the hub nor the cache has the data, and InstallError
    if huggingface_hub is missing.
    """
    address = Address.of(str(data))
    snapshot = _snapshot(address)
    readme = _front_matter(address, snapshot)
    config, split, names = _chosen(address, _tables(address, snapshot, readme))
    files = {name: _file(address, snapshot, name) for name in names}
    origin = {
        "how": "hub",
        "repo": address.repo,
        "revision": address.revision,
        "commit": snapshot.commit,
        "config": config,
        "split": split,
        "files": {name: file_hash(path) for name, path in files.items()},
    }
    licence = readme.get("license")
    warnings = () if snapshot.warning is None else (Fault(str(address), None, None, snapshot.warning),)
    name = address.repo.rpartition("/")[2]
    return Fetched(tuple(files.values()), name, licence if isinstance(licence, str) else None, origin, warnings)


# ---- which commit ----


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise InstallError.missing("huggingface_hub (hf: addresses)", "hub") from None
    return huggingface_hub


def _cache(address: Address) -> Path:
    """Return the folder of the repository in the cache."""
    from huggingface_hub import constants

    root = os.environ.get("HF_HUB_CACHE") or constants.HF_HUB_CACHE
    return Path(root).expanduser().resolve() / f"datasets--{address.repo.replace('/', '--')}"


def _snapshot(address: Address) -> Snapshot:
    hub = _hub()
    if is_offline():
        return _cached(address, "offline")
    from huggingface_hub import errors

    try:
        info = hub.HfApi().dataset_info(address.repo, revision=address.revision, timeout=_TIMEOUT)
    except errors.GatedRepoError as error:
        raise _gated(address) from error
    except errors.RevisionNotFoundError as error:
        refs = hub.HfApi().list_repo_refs(address.repo, repo_type="dataset")
        known = [
            ref.ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
            for ref in (*refs.branches, *refs.tags, *(refs.converts or ()))
        ]
        raise _no_revision(address, known, "on the hub") from error
    except errors.RepositoryNotFoundError as error:
        why = "the hub has no such dataset, or it is private: set HF_TOKEN to a token that may read it"
        raise InputError.at(str(address), why) from error
    except (errors.HTTPError, OSError) as error:
        return _cached(address, f"the hub did not answer ({type(error).__name__})")
    names = tuple(sibling.rfilename for sibling in info.siblings or ())
    return Snapshot(info.sha, _cache(address) / "snapshots" / info.sha, names, online=True, warning=None)


def _cached(address: Address, why: str) -> Snapshot:
    """Return the snapshot of a revision in the cache. Raises InputError if it is not cached."""
    home = _cache(address)
    commit = address.revision if _COMMIT.fullmatch(address.revision) else _commit_of(home, address.revision)
    folder = home / "snapshots" / (commit or "")
    if commit is None or not folder.is_dir():
        if not (home / "snapshots").is_dir():
            message = f"{why}, and the cache ({home.parent}) does not contain {address.repo}; download it first"
            raise InputError.at(str(address), message)
        refs = home / "refs"
        known = [path.relative_to(refs).as_posix() for path in sorted(refs.rglob("*")) if path.is_file()]
        known += [path.name for path in sorted((home / "snapshots").iterdir())]
        raise _no_revision(address, known, f"in the cache ({why})")
    names = tuple(
        path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file()
    )
    return Snapshot(commit, folder, names, online=False, warning=f"{why}: read from the cache, commit {commit}")


def _commit_of(home: Path, revision: str) -> str | None:
    """Return the commit of a branch or tag when it was last fetched, or None if it never was."""
    refs = home / "refs"
    path = refs / revision
    if not path.resolve().is_relative_to(refs.resolve()) or not path.is_file():
        return None
    commit = path.read_text(encoding="utf-8").strip()
    return commit if _COMMIT.fullmatch(commit) else None


def _no_revision(address: Address, known: Sequence[str], where: str) -> InputError:
    hint = " (give all 40 digits of a commit)" if re.fullmatch(r"[0-9a-f]{4,39}", address.revision) else ""
    message = f"there is no revision {address.revision!r} {where}{hint}; revisions are: {', '.join(known) or 'none'}"
    return InputError.at(str(address), message)


def _gated(address: Address) -> InputError:
    page = f"https://huggingface.co/datasets/{address.repo}"
    message = f"is gated: accept its terms at {page}, then set HF_TOKEN to a token of that account"
    return InputError.at(str(address), message)


# ---- which files ----


def _front_matter(address: Address, snapshot: Snapshot) -> Mapping[str, Any]:
    """Return the YAML front matter of README.md, or an empty mapping if it is missing."""
    if README not in snapshot.names:
        return {}
    path = _file(address, snapshot, README)
    head = _HEAD.match(path.read_text(encoding="utf-8-sig", errors="replace"))
    if head is None:
        return {}
    values = parse_yaml(head["yaml"], path)
    return values if isinstance(values, Mapping) else {}


def _tables(address: Address, snapshot: Snapshot, readme: Mapping[str, Any]) -> tuple[Tables, str | None]:
    """Return the files of each split of each config, and the default config."""
    listed = readme.get("configs")
    if isinstance(listed, list) and any(isinstance(config, Mapping) and "data_files" in config for config in listed):
        return _from_front_matter(address, snapshot, [config for config in listed if isinstance(config, Mapping)])
    tables: Tables = {}
    for name in sorted(snapshot.names):
        if (subset := _subset_of(name)) is not None:
            tables.setdefault(subset[0], {}).setdefault(subset[1], []).append(name)
    if not tables:
        script = f"{address.repo.rpartition('/')[2]}.py"
        hint = "data files are .parquet, .jsonl, .json, .csv or .tsv"
        if script in snapshot.names:
            converted = f"{PREFIX}{address.repo}@refs/convert/parquet"
            hint = f"it is a script ({script}), which is never run; the hub's conversion is at {converted}"
        raise InputError.at(str(address), f"contains no data files; {hint}")
    return tables, DEFAULT if DEFAULT in tables else None


def _from_front_matter(
    address: Address, snapshot: Snapshot, configs: Sequence[Mapping[str, Any]]
) -> tuple[Tables, str | None]:
    tables: Tables = {}
    chosen: str | None = None
    for config in configs:
        name = _name(address, config.get("config_name", DEFAULT))
        if name == DEFAULT or config.get("default") is True:
            chosen = name
        folder = _name(address, config.get("data_dir") or "")
        for split, patterns in _patterns(address, config.get("data_files")):
            for pattern in patterns:
                whole = f"{folder.strip('/')}/{pattern}" if folder else pattern
                if "://" in whole or whole.startswith("/") or "\\" in whole or ".." in PurePosixPath(whole).parts:
                    raise _bad_configs(address, f"contains {whole!r}, which is outside the repository")
                files = [path for path in sorted(snapshot.names) if _fits(path, whole)]
                if not files and snapshot.online:
                    raise _bad_configs(address, f"contains {whole!r}, which matches no file of the repository")
                tables.setdefault(name, {}).setdefault(split, []).extend(files)
    return tables, chosen


def _patterns(address: Address, data_files: Any) -> list[tuple[str, list[str]]]:
    """Return (split, patterns) pairs for `data_files`: a pattern, a list, or patterns by split."""
    if isinstance(data_files, str):
        return [("train", [data_files])]
    if isinstance(data_files, Mapping):
        return [(_name(address, split), _texts(address, path)) for split, path in data_files.items()]
    if isinstance(data_files, list) and all(isinstance(entry, str) for entry in data_files):
        return [("train", data_files)]
    if isinstance(data_files, list) and all(isinstance(entry, Mapping) for entry in data_files):
        return [
            (_name(address, entry.get("split", "train")), _texts(address, entry.get("path"))) for entry in data_files
        ]
    raise _bad_configs(address, "is neither a path, nor a list of paths or of {split, path} objects")


def _texts(address: Address, paths: Any) -> list[str]:
    listed = [paths] if isinstance(paths, str) else paths
    if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
        raise _bad_configs(address, "has a split whose path is neither a string nor a list of strings")
    return listed


def _name(address: Address, value: Any) -> str:
    if not isinstance(value, str | int | float):
        raise _bad_configs(address, "has a name that is not a string")
    return str(value)


def _bad_configs(address: Address, problem: str) -> InputError:
    return InputError.at(str(address), problem, field="README.md: configs: data_files")


def _fits(path: str, pattern: str) -> bool:
    """Return whether a glob pattern (`*` and `?` within folders, `**` across) matches a path.

    >>> [_fits("data/old/test.csv", pattern) for pattern in ("data/*.csv", "data/*/*.csv", "data/**/test.csv")]
    [False, True, True]
    """
    parts = PurePosixPath(path).parts
    ends = {0}  # numbers of path components that the pattern can match so far
    for piece in PurePosixPath(pattern).parts:
        if piece == "**":
            ends = set(range(min(ends, default=len(parts) + 1), len(parts) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(parts) and fnmatchcase(parts[end], piece)}
    return len(parts) in ends


def _subset_of(name: str) -> tuple[str, str] | None:
    """Return the config and split of a file from its name, or None if it is not a data file.

    >>> _subset_of("data/test-00000-of-00001.parquet"), _subset_of("xsum/test/0000.parquet"), _subset_of("val.jsonl")
    (('default', 'test'), ('xsum', 'test'), ('default', 'val'))
    """
    path = PurePosixPath(name)
    if any(part.startswith((".", "_")) for part in path.parts) or path.name == "dataset_infos.json":
        return None
    try:
        format_of(path.name)
    except UsageError:
        return None
    stem = _SHARD.sub("", path.name.partition(".")[0])
    folders = path.parts[:-1]
    if len(folders) >= 2:
        return folders[0], folders[1]
    if not folders or folders[0] == "data":
        return DEFAULT, stem
    return (DEFAULT, folders[0]) if stem.isdecimal() else (folders[0], stem)


def _chosen(address: Address, known: tuple[Tables, str | None]) -> tuple[str, str, list[str]]:
    """Return the config, split and files. Raises InputError if they are ambiguous or unknown."""
    tables, default = known
    config = address.config or (next(iter(tables)) if len(tables) == 1 else default)
    where = f"{PREFIX}{address.repo}@{address.revision}"
    if config is None:
        what = f"has several configs: {', '.join(tables)}; give one, for example {where}#{next(iter(tables))}/"
        raise InputError.at(str(address), what + next(iter(tables[next(iter(tables))])))
    if config not in tables:
        message = f"has no config {config!r}{nearest(config, tables)}; it has: {', '.join(tables)}"
        raise InputError.at(str(address), message)
    splits = tables[config]
    split = address.split or (next(iter(splits)) if len(splits) == 1 else None)
    if split is None:
        what = f"has several splits: {', '.join(splits)}; give one, for example {where}#{next(iter(splits))}"
        raise InputError.at(str(address), what)
    if split not in splits:
        hint = f"; {split!r} is a config: give #{split}/{next(iter(tables[split]))}" if split in tables else ""
        message = f"has no split {split!r}{hint or nearest(split, splits)}; it has: {', '.join(splits)}"
        raise InputError.at(str(address), message)
    names = splits[split]
    shards = [match for name in names if (match := _SHARD.search(PurePosixPath(name).name.partition(".")[0]))]
    wanted = max((int(match["all"]) for match in shards), default=0)  # in names such as `-00000-of-00003`
    if not names or len(shards) < wanted:
        present = f"{len(shards)} of its {wanted} files are" if names else "none of its files is"
        raise InputError.at(str(address), f"{present} in the cache; download it first")
    return config, split, names


def _file(address: Address, snapshot: Snapshot, name: str) -> Path:
    """Return the path of a file in the cache, after fetching it if the hub is accessible."""
    if snapshot.online:
        from huggingface_hub import errors, hf_hub_download

        try:
            hf_hub_download(
                address.repo, name, repo_type="dataset", revision=snapshot.commit, cache_dir=_cache(address).parent
            )
        except errors.GatedRepoError as error:
            raise _gated(address) from error
        except (errors.HTTPError, OSError) as error:
            message = f"could not be fetched ({type(error).__name__}); try again, or read it offline from the cache"
            raise InputError.at(str(address), message, field=name) from error
    path = snapshot.folder / name
    real, home = path.resolve(), _cache(address)
    if not real.is_relative_to(home):
        message = f"links to {real}, which is outside the cache of the repository and is not read"
        raise InputError.at(str(address), message, field=name)
    if not real.is_file():
        message = f"is listed in the cache, but its content is missing ({real}); download it first"
        raise InputError.at(str(address), message, field=name)
    return path
