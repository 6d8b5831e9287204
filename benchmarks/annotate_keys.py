"""Whether what would be sent is what the page shows as chosen: random keys and clicks against the page's own scripts.

    python benchmarks/annotate_keys.py [--sequences 2000] [--steps 6] [--seed 0] [--kind KIND ...]

For each kind of task a campaign is served, its page opened once in a headless Chromium (`make web` installs what
drives it), and each sequence begins at a task without an answer: beside it no machine, or one that says one verdict or
the other, and in half of them the campaign's own questions. A step presses a key that a chip shows, presses one that
no chip shows, clicks an option, goes back, writes, marks words, or tries to send. After each step the labels, ticks and
marked words on the page are read, and held against the page's own answer. At the end what is still asked for is
answered with its keys, and what is sent is held against what stood there. One mismatch is a fault: exit code 1.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from web import annotate_campaigns as made  # noqa: E402 - needs the path above
from web.annotate_site import serving  # noqa: E402
from web.conftest import ARGUMENTS, BROWSERS, DESKTOP  # noqa: E402
from web.shown import SNAPSHOT, differences  # noqa: E402

from summeter.annotate.campaign.folder import CampaignFolder  # noqa: E402

EXAMPLE = ROOT / "examples" / "nine_domains" / "summaries.jsonl"
CHUNK = 50
"""Sequences for each call of the browser."""
QUESTIONS: list[dict[str, Any]] = [
    {"name": "clear", "question": "How clear is it?", "type": "scale", "scale": {"low": 0, "high": 4}},
    {
        "name": "tone",
        "question": "How does it sound?",
        "type": "choice",
        "required": False,
        "options": ["dry", "lively"],
    },
    {
        "name": "flaws",
        "question": "What else is wrong?",
        "type": "choices",
        "options": ["grammar", "spelling", "names"],
    },
    {"name": "harm", "question": "Could it mislead?", "type": "yes_no", "when": {"flaws": ["names", "spelling"]}},
    {"name": "how", "question": "How would it mislead?", "type": "text", "required": False, "when": {"harm": True}},
]
"""Asked in half of the sequences beside what the kind of task asks."""

DRIVER = r"""async ({ sequences, steps, seed, snapshot }) => {
  const { Work } = await import("/static/work.js");
  const { Keys } = await import("/static/keys.js");
  const { Shell } = await import("/static/shell.js");
  const look = eval(snapshot);
  let bits = seed >>> 0;
  const rng = () => {  // mulberry32
    bits = (bits + 0x6d2b79f5) >>> 0;
    let t = Math.imul(bits ^ (bits >>> 15), 1 | bits);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const pick = (list) => list[Math.floor(rng() * list.length)];
  if (!globalThis.walk) {
    const { Api } = await import("/static/api.js");
    const api = new Api();
    await api.session();
    const keys = new Keys({ get: () => null, set: () => true });
    const host = {
      shell: new Shell(), keys, drafts: { read: () => null, write: () => true, forget() {} },
      answerOf: () => null, waits: () => false, opened() {}, past() {}, posted: [],
      async send(task, answer) { host.posted.push(structuredClone(answer)); },
    };
    const { tasks, documents } = (await api.call("/api/batch", {})).batch;
    globalThis.walk = { host, tasks, work: new Work(host, { tasks: [tasks[0]], documents, what: "answered", verb: "work.send", back: false }) };
  }
  const { host, tasks, work } = globalThis.walk;
  const machines = {
    fact_verification: ["supported", "not_supported"].map((verdict) => ({ verdict, error_types: verdict === "supported" ? [] : ["entity error"], reason: "So it is." })),
    key_fact_validation: ["valid", "not_valid"].map((verdict) => ({ verdict, reason: null })),
    key_fact_alignment: [[0], [], [0, 1]].map((sentences) => ({ sentences, reason: "It is said there." })),
  }[tasks[0].kind] ?? [];
  const settled = () => new Promise((done) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = done; port2.postMessage(0); });
  const press = (name) => {
    const target = document.activeElement ?? document.body;
    const event = new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true });
    // What a browser does of its own with Enter on an input, and with Space on an input or a button.
    if (target.dispatchEvent(event) && name === "Enter" && target.matches("form input")) work.form.requestSubmit();
    else if (!event.defaultPrevented && name === "Enter" && target.matches("button, summary")) target.click();
  };
  const seen = (node) => node.checkVisibility({ visibilityProperty: true });
  const act = (before) => {
    const chips = before.questions.flatMap((question) => question.options.flatMap((option) => option.keys.map((key) => [key, option])));
    const marking = work.form.querySelector(".marking");
    const chance = rng();
    if (chance < 0.45 && chips.length) {
      const [key, option] = pick(chips);
      press(key);
      return { what: "chip", key, option };
    }
    if (chance < 0.55) {
      const key = pick([..."0123456789abdefghjklmqrstvwxyz"].filter((name) => !chips.some(([known]) => known === name)));
      press(key);
      return { what: "no chip", key };
    }
    if (chance < 0.72) {
      const labels = [...work.form.querySelectorAll("fieldset .option label, button.clear")].filter(seen);
      const label = pick(labels);
      label?.querySelector("input")?.focus();
      label?.click();
      return { what: "click", key: label?.textContent ?? "" };
    }
    if (chance < 0.8) {
      press("Backspace");
      return { what: "back", key: "Backspace" };
    }
    if (chance < 0.85) {
      const box = pick([...work.form.querySelectorAll("textarea")].filter(seen).concat(work.form.querySelector("details.comment textarea")).filter(Boolean));
      if (!box) return { what: "nothing", key: "" };
      box.value = pick(["", "  ", "a 1 b", "because 😀"]);
      box.dispatchEvent(new Event("input", { bubbles: true }));
      return { what: "write", key: box.value };
    }
    if (marking && chance < 0.96) {
      marking.focus();
      for (let at = Math.floor(rng() * 6); at > 0; at -= 1) {
        marking.dispatchEvent(new KeyboardEvent("keydown", { key: pick(["ArrowRight", "ArrowRight", "ArrowLeft", "Home"]), shiftKey: rng() < 0.4, bubbles: true, cancelable: true }));
      }
      const deletes = [...work.form.querySelectorAll(".span-head button:not(.edit)")];
      const edits = [...work.form.querySelectorAll(".span-head button.edit")];
      if (deletes.length && rng() < 0.25) pick(deletes).click();
      else if (edits.length && rng() < 0.3) pick(edits).click();
      else press("Enter");
      return { what: "mark", key: "" };
    }
    if (chance < 0.96) {
      work.form.querySelector("button.send").focus();
      return { what: "focus", key: "" };
    }
    const sent = host.posted.length;
    press("Enter");
    return { what: "enter", key: "Enter", sent };
  };
  const walks = [];
  for (let number = 0; number < sequences; number += 1) {
    const machine = machines.length && rng() < 0.8 ? pick(machines) : null;
    const given = pick(tasks);
    const task = { ...given, questions: rng() < 0.5 ? given.questions : [], assistance: { similar: given.assistance?.similar ?? [], machine } };
    work.tasks[0] = task;
    work.visit(0);
    await settled();
    const walk = { task: { ...task, answer: null }, steps: [] };
    let before = look();
    for (let step = 0; step < steps; step += 1) {
      const posted = host.posted.length;
      const did = act(before);
      await settled();
      const after = look();
      walk.steps.push({ did, before: step ? null : before, shown: after, answer: structuredClone(work.kind.answer(task, work.state)), posted: host.posted.slice(posted) });
      before = after;
    }
    // What is asked for has the focus, and shows its keys.
    const posted = host.posted.length;
    work.form.requestSubmit();
    await settled();
    for (let tries = 0; tries < 40 && host.posted.length === posted; tries += 1) {
      const chips = before.questions.flatMap((question) => question.options.flatMap((option) => option.keys));
      if (chips.length) press(pick(chips));
      await settled();
      before = look();
      work.form.requestSubmit();
      await settled();
      if (host.posted.length === posted) before = look();
    }
    const after = look();
    walk.steps.push({ did: { what: "send", key: "" }, shown: before, answer: structuredClone(work.kind.answer(task, work.state)), posted: host.posted.slice(posted), wanting: after.wanting });
    walks.push(walk);
  }
  return walks;
}"""  # noqa: E501 - as JavaScript is read


class Row(NamedTuple):
    """What was found for one kind of task."""

    kind: str
    sequences: int
    steps: int
    sent: int
    mismatches: int


def campaign(folder: Path, kind: str) -> CampaignFolder:
    """A campaign of a kind; of rating a small page, so that a sequence comes to its end."""
    rows = made.rows(EXAMPLE)
    small = {"aspects": ["coherence", "fluency"]} if kind == "rating" else {}
    if kind == "rating":
        systems = sorted({row["system"] for row in rows})[:2]
        rows = [row for row in rows if row["system"] in systems]
    return made.campaign(folder, kind, rows, batch={"size": 9}, questions=QUESTIONS, **small)


def on(shown: dict[str, Any]) -> set[str]:
    """The options that are ticked."""
    return {option["id"] for question in shown["questions"] for option in question["options"] if option["on"]}


def faults_of(walk: dict[str, Any]) -> list[str]:
    """Every mismatch of one sequence, with the steps that led there."""
    faults, path, before = [], [], None
    for step in walk["steps"]:
        did, shown = step["did"], step["shown"]
        before = step.get("before") or before
        path.append(f"{did['what']} {did['key']}".strip())
        wrong = differences(walk["task"], shown, step["answer"])
        for answer in step["posted"]:
            wrong += [f"posted: {line}" for line in differences(walk["task"], shown, answer)]
        if did["what"] == "chip" and before is not None:
            wrong += chip_faults(did["option"], before, shown)
        if did["what"] == "no chip" and before is not None and on(before) != on(shown):
            wrong.append(f"the key {did['key']}, which no chip shows, chose something")
        if did["what"] == "send" and not step["posted"] and not step["wanting"]:
            wrong.append("nothing was sent, and nothing says why")
        faults += [f"{' > '.join(path)}: {line}" for line in wrong]
        before = shown
    return faults


def chip_faults(option: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Whether a key chose what stands beside its chip."""
    there = {one["id"] for question in after["questions"] for one in question["options"]}
    wanted = option["id"] not in on(before) if option["many"] else True
    if option["id"] not in there or (option["id"] in on(after)) == wanted:
        return []
    return [f"the chip beside {option['label']} did not choose it"]


def measure(page: Any, kind: str, sequences: int, steps: int, seed: int) -> tuple[Row, list[str]]:
    """Random sequences on a page that is open."""
    rng, counts, faults = random.Random(f"{kind}/{seed}"), Counter[str](), []
    for begin in range(0, sequences, CHUNK):
        chunk = {"sequences": min(CHUNK, sequences - begin), "steps": steps, "seed": rng.getrandbits(32)}
        for walk in page.evaluate(DRIVER, {**chunk, "snapshot": SNAPSHOT}):
            counts["sequences"] += 1
            counts["steps"] += len(walk["steps"])
            counts["sent"] += sum(len(step["posted"]) for step in walk["steps"])
            faults += faults_of(walk)
    return Row(kind, counts["sequences"], counts["steps"], counts["sent"], len(faults)), faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", nargs="*", choices=made.KINDS, default=made.KINDS)
    chosen = parser.parse_args()
    from playwright.sync_api import sync_playwright

    browser_path = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser_path is None:
        print(f"no browser ({', '.join(BROWSERS)}) is on the PATH", file=sys.stderr)
        return 2
    rows = []
    print(f"{'kind':22}{'sequences':>10}{'steps':>10}{'sent':>8}{'mismatches':>12}{'seconds':>9}")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=list(ARGUMENTS))
        for kind in chosen.kind:
            folder = campaign(Path(place) / kind, kind)
            with serving(folder) as site:
                page = browser.new_page(viewport=DESKTOP, bypass_csp=True, reduced_motion="reduce")
                # The driver is what begins the work here; all other scripts are the page's own.
                page.route("**/static/main.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
                page.goto(site.link())
                began = time.monotonic()
                row, faults = measure(page, kind, chosen.sequences, chosen.steps, chosen.seed)
                page.close()
            rows.append(row)
            for line in faults[:10]:
                print(f"  {line}")
            seconds = time.monotonic() - began
            print(f"{kind:22}{row.sequences:10}{row.steps:10}{row.sent:8}{row.mismatches:12}{seconds:9.0f}", flush=True)
        browser.close()
    print(json.dumps([row._asdict() for row in rows]))
    return 1 if any(row.mismatches for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
