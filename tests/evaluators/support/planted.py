"""Sentences with one planted error each beside the sentence it was made from: six kinds, half of them in other words
than the source's. Development material: the rules were written with these in view.
"""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    """A faithful sentence about a source, and the same with an error of a kind."""

    source: str
    kind: str
    faithful: str
    wrong: str
    paraphrased: bool


SOURCES = {
    "harbour": (
        "The port of Velden reopened on 4 April after a crane collapsed onto berth six in March. "
        "The operator Marlink hired divers to clear the wreck, which took eleven days. "
        "Harbour master Ruth Ekholm said the crane had failed its inspection in January. "
        "The crane's owner, Stahl & Co, denied that it had been told. "
        "Three ships were diverted to Kolby because the channel was blocked. "
        "No one was hurt. The union asked the ministry for an inquiry."
    ),
    "clinic": (
        "The clinic in Orsa treated 640 patients last year, up from 410 the year before. "
        "Director Paula Renz asked the county for two more nurses in May. "
        "The county refused the request in June because its budget was spent. "
        "Most patients came for check-ups. The clinic does not treat children under four. "
        "Nurse Adil Hakim trained the volunteers before the flu season began. "
        "A new wing opens in September, Renz said."
    ),
    "museum": (
        "Curator Lena Voss found a missing portrait in the cellar of the Halden museum on Friday. "
        "The painting, made by Otto Brandt in 1887, had been lost since 1954. "
        "Voss told the mayor before she called the press. "
        "An expert from Basel valued it at 2.1 million francs. "
        "The museum will not sell the portrait. "
        "Visitors can see it from 12 May. The roof leaked because a gutter was blocked, and some frames were damaged."
    ),
    "chat": (
        "Mira: Did you call the plumber?\nTobias: Yes, he comes on Thursday at nine.\n"
        "Mira: I can't be there, I have a dentist appointment.\nTobias: Then I'll wait for him.\n"
        "Mira: Thanks. The tap has been leaking for five days.\nTobias: Grandma gave us 80 euros for the repair."
    ),
}


def _pairs(source: str, *rows: tuple[str, str, str, bool]) -> tuple[Planted, ...]:
    return tuple(Planted(source, *row) for row in rows)


PLANTED = (
    *_pairs(
        "harbour",
        ("time", "The port of Velden reopened on 4 April.", "The port of Velden reopened on 4 May.", False),
        (
            "time",
            "Clearing away the wreck took divers eleven days.",
            "Clearing away the wreck took divers eleven weeks.",
            True,
        ),
        ("quantity", "Three ships were diverted to Kolby.", "Five ships were diverted to Kolby.", False),
        ("quantity", "Berth six was hit when a crane came down.", "Berth nine was hit when a crane came down.", True),
        (
            "negation",
            "Stahl & Co denied that it had been told.",
            "Stahl & Co did not deny that it had been told.",
            False,
        ),
        ("negation", "Nobody was injured in the accident.", "Several people were injured in the accident.", True),
        (
            "entity",
            "The operator Marlink hired divers to clear the wreck.",
            "The operator Norlink hired divers to clear the wreck.",
            False,
        ),
        (
            "speaker",
            "According to Ruth Ekholm, the crane had failed its inspection.",
            "According to Stahl & Co, the crane had failed its inspection.",
            True,
        ),
        ("role", "The union asked the ministry for an inquiry.", "The ministry asked the union for an inquiry.", False),
        (
            "cause",
            "Ships went to Kolby since the channel was blocked.",
            "Ships went to Kolby because no one was hurt.",
            True,
        ),
    ),
    *_pairs(
        "clinic",
        (
            "quantity",
            "The clinic in Orsa treated 640 patients last year.",
            "The clinic in Orsa treated 460 patients last year.",
            False,
        ),
        ("quantity", "Renz wanted a pair of additional nurses.", "Renz wanted four additional nurses.", True),
        ("time", "The county refused the request in June.", "The county refused the request in July.", False),
        (
            "time",
            "Volunteers were trained ahead of the flu season.",
            "Volunteers were trained after the flu season.",
            True,
        ),
        ("negation", "The clinic does not treat children under four.", "The clinic treats children under four.", False),
        (
            "negation",
            "The county turned down the director's request.",
            "The county approved the director's request.",
            True,
        ),
        ("entity", "Nurse Adil Hakim trained the volunteers.", "Nurse Adil Rahman trained the volunteers.", False),
        ("role", "Renz asked the county for more staff.", "The county asked Renz for more staff.", True),
        (
            "cause",
            "The county refused the request because its budget was spent.",
            "The county refused the request because most patients came for check-ups.",
            False,
        ),
        (
            "speaker",
            "A wing will open in September, the director announced.",
            "A wing will open in September, nurse Hakim announced.",
            True,
        ),
    ),
    *_pairs(
        "museum",
        ("time", "The painting had been lost since 1954.", "The painting had been lost since 1945.", False),
        ("time", "The lost portrait turned up on Friday.", "The lost portrait turned up on Monday.", True),
        (
            "quantity",
            "An expert from Basel valued it at 2.1 million francs.",
            "An expert from Basel valued it at 1.2 million francs.",
            False,
        ),
        ("quantity", "Some picture frames suffered damage.", "All picture frames suffered damage.", True),
        ("negation", "The museum will not sell the portrait.", "The museum will sell the portrait.", False),
        ("negation", "There are no plans to part with the picture.", "There are plans to part with the picture.", True),
        ("entity", "An expert from Basel valued the painting.", "An expert from Zurich valued the painting.", False),
        ("entity", "Otto Brandt was the one who painted it.", "Emil Brandt was the one who painted it.", True),
        (
            "role",
            "Voss told the mayor before she called the press.",
            "The mayor told Voss before she called the press.",
            False,
        ),
        (
            "cause",
            "Water came through the roof as a gutter was blocked.",
            "Water came through the roof because the portrait was lost.",
            True,
        ),
    ),
    *_pairs(
        "chat",
        ("time", "The plumber comes on Thursday at nine.", "The plumber comes on Tuesday at nine.", False),
        ("time", "The plumber is expected on Thursday morning.", "The plumber is expected on Friday morning.", True),
        ("speaker", "Mira has a dentist appointment.", "Tobias has a dentist appointment.", False),
        ("speaker", "Tobias will stay in for the plumber.", "Mira will stay in for the plumber.", True),
        ("quantity", "The tap has been leaking for five days.", "The tap has been leaking for nine days.", False),
        (
            "quantity",
            "They received 80 euros from their grandmother.",
            "They received 18 euros from their grandmother.",
            True,
        ),
        ("negation", "Mira can't be there.", "Mira can be there.", False),
        ("negation", "Mira is unable to be at home.", "Mira is able to be at home.", True),
        ("role", "Grandma gave Tobias and Mira 80 euros.", "Tobias and Mira gave Grandma 80 euros.", False),
        (
            "entity",
            "Their grandmother is paying towards the repair.",
            "Their uncle is paying towards the repair.",
            True,
        ),
    ),
)
