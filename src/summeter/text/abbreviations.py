"""English abbreviations for `split`, classified by the text that may follow them.

All abbreviations are in lower case and without the last full stop. For other languages, `split` uses the lists of
`sentencex`.
"""

from __future__ import annotations

from typing import Final


def _words(block: str) -> frozenset[str]:
    return frozenset(block.split())


# A name or a continuation follows: never the end of a sentence.
LEADING: Final = _words(
    """mr mrs ms dr prof rev hon gen col lt sgt capt cpl cmdr adm maj brig gov sen rep pres supt insp det
    messrs mme mlle mgr fr sr sra srta mt e.g i.e eg cf viz vs v ca resp incl excl approx
    lt.gen maj.gen brig.gen lt.col"""
)

# An abbreviation before a number, otherwise an ordinary word ("No. 5", but "She said no. Then ...").
NUMBERED: Final = _words(
    "no nos nr n° fig figs eq eqs p pp vol vols ch chap sec sect art para par ref refs ver v pt pts op app ex c q al"
)

# Abbreviations in NUMBERED that are also ordinary words before a lower-case letter ("no. then he left").
WORDS_TOO: Final = _words("no art app")

# Names that end with an exclamation mark.
MARKED_NAMES: Final = _words("yahoo jeopardy wham joomla")

MONTHS: Final = _words("jan feb mar apr jun jul aug sep sept oct nov dec")

# Within a sentence or at its end; the next word decides.
CLOSING: Final = _words(
    """inc corp ltd co bros llc plc jr sr esq etc al st dept univ assn ave blvd rd sq est min max misc tel ext
    a.m p.m am pm a.d b.c b.c.e c.e u.s u.k u.n e.u u.s.a d.c l.a n.y ph.d m.d b.a m.a b.sc m.sc m.b.a ll.b
    d.phil r.i.p o.k temp hr hrs mins secs sec lb lbs oz ft yd yds mph km sat sun mon tue tues
    wed thu thur thurs fri"""
)

CLOCK: Final = _words("a.m p.m am pm")

# Words that continue the sentence after a clock time ("at 5 p.m. Eastern", "at 5 p.m. Monday").
AFTER_CLOCK: Final = _words(
    """eastern pacific central mountain est edt et pst pdt pt cst cdt ct mst mdt mt gmt utc bst cet cest ist
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december"""
)

# Words that often begin a sentence and rarely occur within a name.
OPENERS: Final = _words(
    """the this that these those it its it's they their there then his her she he we our you your i i'm my
    in on at by for from with without within after before during since until when while where why how what who
    if as although though because but and or so yet however meanwhile moreover therefore thus also still
    a an all any both each every some many most more much no not now once one two only other another such
    is are was were do does did has have had can could will would should may might must please let here"""
)

# Words of the previous list that may also follow an initial in a name ("J. He", "A. So"): not decisive after "Name X."
NAME_LIKE: Final = _words("he an so no my a i do will may we you her one let all")

SPEECH: Final = (
    "said|says|asked|asks|told|tells|added|adds|replied|replies|shouted|cried|wrote|writes|explained|explains|"
    "answered|whispered|exclaimed|yelled|wondered|continued|insisted|tweeted"
)

# A line that ends with one of these words continues on the next line.
UNFINISHED: Final = _words(
    """the a an of and or to in for with by at from on as that which is are was were has have had his her their
    its our my your be been into than but if when who whose will would can could between about over under
    mr. mrs. ms. dr. prof. gen. sen. rep. gov. st. e.g. i.e. vs."""
)
