"""Small closed word lists for English, written for this scorer: grammar words, negations, opposites, irregulars.

Text in other languages simply finds no entry here and is compared word by word (or character by character).
"""

from functools import cache


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that carry grammar rather than facts. "n", "t", "s" and their like are what a tokeniser leaves of "isn't".
FUNCTION_WORDS = _set("""
    a an the this that these those such some any each every either both all another other others own same
    i you he she it we they me him her us them my your his its our their mine yours hers ours theirs
    myself yourself himself herself itself ourselves themselves one ones who whom whose which what
    be am is are was were been being have has had having do does did doing done
    will would shall should can could may might must ought
    s t d m n ll re ve nt lrb rrb lsb rsb
    of in on at by for from to with about into onto over under between among through during before after
    above below against within along across behind beyond near since until till upon toward towards off out up
    down around as than like per via
    and or but nor so yet if then else because while whereas although though unless whether when where why how
    not no never none neither without cannot
    there here now just also too very only even still already again ever much many more most less least few
    quite rather really however thus therefore hence meanwhile moreover
    yes oh well
    """)

NEGATIONS = _set("not no never none nobody nothing nowhere neither nor without cannot unable nt hardly scarcely")
# Before a "t" split off by the tokeniser these words make a negation ("isn't", "won't").
CONTRACTED = _set("""
    isn aren wasn weren don doesn didn hasn haven hadn won wouldn shan shouldn can couldn mustn needn mightn ain
    """)

_OPPOSITES = """
    rise fall; rise drop; rise decline; increase decrease; increase reduce; increase fall; increase drop
    grow shrink; gain lose; win lose; victory defeat; win defeat; success failure; succeed fail
    up down; above below; over under; before after; inside outside; into out; on off
    more less; more fewer; most least; many few; high low; higher lower; highest lowest; large small
    larger smaller; largest smallest; big small; bigger smaller; biggest smallest; great little; long short
    longer shorter; longest shortest; old young; older younger; oldest youngest; old new; early late
    earlier later; first last; first second; early later; good bad; better worse; best worst; strong weak; rich poor
    hot cold; warm cool; fast slow; hard easy; difficult easy; simple complex; simple difficult; open close
    begin end; start end; start finish; start stop; begin stop; arrive leave; arrive depart; enter leave
    join leave; buy sell; lend borrow; give take; accept reject; accept refuse; approve reject; allow forbid
    allow ban; allow prevent; permit prohibit; agree disagree; agree refuse; support oppose; confirm deny
    admit deny; love hate; like dislike; remember forget; find lose; live die; alive dead; born die; birth death
    male female; man woman; men women; boy girl; father mother; son daughter; brother sister; husband wife
    king queen; north south; east west; northern southern; eastern western; left right; top bottom; front back
    day night; morning evening; summer winter; import export; attack defend; guilty innocent; convict acquit
    arrest release; hire fire; appoint dismiss; legal illegal; possible impossible; able unable; known unknown
    common rare; public private; true false; positive negative; improve worsen; always never; with without
    all none; everyone nobody; everything nothing; same different; include exclude; build destroy; create destroy
    save kill; push pull; raise lower; expand contract; hit miss; major minor; maximum minimum; majority minority
    ancient modern; domestic foreign; safe dangerous; heavy light; wide narrow; deep shallow; full empty
"""

# Forms a suffix rule cannot bring home. Left the form, right the base.
_IRREGULAR = """
    went go; gone go; made make; said say; told tell; took take; taken take; came come; gave give; given give
    got get; gotten get; found find; thought think; knew know; known know; became become; left leave; felt feel
    brought bring; began begin; begun begin; kept keep; held hold; wrote write; written write; stood stand
    heard hear; meant mean; met meet; paid pay; sat sit; spoke speak; spoken speak; led lead; grew grow
    grown grow; lost lose; fell fall; fallen fall; sent send; built build; understood understand; drew draw
    drawn draw; broke break; broken break; spent spend; rose rise; risen rise; drove drive; driven drive
    bought buy; wore wear; worn wear; chose choose; chosen choose; ran run; saw see; seen see; won win
    sold sell; taught teach; caught catch; fought fight; threw throw; thrown throw; flew fly; flown fly
    stole steal; stolen steal; struck strike; shot shoot; hid hide; hidden hide; died die; dying die; lay lie
    lying lie; dead die; death die; ate eat; eaten eat; drank drink; drunk drink; sang sing; sung sing; swam swim
    slept sleep; dealt deal; lent lend; won win; shook shake; beat beat; beaten beat; bitten bite; froze freeze
    frozen freeze; rode ride; ridden ride; forgot forget; forgotten forget; sought seek; swore swear; sworn swear
    used use; using use; uses use
    men man; women woman; children child; people person; feet foot; teeth tooth; wives wife; lives life; mice mouse
    better good; best good; worse bad; worst bad
    jan january; feb february; apr april; jun june; jul july; aug august; sep september; sept september
    oct october; nov november; dec december; tues tuesday; wed wednesday; thur thursday; thurs thursday
    fri friday; percent percent; pc percent; kilometre km; kilometer km; kilometres km; kilometers km
    kilogram kg; kilograms kg; kilo kg; kilos kg; metre m; meter m; metres m; meters m
    british britain; scottish scotland; welsh wales; irish ireland; english england; french france; german germany
    spanish spain; italian italy; american america; chinese china; japanese japan; russian russia; dutch holland
    swedish sweden; danish denmark; polish poland; turkish turkey; greek greece; swiss switzerland
    colour color; colours color; favour favor; honour honor; labour labor; centre center; theatre theater
    defence defense; grey gray; programme program; programmes program
"""

MONTHS = _set("""
    january february march april may june july august september october november december
    """)
WEEKDAYS = _set("monday tuesday wednesday thursday friday saturday sunday")


@cache
def irregular() -> dict[str, str]:
    """Form to base form, for words the suffix rules cannot bring home."""
    return dict(entry.split() for line in _IRREGULAR.strip().splitlines() for entry in line.split(";"))


@cache
def opposite_words() -> tuple[tuple[str, str], ...]:
    """Pairs of opposites as written, unstemmed."""
    pairs = []
    for line in _OPPOSITES.strip().splitlines():
        for entry in line.split(";"):
            first, second = entry.split()
            pairs.append((first, second))
    return tuple(pairs)
