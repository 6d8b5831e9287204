"""The tables, and how a database is reached: SQLite beside the tasks, or PostgreSQL by URL."""

from __future__ import annotations

import importlib
import sqlite3
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from summeter.records import InstallError, SummeterError, UsageError
from summeter.runs.sqlite import keep_log

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Select, Table

BUSY_SECONDS = 30
LOCK = 0x534D5452
"""The advisory lock that a writer holds in PostgreSQL while it commits."""
_MIGRATIONS = Path(__file__).parent / "migrations"


def need(package: str, extra: str = "annotate") -> Any:
    """The package, or an InstallError that names the command that adds it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InstallError.missing(package.partition(".")[0], extra) from error


@cache
def events_table(*, chained: bool = True) -> Table:
    """The log. A person's token is unique: a retry can never be stored twice. The first version had no `chain`."""
    sa = need("sqlalchemy")
    table: Table = sa.Table(
        "events",
        sa.MetaData(),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("annotator", sa.Text),
        sa.Column("task", sa.Text),
        sa.Column("batch", sa.Integer),
        sa.Column("token", sa.Text),
        sa.Column("data", sa.Text, nullable=False),
        *([sa.Column("chain", sa.Text)] if chained else []),
        sa.UniqueConstraint("annotator", "token"),
    )
    return table


@cache
def events_after(*, chained: bool = True) -> Select[Any]:
    """The events with a seq above `after`, in order; made once, since every commit begins with it. `chain` is null
    where the log is not `chained`."""
    table, sa = events_table(chained=chained), need("sqlalchemy")
    columns = table.c if chained else (*table.c, sa.null().label("chain"))
    wanted: Select[Any] = sa.select(*columns).where(table.c.seq > sa.bindparam("after")).order_by(table.c.seq)
    return wanted.execution_options(yield_per=1000)


@cache
def facts_table() -> Table:
    """What the log belongs to: name and value."""
    sa = need("sqlalchemy")
    table: Table = sa.Table(
        "campaign",
        sa.MetaData(),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    return table


def engine_for(place: Path | str, *, readonly: bool = False, durable: bool = True) -> Engine:
    """An engine for a SQLite file (a path) or a PostgreSQL database (a URL). A file that is not `durable` may be lost
    with the machine's power."""
    if not readonly:
        need("alembic")
    return _sqlite(place, readonly=readonly, durable=durable) if isinstance(place, Path) else _postgres(place)


def _sqlite(file: Path, *, readonly: bool, durable: bool) -> Engine:
    sa = need("sqlalchemy")
    if readonly and not file.is_file():
        raise UsageError(f"{file}: there is no log yet; start the campaign with `summeter annotate serve`")
    target = f"{file.resolve().as_uri()}{'?mode=ro' if readonly else ''}"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            target, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        if not readonly:
            keep_log(connection)
            # A commit that was acknowledged survives a power cut too, not only the end of the process.
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
        return connection

    engine: Engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.QueuePool)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgres(url: str) -> Engine:
    sa = need("sqlalchemy")
    head, colon, rest = url.partition("://")
    if not colon or head.split("+")[0] not in {"postgresql", "postgres"}:
        raise UsageError("a database is given as postgresql://USER@HOST/NAME; without one the campaign uses SQLite")
    need("psycopg", "postgres")
    try:
        engine: Engine = sa.create_engine(f"postgresql+psycopg://{rest}", pool_pre_ping=True)
        engine.dialect.create_connect_args(engine.url)
    except (sa.exc.ArgumentError, ValueError, TypeError) as error:
        raise UsageError("the database URL cannot be read; give postgresql://USER@HOST/NAME") from error
    return engine


def is_chained(connection: Connection) -> bool:
    """Whether the events carry chained hashes; those of the first version, opened for reading, do not."""
    return any(column["name"] == "chain" for column in need("sqlalchemy").inspect(connection).get_columns("events"))


def take_turn(connection: Connection) -> None:
    """Wait until no other process writes; SQLite has done so when the transaction began."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")


def migrate(connection: Connection) -> None:
    """Bring the database to this version's schema, within the caller's transaction."""
    need("alembic")
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    head = ScriptDirectory.from_config(config).get_current_head()
    if MigrationContext.configure(connection).get_current_revision() == head:
        return
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise SummeterError(f"the log was written by a newer summeter ({error}); upgrade") from error
