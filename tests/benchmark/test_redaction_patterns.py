"""Patterns of personal data: what each finds, with its limits, and what it leaves alone. Patterns are tuned on these
sentences; the planted set of `benchmarks/redaction.py` measures them and is not tuned on."""

from __future__ import annotations

import re

import pytest
from growth import assert_proportional
from together import together

from summeter.benchmark.redaction.finding import find

MARK = re.compile(r"\[\[([A-Z]+)\|([^\]]+)\]\]")


def unmarked(line: str) -> tuple[str, list[tuple[str, str]]]:
    """The text of a marked line, and what is marked in it."""
    return MARK.sub(r"\2", line), [(mark[1], mark[2]) for mark in MARK.finditer(line)]


FINDS = """
Ring [[PHONENUMBER|01223 351241]] at [[TIME|5 pm]].
The train [[CODE|TR3934]] gets there at [[TIME|09:54]] on [[DAY|Friday]].
It leaves at [[TIME|10.30]].
It runs from [[TIME|9:15]] to [[TIME|11.45]], they say.
Come by [[TIME|half past eight]] or [[TIME|five to nine]].
I need a table for [[TIME|12:30 p.m.]], no later.
Let us meet at [[TIME|midday]].
They came on [[DAY|the 3rd of July 2021]] or [[DAY|Wednesday, 14 Aug]].
It was [[DAY|Sunday, 4 May 2014]].
It is due on [[DAY|12.05.2023]] or [[DAY|October 9]].
Any [[DAY|tuesday]] would do.
SEE YOU ON [[DAY|FRIDAY]] AT [[TIME|5 PM]]. THE TRAIN LEAVES ON [[DAY|12 JANUARY 2024]].
IT WAS [[DAY|TUESDAY, MARCH 3]], OR [[DAY|THE 3RD OF JULY 2021]], OR [[DAY|MON 14 AUG]].
IN [[DAY|MAY 5, 2014]] OR ON [[DAY|4 MAY]]. IT IS CLOSED ON [[DAY|SUNDAYS]] AND ON [[DAY|DEC. 24]].
Tel. [[PHONENUMBER|(01223) 566188]] or [[PHONENUMBER|0044 1223 566188]].
Their phone number is [[PHONENUMBER|566188 22]], if I am right.
Call [[PHONENUMBER|212-555-0147]] or [[PHONENUMBER|+1 (212) 555-0148]].
I need the reference number: [[CODE|8fj2k1l0]], thanks.
Ref. [[CODE|QZ77-12]] was for my parcel.
The order [[CODE|#55120]] is late; my account number is [[CODE|9912034]].
It is at [[ADDRESS|15 Magdalene Street City Centre, cb30af]]; the postcode is [[ADDRESS|cb30af]].
They live at [[ADDRESS|43 Queens Road, Bristol BS8 1QU]], next to the [[PLACE|Alpha Milton Guest House]].
The office is in [[ADDRESS|Flat 2, 8 Orchard Close]].
[[ADDRESS|Bridge Street]] is closed.
Write to [[ADDRESS|PO Box 114]].
I study at the [[PLACE|University of York]], near [[PLACE|Heslington Church]].
The [[PLACE|Cow Pizza Kitchen and Bar]] is full, try [[PLACE|Scudamores Club]].
""".strip().splitlines()

LEAVES = """
The score was 12-3 and the odds were 5:2.
It cost 12.50 and later 9.75 euros.
Inflation stood at 5.15% in all, or at 5.15 %; shares rose by 1.25%.
Growth was about 2.50 million, by 5.15 percentage points.
She ran it in 10.45 at her best.
May was cold and March was wet.
He may 3 times decline.
MAY WAS COLD AND MARCH WAS WET. THE SUN SAT LOW, AND AN APRIL SUN IT WAS.
HE MAY 3 TIMES DECLINE. WE MARCH 10 MILES. OF TEN ONLY 5 MAY BE ENOUGH.
YOU MAY. MAY I? MAR IT NOT. THE MON AND THE FRI.
In 1998 there were 1,234,567 of them.
Version 2.3.1 came out with 64GB.
I called 3 times and texted 12 friends.
The number 7 is lucky.
Train 5 puppies a day.
The road was long and the street was dark.
This Way Up, said the box.
In case 3 of them come, call me.
The 2nd floor and the 21st century.
Yes, a hotel or a guest house is fine.
It takes 45 minutes from there.
My id is my own.
He called it (7-4) 6-3 4-6 5-7 6-2.
See file no 1951-1957 and no 1987-88.
""".strip().splitlines()


@together("line", FINDS)
def test_finds(line: str) -> None:
    text, marked = unmarked(line)
    assert [(category, text[start:end]) for category, start, end in find(text)] == marked


@together("line", LEAVES)
def test_leaves(line: str) -> None:
    assert find(line) == []


@pytest.mark.parametrize("day", ["January", "JANUARY", "MONDAYS", "MAY"])
def test_a_month_or_day_in_capitals_is_no_place(day: str) -> None:
    text = f"We travel by train in {day} to Ghent."
    assert [text[each.start : each.end] for each in find(text) if each.label == "PLACE"] == ["Ghent"]


@pytest.mark.parametrize("part", ["AB1-", "5 May ", "5 MAY ", "0123 ", "12 Mill ", "A ", "call ", "the of "])
def test_long_texts_take_their_share(part: str) -> None:
    short, long = (part * 2000)[:4000], (part * 8000)[:16000]
    assert_proportional(lambda: find(short), lambda: find(long), 4, 0.2)
