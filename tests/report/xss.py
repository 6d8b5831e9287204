"""A run with hostile texts in every field that a report shows."""

from __future__ import annotations

from pathlib import Path

from report import fake_runs as fake

from summeter.records import Document, Judgment, Span, Summary
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder

FORMULA = '=HYPERLINK("https://evil.example/d","x")'
CORPUS = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--<script>alert(3)//--></script>",
    "\"><img src=x onerror=alert(4)>",
    "'><svg/onload=alert(5)>",
    "<iframe srcdoc='<script>alert(6)</script>'></iframe>",
    "</style><style>@import 'https://evil.example/a.css';body{background:url(https://evil.example/b)}</style>",
    "<a href=\"javascript:alert(7)\">x</a>",
    "</textarea></title></noscript></select></template><img src=https://evil.example/c.png>",
    "<base href=https://evil.example/><meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "{{ 7*7 }} {% raw %} ${7*7} {{ config }}",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(8)>",
    "\u2028alert(9)\u2029 \x00 \x1b[31m \ufffe \u202e gnp.exe",
    "&lt;script&gt;alert(10)&lt;/script&gt; &#60;b&#62;",
    "__proto__", "constructor", "]]>", "<![CDATA[<img src=x onerror=alert(11)>]]>",
    "on onclick=alert(12) style=color:red x=\"", FORMULA,
)  # fmt: skip


def rows(verb: str = "was") -> list[fake.Row]:
    """Return one document and one summary per text of the corpus, with the text in every field."""
    return [
        {
            "doc_id": f"{at} {text}",
            "system": f"sys {text}",
            "domain": text,
            "document": f"{text} stands. {text}",
            "summary": f"{text} {verb} said.",
            "sentences": [f"{text} {verb} said."],
            "reference": text,
            "key_facts": [text],
            "human": {
                "sentence_labels": [{text: 0}],
                "sentence_error_types": [{text: text}],
                "key_fact_labels": [1],
            },
        }
        for at, text in enumerate(CORPUS)
    ]


def judge(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """Return a wrong sentence, a refusal and a key fact with the text of the corpus."""
    text = document.references[0]
    fact = fake.KeyFacts.of(document.key_facts, "given")
    evidence = (Span(of="document", start=0, end=len(text)),)
    return [
        fake.judgment(document, summary, entry, "faithfulness", unit="sentence", index=0, value=0.2, label=0,
                      error_type=text, reason=text, evidence=evidence),
        fake.judgment(document, summary, entry, "completeness", unit="key_fact", index=0, list_id=fact.id, label=1,
                      reason=text, evidence=summary.sentences),
        fake.failed(document, summary, entry, "conciseness", "refused", text),
        fake.judgment(document, summary, entry, text, value=0.5, reason=text),
    ]  # fmt: skip


def compare(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """Return a won pair and a refused pair against a rival without a summary, on a hostile aspect."""
    text = document.references[0]
    rival = f"rival {text}"
    return [
        fake.judgment(document, summary, entry, text, unit="pair", rival=rival, value=1.0, reason=text),
        fake.failed(document, summary, entry, CORPUS[0], "refused", text, unit="pair", rival=rival),
    ]


def contrary(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """Return the judgments of `judge` with the opposite labels."""
    made = judge(document, summary, entry)
    return [one.model_copy(update={"label": 1 - one.label}) if isinstance(one.label, int) else one for one in made]


def run(folder: Path, *, changed: bool = False) -> RunFolder:
    """Return a run with a hostile judge, model and signature; with `changed`, other texts and labels."""
    hostile = CORPUS[1]
    entry = JudgeEntry(
        name=hostile, signature=f"{hostile}|judge:{CORPUS[3]}|v:1", model=CORPUS[4], models={"judge": CORPUS[4]},
        aspects=("faithfulness", CORPUS[5]), reduce="share", file="hostile", settings={"note": CORPUS[6]},
    )  # fmt: skip
    second = entry.model_copy(update={"signature": f"{hostile}|judge:{CORPUS[7]}|v:2", "file": "second"})
    duel = entry.model_copy(update={"signature": f"{hostile}|order:{CORPUS[9]}|v:1", "file": "duel"})
    judges = ((entry, contrary if changed else judge), (second, judge), (duel, compare))
    return fake.make(folder, rows("is" if changed else "was"), judges, options={"note": CORPUS[8]})
