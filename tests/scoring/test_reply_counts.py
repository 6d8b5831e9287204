"""Counts of replies by class of error."""

from __future__ import annotations

import pytest

from summeter.records import REPLY_FAULTS, Judgment, ReplyError, Target, fault_of
from summeter.scoring import reply_counts, summary_scores


def judgment(
    system: str, index: int, *, call: str | None = "c", reason: str | None = None, refused: bool = False,
    signature: str = "j|v:1", skipped: bool = False,
) -> Judgment:  # fmt: skip
    """Return the judgment of a sentence; with a reason, it has no value."""
    status = "ok" if reason is None else "refused" if refused else "skipped" if skipped else "unparsed"
    return Judgment(
        target=Target(document_id="d", system=system, unit="sentence", index=index), aspect="faithfulness",
        judge=signature.partition("|")[0], signature=signature, label=1 if reason is None else None, status=status,
        reason=reason, calls=(f"{system}-{call}",) if call else (),
    )  # fmt: skip


def test_a_reply_is_counted_once() -> None:
    count = str(ReplyError("no entry for sentence 2", fault="wrong_count"))
    (found,) = reply_counts([
        *(judgment("a", index) for index in range(3)),
        *(judgment("b", index, reason=count) for index in range(5)),
        judgment("c", 0), judgment("c", 1, reason=str(ReplyError("'x' is none of the categories"))),
        judgment("e", 0, reason="the model refused", refused=True),
        judgment("f", 0, call=None, reason="the summary is empty", skipped=True),
        judgment("g", 0, call=None, reason="key facts from the document: no JSON: the reply is empty"),
        judgment("h", 0, reason="something of a plug-in's own"),
    ])  # fmt: skip
    # Only a is usable; one unit of c is not; f was not asked.
    assert (found.replies, found.usable, found.success) == (6, 1, 1 / 6)
    assert found.faults == {"wrong_count": 1, "meaningless": 1, "refused": 1, "no_json": 1, "other": 1}
    assert str(found).startswith("j: 1 of 6 replies usable (16.7%); wrong count 1, meaningless 1, refused 1, no JSON 1")


def test_100_percent_means_all_replies() -> None:
    rows = [judgment(str(number), 0) for number in range(4799)]
    assert "4799 of 4799 replies usable (100.0%)" in str(reply_counts(rows)[0])
    # 4799 / 4800 = 99.979 %: not 100.0.
    assert "4799 of 4800 replies usable (99.9%)" in str(reply_counts([*rows, judgment("x", 0, reason="no JSON: -")])[0])


@pytest.mark.parametrize("fault", [fault for fault in REPLY_FAULTS if fault != "refused"])
def test_a_reason_contains_its_class(fault: str) -> None:
    error = ReplyError("what: it says: refused: no", fault=fault)  # type: ignore[arg-type]
    assert fault_of(str(error)) == error.fault == fault
    assert str(error.within("sentence 1")).endswith(": sentence 1: what: it says: refused: no")
    assert error.within("sentence 1").fault == fault
    assert ReplyError("what").fault == "meaningless"


def test_a_refusal_has_its_own_class() -> None:
    error = ReplyError("the model refused: 'no'", kind="refused")
    assert (error.fault, str(error), error.within("here").kind) == ("refused", "the model refused: 'no'", "refused")
    assert fault_of(None) is None


@pytest.mark.parametrize("only", ["validator:p/v", "validator2:p/w", "source:document"])
def test_settings_of_the_alignment_alone_do_not_split_a_family(only: str) -> None:
    def scored(judge: str, aspect: str, signed: str) -> Judgment:
        return judgment("a", 0, signature=f"{judge}|judge:p/m|{signed}v:2").model_copy(update={"aspect": aspect})

    parts = [
        scored("finesure.fact_check", "faithfulness", ""),
        scored("finesure.align", "completeness", f"{only}|"), scored("finesure.align", "conciseness", f"{only}|"),
    ]  # fmt: skip
    assert [score.aspect for score in summary_scores(parts, {})].count("composite") == 1
    imported = [parts[0], *(one.model_copy(update={"signature": "finesure.align|judge:p/m|source:import|v:2"})
                            for one in parts[1:])]  # fmt: skip
    assert "composite" not in [score.aspect for score in summary_scores(imported, {})]
