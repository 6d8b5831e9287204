"""LLM judges that ask for several entries in one reply, each of which can fail on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from summeter.evaluators.llm import NO_DATA, LLMJudge
from summeter.evaluators.replies import by_choice, choice, show, unwrap
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import Item, ReplyError

E = TypeVar("E")


class EntriesJudge(LLMJudge[dict[str, E | ReplyError]], Generic[E]):
    """A judge whose parsed reply has an entry, or an error, for each name.

    `parse` returns entries and errors, and raises ReplyError if there is no entry at all.
    """

    def form(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> Form[dict[str, E | ReplyError]]:
        """Return the same form as every judge, but request a repair if an entry is missing."""
        return super().form(item, data)._replace(read=lambda text: complete(self.parse(text, item, data)))

    async def ask(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[dict[str, E | ReplyError]]:
        """Ask like every judge. If entries are missing after the repair, use the others."""
        answer = await super().ask(llm, item, data)
        if answer.status != "unparsed" or answer.text is None:
            return answer
        try:
            return answer._replace(data=self.parse(answer.text, item, data), status="ok", reason=None)
        except ReplyError:
            return answer

    async def ask_each(
        self, llm: BoundLLM, item: Item, data_of: Mapping[str, Mapping[str, Any]]
    ) -> Answer[dict[str, E | ReplyError]]:
        """Ask for each entry in a call of its own, with the data of its name.

        Entries without a usable reply are errors. If no entry has one, return the first answer.
        """
        entries: dict[str, E | ReplyError] = {}
        answers = []
        for name, data in data_of.items():
            answer = await EntriesJudge.ask(self, llm, item, data)
            missing = ReplyError(answer.reason or "no usable reply")
            entries |= answer.data if answer.data is not None else {name: missing}
            answers.append(answer)
        calls = tuple(key for answer in answers for key in answer.calls)
        if all(answer.data is None for answer in answers):
            return answers[0]._replace(calls=calls)
        return Answer(entries, "ok", None, calls, None)


def read_entries_by_name(
    value: Any, names: Iterable[str], noun: str, read: Callable[[str, dict[str, Any]], E]
) -> dict[str, E | ReplyError]:
    """Return the entry of each name in a JSON value, or the error if it has none.

    `noun` is the word for a name in messages, and `read` reads the entry of a name. Raises ReplyError if no name has an
    entry.
    """
    keys = {name: choice(name) or name for name in names}
    if not (isinstance(value, dict) and any(choice(key) in keys.values() for key in value)):
        value = unwrap(value)
    if not isinstance(value, dict):
        raise ReplyError(f"expected an entry for each {noun}, got {show(value)}")
    entry_of = by_choice(value)
    entries: dict[str, E | ReplyError] = {}
    for name, key in keys.items():
        if key not in entry_of:
            entries[name] = ReplyError(f"there is no entry for {name}", fault="wrong_count")
            continue
        entry = entry_of[key]
        try:
            if not isinstance(entry, dict):
                raise ReplyError(f"expected an object, got {show(entry)}")
            entries[name] = read(name, entry)
        except ReplyError as error:
            entries[name] = error.within(name)
    if all(isinstance(entry, ReplyError) for entry in entries.values()):
        complete(entries)
    return entries


def complete(entries: dict[str, E | ReplyError]) -> dict[str, E | ReplyError]:
    """Return the entries. Raises ReplyError if one of them is an error."""
    errors = [entry for entry in entries.values() if isinstance(entry, ReplyError)]
    if errors:
        raise ReplyError("; ".join(error.detail for error in errors), fault=errors[0].fault)
    return entries
