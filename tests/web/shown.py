"""What a task's page shows as chosen, read off the page as a person reads it: labels, ticks, marked words.

`SNAPSHOT` runs in the browser; `answer_shown` turns what it saw into the answer it says. Neither uses the page's own
account of the answer, so what is sent can be held against it. For pages in English.
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
      keys: [...label.querySelectorAll("kbd")].filter(seen).map((chip) => chip.textContent),
    };
  };
  const questions = [...form.querySelectorAll("fieldset.question, fieldset.own-question")].filter(seen).map((set) => ({
    own: set.classList.contains("own-question") ? set.querySelector("legend span[dir]").textContent : null,
    subject: set.closest("[data-subject]")?.dataset.subject ?? null,
    text: set.querySelector("textarea")?.value ?? null, slider: set.querySelector("output")?.textContent ?? null,
    legend: set.querySelector("legend").textContent, strong: set.querySelector("legend strong")?.textContent ?? null,
    card: set.closest(".card")?.querySelector("h2").textContent ?? null,
    options: [...set.querySelectorAll("input:not([type=range])")].map(option),
  }));
  const comment = form.querySelector("details.comment textarea");
  const texts = [...form.querySelectorAll("textarea")].filter((box) => box !== comment && seen(box) && !box.closest("fieldset"))
    .map((box) => ({ label: form.querySelector(`label[for="${box.id}"]`).textContent, value: box.value }));
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
  return { questions, texts, spans, marks, comment: comment?.value ?? null, wanting: form.querySelector(".wanting-text").textContent };
}"""  # noqa: E501 - as JavaScript is read


def answer_shown(task: Json, shown: Json) -> Json:
    """The answer that the page says is given, in the form a page sends; fields that nothing was said of are None."""
    machine = _one(shown, "Do you agree with the machine?")
    asked = bool((task["assistance"] or {}).get("machine"))
    common = {"machine": machine.casefold() if asked and machine else None, "comment": _text(shown["comment"])}
    if task.get("questions"):
        common["questions"] = _own(task, shown)
    shown = {**shown, "questions": [question for question in shown["questions"] if question["own"] is None]}
    match task["kind"]:
        case "fact_verification":
            return common | _verified(shown, asked=asked)
        case "key_fact_validation":
            return common | _validated(shown)
        case "key_fact_alignment":
            return common | _aligned(shown)
        case "rating":
            return common | _rated(shown)
        case "pairwise":
            return common | _compared(shown)
        case "span_highlighting":
            return common | _marked(task, shown)
    raise AssertionError(task["kind"])


def _own(task: Json, shown: Json) -> Json:
    """The answers to the campaign's own questions, by summary where each is asked about."""
    answers: Json = {subject: {} for subject in task["subjects"]} if task.get("subjects") else {}
    by_text = {question["question"]: question for question in task["questions"]}
    for question in shown["questions"]:
        if question["own"] is None:
            continue
        asked = by_text[question["own"]]
        values = answers[question["subject"]] if task.get("subjects") else answers
        values[asked["name"]] = _own_value(asked, question)
    return answers


def _own_value(asked: Json, question: Json) -> Any:
    chosen = [option for option in question["options"] if option["on"]]
    match asked["type"]:
        case "text":
            return _text(question["text"])
        case "choices":
            return [option["label"] for option in chosen]
        case "choice":
            return _single(question["options"])
        case "yes_no":
            return None if not chosen else chosen[0]["label"] == "Yes"
        case "scale" if question["slider"] is None:
            return None if not chosen else float(chosen[0]["number"])
    raise AssertionError(asked["type"])


def _question(shown: Json, legend: str) -> list[Json]:
    """The options of the question in view with a legend; none where it is not in view."""
    sets = [question["options"] for question in shown["questions"] if question["legend"] == legend]
    assert len(sets) <= 1, f"asked twice: {legend}"
    return list(sets[0]) if sets else []


def _several(options: list[Json]) -> list[str]:
    return [str(option["label"]) for option in options if option["on"]]


def _one(shown: Json, legend: str) -> str | None:
    return _single(_question(shown, legend))


def _single(options: list[Json]) -> str | None:
    chosen = _several(options)
    assert len(chosen) <= 1, chosen
    return chosen[0] if chosen else None


def _text(value: str | None) -> str | None:
    return value if value and value.strip() else None


def _box(shown: Json, label: str) -> str | None:
    return next((_text(box["value"]) for box in shown["texts"] if box["label"] == label), None)


def _verified(shown: Json, *, asked: bool) -> Json:
    label = _one(shown, "Your own verdict" if asked else "Your verdict")
    names = {"Supported": "supported", "Not supported": "not_supported", None: None}
    return {"label": names[label], "error_types": _several(_question(shown, "What is wrong with it?"))}


def _validated(shown: Json) -> Json:
    names = {"Yes": True, "No": False, None: None}
    answers = {name: names[_one(shown, f"Is it {name}?")] for name in ("significant", "correct", "relevant")}
    return {**answers, "why": _box(shown, "Why not?"), "edit": _box(shown, "How should it read?")}


def _aligned(shown: Json) -> Json:
    sentences = _question(shown, "Sentences of the summary")
    chosen = [at for at, option in enumerate(sentences) if option["on"]]
    return {"sentences": chosen, "none": bool(_several(_question(shown, "Or none of them")))}


def _letter(label: str | None) -> str | None:
    return None if label is None else label.removeprefix("Summary ")


def _rated(shown: Json) -> Json:
    ratings: dict[str, Json] = {}
    for question in shown["questions"]:
        if question["card"] is None:
            continue
        cells = ratings.setdefault(str(_letter(question["card"])), {})
        chosen = [option for option in question["options"] if option["on"]]
        if chosen:
            cells[question["strong"]] = int(chosen[0]["number"])
    return {"ratings": ratings, "best": _letter(_one(shown, "Which summary is the best?"))}


def _compared(shown: Json) -> Json:
    choices = {}
    for question in shown["questions"]:
        chosen = _single(question["options"])
        if chosen is not None:
            choices[question["strong"]] = "tie" if chosen == "A tie" else _letter(chosen)
    return {"choices": choices, "reason": _box(shown, "Why? (may be left empty)")}


def _marked(task: Json, shown: Json) -> Json:
    """Spans by their words, in order; their places are held against what is marked in the text by `same`."""
    several = len(task["body"]["categories"]) > 1
    spans = []
    for span in shown["spans"]:
        names = [None if chip["none"] else chip["text"] for chip in span["chips"]]
        kind = None if names[0] is None else names[0].replace(" ", "_")
        spans.append({"words": span["words"], "kind": kind, "category": names[1] if several else None})
    none = bool(_several(_question(shown, "Or nothing")))
    return {
        "spans": spans,
        "none": none,
        "marks": sorted({at for start, end in shown["marks"] for at in range(start, end)}),
    }


def sent_as(task: Json, answer: Json) -> Json:
    """An answer as a page sends it, with spans as `answer_shown` reads them: by their words and what is marked."""
    if task["kind"] != "span_highlighting":
        return answer
    text, several = task["body"]["summary"]["text"], len(task["body"]["categories"]) > 1
    spans = [
        {
            "words": text[span["start"] : span["end"]],
            "kind": span["kind"],
            "category": span["category"] if several else None,
        }
        for span in answer["spans"]
    ]
    marks = sorted({at for span in answer["spans"] for at in range(span["start"], span["end"])})
    return {**answer, "spans": spans, "marks": marks}


def differences(task: Json, shown: Json, answer: Json) -> list[str]:
    """Where an answer is not what the page shows as chosen, a line each."""
    wanted, given = answer_shown(task, shown), sent_as(task, answer)
    names = sorted(wanted.keys() | given.keys())
    return [
        f"{name}: shown {wanted.get(name)!r}, sent {given.get(name)!r}"
        for name in names
        if _normal(wanted.get(name)) != _normal(given.get(name))
    ]


def _normal(value: Any) -> Any:
    """Empty cells and texts are as if they were not there; the order of ticks does not matter."""
    if isinstance(value, dict):
        kept = {name: _normal(part) for name, part in value.items()}
        return {name: part for name, part in kept.items() if part not in (None, {}, [])}
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return sorted(value)
    if isinstance(value, list):
        return [_normal(part) for part in value]
    return re.sub(r"\r\n", "\n", value) if isinstance(value, str) else value
