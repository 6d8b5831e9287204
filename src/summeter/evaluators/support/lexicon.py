"""Small closed word lists for English, written for this scorer: grammar words, negations, opposites, irregulars.

Text in other languages simply finds no entry here and is compared word by word (or character by character).
"""

from functools import cache


def words_of(text: str) -> frozenset[str]:
    """The words of a list written in one string."""
    return frozenset(text.split())


# Words that carry grammar rather than facts. "n", "t", "s" and their like are what a tokeniser leaves of "isn't".
FUNCTION_WORDS = words_of("""
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

NEGATIONS = words_of("not no never none nobody nothing nowhere neither nor without cannot unable nt hardly scarcely")
# Before a "t" split off by the tokeniser these words make a negation ("isn't", "won't").
CONTRACTED = words_of("""
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

MONTHS = words_of("""
    january february march april may june july august september october november december
    """)
WEEKDAYS = words_of("monday tuesday wednesday thursday friday saturday sunday")


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


# What follows is read by the reasons only: no feature and so no score depends on it.

_SIBLINGS = """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth last final
    half third quarter
    spring summer autumn fall winter
    morning noon afternoon evening night midnight
    yesterday today tomorrow
    north south east west northern southern eastern western
    second minute hour day week fortnight month quarter year decade century
    hourly daily weekly monthly quarterly annual yearly
    once twice thrice
    mm cm km metre centimetre millimetre kilometre mile foot inch yard centimeter millimeter
    mg g kg gram milligram kilogram tonne ton ounce pound
    ml litre liter millilitre gallon pint
    celsius fahrenheit kelvin
    dollar euro pound yen yuan rupee franc krona krone won peso ruble rouble
    always usually often sometimes occasionally rarely seldom never
    certainly definitely surely probably likely possibly perhaps maybe apparently
    caused cause associated linked correlated related
    doubled tripled quadrupled halved
    black white red green blue yellow orange purple brown pink grey
    mother father brother sister son daughter husband wife uncle aunt nephew niece cousin grandfather grandmother
    single married divorced widowed engaged
    mild moderate severe
    gold silver bronze
    suspected alleged confirmed convicted
"""

QUANTIFIERS = {
    word: rank
    for rank, line in enumerate(("all every each entire", "most majority", "many numerous", "some several few", "half"))
    for word in line.split()
}
POSSIBLE = words_of("may might could can possibly perhaps probably likely")
FUTURE = words_of("will would shall ll")
NEEDED = words_of("must should ought")
# A claim with one of these says by itself that something is not settled.
UNSETTLED = words_of("""
    possible possibly perhaps maybe likely probably potential potentially expected expect plan plans planned hope hopes
    hoped want wants wanted propose proposed proposes suggest suggested suggests consider considering if whether could
    may might agree agreed intend intends aim aims set due
    """)
# Words that deny without "not".
DENYING = words_of("""
    fail refuse deny reject lack prevent avoid stop cancel oppose dismiss decline ban block rule unlikely impossible
    absent missing cease halt withdraw unless instead rather false untrue except
    """)
CAUSES = words_of(
    "because due owing thanks therefore consequently hence result led lead caused cause triggered prompted"
)
LINKS = CAUSES | words_of("as since so after cause lead why reason thus")
REPORTING = words_of("""
    say tell speak talk report announce state note add ask reply answer explain describe mention warn argue claim
    according believe think
    """)
# Everyday words whose absence from the source says little about a sentence that is supported.
LIGHT = words_of("""
    want take make get give become part include decide also begin start continue use show go come happen involve
    person thing way various several provide according reveal emerge follow hold see know discuss due
    """)
SAME_BOTH_WAYS = words_of("meet marry play differ talk resemble and or between with against near beside")
TITLES = words_of("mr mrs ms miss dr sir prof professor president judge")
MALE = words_of("he him his himself mr sir")
FEMALE = words_of("she her hers herself mrs ms miss madam")
# Other ways to write a number: two goals, scored twice.
TIMES = {1.0: "once single first", 2.0: "twice both pair couple double second", 3.0: "thrice triple third trio"}
ORDINALS = tuple(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()  # noqa: SIM905
)


@cache
def siblings() -> dict[str, tuple[frozenset[str], ...]]:
    """A word as written to the groups it is in, of which a fact has one: months, units of mass, relations."""
    groups = [words_of(line) for line in _SIBLINGS.strip().splitlines()]
    return {word: tuple(group for group in groups if word in group) for group in groups for word in group}
