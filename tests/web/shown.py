"""Read the answer that a task's page displays: labels, ticks and marked words.

`SNAPSHOT` runs in the browser, and `answer_shown` turns its result into an answer. Neither uses the answer that the
page's script keeps, so tests can compare the answer that was sent with what was displayed. For pages in English.
"""

from __future__ import annotations

import re
from typing import Any

Json = dict[str, Any]

SNAPSHOT = """() => {
  const seen = (node) => node.checkVisibility({ visibilityProperty: true });
  const form = document.querySelector("form.task");
  const option = (input) => {
    const label = input.closest("label");
    return {
      id: input.id, many: input.type === "checkbox", on: input.checked, number: label.querySelector(".num")?.textContent ?? null,
      label: label.querySelector("span:not(.num)").textContent,
      keys: [...label.querySelectorAll("kbd:not(.off)")].filter(seen).map((chip) => chip.textContent),
    };
  };
  const questions = [...form.querySelectorAll("fieldset.question")].filter(seen).map((set) => ({
    subject: set.closest("[data-subject]")?.dataset.subject ?? null,
    text: set.querySelector("textarea")?.value ?? null, slider: set.querySelector("output")?.textContent ?? null,
    legend: set.querySelector("legend").textContent, strong: set.querySelector("legend strong")?.textContent ?? null,
    card: set.closest(".card")?.querySelector("h2").textContent ?? null,
    options: [...set.querySelectorAll("input:not([type=range])")].map(option),
  }));
  const comment = form.querySelector("details.comment textarea");
  const spans = [...form.querySelectorAll("ol.spans > li")].map((item) => ({
    words: item.querySelector(".quoted").textContent, open: item.classList.contains("open"),
    chips: [...item.querySelectorAll(".what .chip")].map((chip) => ({ text: chip.textContent, none: chip.classList.contains("none") })),
  }));
  const marks = [];
  let at = 0;
  const walker = document.createTreeWalker(form.querySelector(".marking") ?? document.createElement("p"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const length = [...walker.currentNode.data].length;
    if (walker.currentNode.parentElement.closest("mark")) marks.push([at, at + length]);
    at += length;
  }
  return { questions, spans, marks, comment: comment?.value ?? null, wanting: form.querySelector(".wanting-text").textContent };
}"""  # noqa: E501 - as JavaScript is read


def answer_shown(form: Json, task: Json, shown: Json) -> Json:
    """Return the answer that the page displays, in the form in which a page sends it; omits unanswered questions."""
    machine = next(
        (_single(one["options"]) for one in shown["questions"] if "agree with the machine" in one["legend"]), None
    )
    answer: Json = {"values": {}, "summaries": {}, "comment": _text(shown["comment"])}
    if (task["assistance"] or {}).get("machine"):
        answer["machine"] = machine and machine.casefold()
    for question in form["questions"]:
        asked = question["label"] or question["text"]
        for seen in shown["questions"]:
            if _legend(seen) != asked or (seen["subject"] is not None) != question["each_summary"]:
                continue
            values = (
                answer["values"] if seen["subject"] is None else answer["summaries"].setdefault(seen["subject"], {})
            )
            values[question["name"]] = _value(question, seen, shown)
        if question["type"] == "spans":
            answer["values"][question["name"]] = _marked(question, task, shown)
    return answer


def _legend(seen: Json) -> str:
    """Return a question's text without the parts for screen readers."""
    asked = str(seen["strong"] or seen["legend"])
    return re.sub(r"^Summary [A-Z]: | \(optional\)$", "", asked)


def _value(question: Json, seen: Json, shown: Json) -> Any:
    chosen = [option for option in seen["options"] if option["on"]]
    labels = {option["label"] or option["name"]: option["name"] for option in question["options"]}
    match question["type"]:
        case "text":
            return _text(seen["text"])
        case "choices":
            return [labels[option["label"]] for option in chosen]
        case "sentences":
            none = next(one for one in shown["questions"] if one["legend"] == "Or none of them")
            sentences = [at for at, option in enumerate(seen["options"]) if option["on"]]
            return sentences if sentences else [] if _single(none["options"]) else None
    if not chosen:
        return None
    label = _single(seen["options"])
    match question["type"]:
        case "choice":
            return labels[label]
        case "yes_no":
            return label == "Yes"
        case "scale":
            return float(chosen[0]["number"])
        case "summary":
            return "tie" if label == "A tie" else str(label).removeprefix("Summary ")
    raise AssertionError(question["type"])


def _single(options: list[Json]) -> str | None:
    chosen = [str(option["label"]) for option in options if option["on"]]
    assert len(chosen) <= 1, chosen
    return chosen[0] if chosen else None


def _text(value: str | None) -> str | None:
    return value if value and value.strip() else None


def _marked(question: Json, task: Json, shown: Json) -> Json | None:
    """Return the marked spans as their words and the marks in the text."""
    kinds = {option["label"]: option["name"] for option in question["options"]}
    spans = [
        [span["words"], *(None if chip["none"] else kinds.get(chip["text"], chip["text"]) for chip in span["chips"])]
        for span in shown["spans"]
    ]
    none = next(one for one in shown["questions"] if one["legend"] == "Or nothing")
    if not spans and not _single(none["options"]):
        return None
    return {"spans": spans, "marks": sorted({at for start, end in shown["marks"] for at in range(start, end)})}


def sent_as(form: Json, task: Json, answer: Json) -> Json:
    """Return an answer as a page sends it, with spans in the form of `answer_shown`."""
    values = dict(answer["values"])
    for question in form["questions"]:
        if question["type"] == "spans" and question["name"] in values:
            text, marks = task["body"]["summary"]["text"], values[question["name"]]
            several = len(question["categories"]) > 1
            spans = [
                [text[one["start"] : one["end"]], one["kind"], *([one["category"]] if several else [])] for one in marks
            ]
            places = sorted({at for one in marks for at in range(one["start"], one["end"])})
            values[question["name"]] = {"spans": spans, "marks": places}
    return {**answer, "values": values}


def differences(form: Json, task: Json, shown: Json, answer: Json) -> list[str]:
    """Return a line for each difference between an answer and what the page displays."""
    wanted, given = answer_shown(form, task, shown), sent_as(form, task, answer)
    names = sorted(wanted.keys() | given.keys())
    return [
        f"{name}: shown {wanted.get(name)!r}, sent {given.get(name)!r}"
        for name in names
        if _normal(wanted.get(name)) != _normal(given.get(name))
    ]


def _normal(value: Any) -> Any:
    """Normalise a value: drop empty cells and texts, and ignore the order of ticks."""
    if isinstance(value, dict):
        kept = {name: _normal(part) for name, part in value.items()}
        return {name: part for name, part in kept.items() if part not in (None, {}, [])}
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return sorted(value)
    if isinstance(value, list):
        return [_normal(part) for part in value]
    return re.sub(r"\r\n", "\n", value) if isinstance(value, str) else value
