"""The call store: the first write wins, no acknowledged write is lost, and other files are refused."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from itertools import count, islice
from pathlib import Path

import pytest
from growth import assert_within
from hypothesis import given
from hypothesis import strategies as st

from summeter.records import InputError, SummeterError, UsageError
from summeter.runs.calls import CallStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "calls.sqlite"


def test_what_is_put_is_got_and_the_first_write_wins(path: Path) -> None:
    with CallStore(path) as store:
        assert store.get("k") is None
        assert "k" not in store
        assert store.put("k", '{"q":1}', '{"text":"a"}', "m") == '{"text":"a"}'
        assert store.put("k", '{"q":1}', '{"text":"b"}', "m") == '{"text":"a"}'
        assert store.get("k") == '{"text":"a"}'
        assert "k" in store
        assert len(store) == 1
        assert store.request("k") == '{"q":1}'
    assert not path.with_name("calls.sqlite-wal").exists()  # a closed store is one file
    with CallStore(path) as store:
        assert store.get("k") == '{"text":"a"}'


@given(st.text(st.characters(codec=None), max_size=40))
def test_any_text_can_be_stored_as_json(text: str) -> None:
    with CallStore() as store:
        made = json.dumps({"text": text}, ensure_ascii=False)
        store.put("k", made, made)
        back = store.get("k")
        assert back is not None
        # A lone surrogate comes back from its escape, all else as it was.
        assert json.loads(back) == {"text": text}


def test_a_file_that_is_not_sqlite_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("this is a text file, and a rather long one, so that SQLite reads a header of it" * 3)
    with pytest.raises(InputError, match=r"calls\.sqlite: is not a readable call store"):
        CallStore(path)


def test_another_sqlite_file_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="not one of recorded calls"):
        CallStore(path)
    assert path.read_bytes() == before


def test_a_newer_store_is_refused(path: Path) -> None:
    CallStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match=r"newer summeter.*version 99"):
        CallStore(path)


def test_reading_only(path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        CallStore(path, readonly=True)
    assert not path.parent.exists()
    with CallStore(path) as store:
        store.put("k", "{}", "a")
    with CallStore(path, readonly=True) as store:
        assert store.get("k") == "a"
        with pytest.raises(UsageError, match="read-only"):
            store.put("l", "{}", "b")


def test_reading_only_beside_a_writer_that_was_killed(path: Path) -> None:
    writer = CallStore(path)
    writer.put("k", "{}", "a")
    with CallStore(path, readonly=True) as store:  # the write-ahead log still holds it
        assert store.get("k") == "a"
    writer.close()


def test_a_closed_store_says_so(path: Path) -> None:
    store = CallStore(path)
    store.close()
    store.close()
    with pytest.raises(SummeterError, match="closed"):
        store.get("k")


WRITER = """
import sys
from summeter.runs.calls import CallStore
store = CallStore(sys.argv[1])
for number in range(int(sys.argv[3])):
    kept = store.put(f"{sys.argv[4]}{number}", "{}", f'{{"text": "{sys.argv[2]} {number}"}}')
    print(number, kept, flush=True)
"""


def _writer(path: Path, name: str, count: int, prefix: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count), prefix], stdout=subprocess.PIPE, text=True
    )


def test_four_processes_may_share_one_and_agree(path: Path) -> None:
    writers = [_writer(path, f"writer{index}", 100) for index in range(4)]
    seen = [writer.communicate(timeout=600)[0].splitlines() for writer in writers]
    assert all(writer.returncode == 0 for writer in writers)
    assert all(lines == seen[0] for lines in seen)  # all go on with the same reply for each key
    assert len(seen[0]) == 100
    with CallStore(path) as store:
        assert len(store) == 100


def test_kill_9_loses_no_acknowledged_reply(path: Path) -> None:
    acknowledged: list[str] = []
    for round_ in range(3):
        writer = _writer(path, "w", 1_000_000, f"{round_}-")
        assert writer.stdout is not None
        lines = [writer.stdout.readline()]
        lines += [writer.stdout.readline() for _ in range(20 + 15 * round_)]
        os.kill(writer.pid, signal.SIGKILL)
        lines += writer.stdout.readlines()
        writer.stdout.close()
        writer.wait()
        acknowledged += [f"{round_}-{line.split()[0]}" for line in lines if line.endswith("\n")]
    with CallStore(path) as store:
        assert len(acknowledged) > 30
        assert [key for key in acknowledged if key not in store] == []


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_torn_write_ahead_log_gives_what_was_whole(path: Path, share: float, tmp_path: Path) -> None:
    store = CallStore(path)
    for number in range(200):
        store.put(f"{number}", "{}", f"reply {number}" * 20)
    # What a machine that lost power may leave: the file, and a log cut in the middle of a frame.
    torn = tmp_path / "torn" / "calls.sqlite"
    torn.parent.mkdir()
    torn.write_bytes(path.read_bytes())
    log = path.with_name("calls.sqlite-wal").read_bytes()
    torn.with_name("calls.sqlite-wal").write_bytes(log[: int(len(log) * share)])
    store.close()
    with CallStore(torn) as left:
        found = [int(call.key) for call in left.tokens()]
        assert found == list(range(len(found)))  # a whole beginning, in order
        assert 0 < len(found) < 200
        left.put("new", "{}", "a")
        assert left.get("new") == "a"


def test_no_acknowledged_call_takes_long(path: Path) -> None:
    with CallStore(path) as store:
        text, numbers = "x" * 2000, count()

        def put() -> None:
            for number in islice(numbers, 500):
                store.get(f"{number}")
                store.put(f"{number}", text, text)

        assert_within(1, put)  # 2 ms a call; 0.2 ms on an idle core


def test_what_was_turned_away_counts_and_answers_nothing(path: Path, tmp_path: Path) -> None:
    reply = '{"text":"x","tokens_in":9,"tokens_out":7}'
    with CallStore(path) as store:
        store.turn_away("k", '{"n":1}', reply, "m")
        store.turn_away("k", '{"n":1}', reply, "m")  # by another session
        assert store.get("k") is None
        assert (len(store), store.tokens()) == (0, [])
        told = store.tokens("turned_away")
        assert [(call.key, call.model, call.tokens_in, call.tokens_out) for call in told] == [("k", "m", 9, 7)] * 2
        assert store.request("k") == '{"n":1}'
    with CallStore(tmp_path / "other.sqlite") as other:
        for _ in range(2):  # a run and its copy
            other.absorb(path)
        assert other.tokens("turned_away") == told


def test_counts_of_tokens_that_no_call_can_have_are_unknown() -> None:
    """Stores written before such counts were refused when they came."""
    with CallStore() as store:
        for key, count in {"a": 2**63, "b": -1, "c": 1.5, "d": 10**400, "e": 12}.items():
            store.put(key, "{}", json.dumps({"text": "", "tokens_in": count, "tokens_out": 3, "batch": "b"}), "m")
        calls = store.tokens()
    assert [call.tokens_in for call in calls] == [None, None, None, None, 12]
    assert {(call.tokens_out, call.batch) for call in calls} == {(3, "b")}


def test_a_schema_of_garbage_is_refused_by_name(tmp_path: Path) -> None:
    """SQLite's message repeats the garbage, which is no UTF-8."""
    with CallStore(tmp_path / "calls.sqlite") as store:
        store.put("k", "{}", "{}")
    data, garbage = (
        (tmp_path / "calls.sqlite").read_bytes(),
        b"sqli\xcd\xf70JT\xac\x95\xa7\x90F\xd3\x01~\xb6\xf1#f\xffM",
    )
    (tmp_path / "calls.sqlite").write_bytes(data.replace(b"sqlite_autoindex_calls_1", garbage))
    for readonly in (False, True):
        with pytest.raises(InputError, match=r"calls\.sqlite: is not a readable call store"):
            CallStore(tmp_path / "calls.sqlite", readonly=readonly).get("k")


class TestDamage:
    @pytest.fixture
    def damaged(self, path: Path) -> Path:
        with CallStore(path) as store:
            store.put("good", "{}", '{"text":"4"}', "m/x")
            store.put("bad", "{}", '{"text":"4"}', "m/x")
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("""UPDATE calls SET completion = '{"text":"5"}' WHERE key = 'bad'""")
            connection.commit()
        return path

    def test_a_changed_reply_is_asked_for_again(self, damaged: Path, caplog: pytest.LogCaptureFixture) -> None:
        with CallStore(damaged) as store:
            assert (store.get("good"), store.get("bad"), len(store)) == ('{"text":"4"}', None, 1)
            assert "stored under bad is damaged and will be made again" in caplog.text
            assert store.put("bad", "{}", '{"text":"3"}') == '{"text":"3"}'
        with CallStore(damaged, readonly=True) as store:
            assert store.get("bad") == '{"text":"3"}'

    def test_a_changed_reply_is_not_replayed(self, damaged: Path) -> None:
        with (
            CallStore(damaged, readonly=True) as store,
            pytest.raises(InputError, match=r"completion stored under bad is damaged"),
        ):
            store.get("bad")

    def test_tokens_of_a_damaged_reply_are_unknown(self, path: Path) -> None:
        with CallStore(path) as store:
            store.put("a", "{}", '{"tokens_in": 3}', "m/x")
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE calls SET completion = '{\"tokens_in'")
            connection.commit()
        with CallStore(path) as store:
            assert store.tokens()[0].tokens_in is None
