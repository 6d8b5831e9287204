"""Summary sentences with one planted error each, and faithful ones, with the words a person would want to be shown.

Written for these tests. `wanted` are the pieces of text that the first reason must hold: the culprit, and where there
is one, what the source says instead. A faithful sentence wants nothing.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A sentence against a source."""

    source: str
    kind: str
    claim: str
    wanted: tuple[str, ...] = ()


SOURCES = {
    "flood": (
        "Heavy rain flooded the town of Marlow on Tuesday. The river Thame rose 14 centimetres in an hour. "
        "Police said 12 people were injured and 3 were killed. Mayor Helen Ortiz thanked the volunteers from Bristol. "
        "Some schools may stay closed until Friday. No one is missing, the fire service said."
    ),
    "bank": (
        "Nordbank reported on 3 March that its annual profit fell 4.5 percent to $1.2 billion. "
        "Chief executive Lars Holm said the bank would not cut jobs. "
        "Nordbank bought its smaller rival Fjord Savings in 2019 for 340 million euros. "
        "Its shares closed 2% lower in Oslo. Analysts had expected a loss."
    ),
    "meeting": (
        "The committee met on 9 June. Priya proposed moving the launch from May to July. "
        "David objected because the printer needs six weeks. The committee agreed to hire two testers. "
        "Anna will write to the supplier before Thursday. The budget of £25,000 was not approved. "
        "Most members preferred the blue design."
    ),
    "chat": (
        "Amanda: I baked cookies. Do you want some?\nJerry: Sure!\n"
        "Amanda: I'll bring you some tomorrow. My sister Lucy is visiting from Leeds.\n"
        "Jerry: I can't come to the party on Saturday, I have to work.\n"
        "Amanda: What a pity. He always gives you the weekend shift.\n"
        "Jerry: My boss Tom is ill. I finish at 10 pm."
    ),
    "trial": (
        "In a trial of 1,250 patients, the drug lowered blood pressure in 68% of women and 54% of men. "
        "Patients took 20 mg twice daily for eight weeks. Headache was the most common side effect. "
        "The study did not find any effect on cholesterol. Dr Mia Sato, who led the study, said larger trials could "
        "confirm the result. Smoking was associated with a weaker response."
    ),
    "court": (
        "The High Court dismissed the appeal of Weller Ltd on 21 October 2021. Judge Amara Singh found that the "
        "company "
        "had breached its contract with the city. Weller must pay damages of £2.4m within 30 days. "
        "The city sued Weller after the bridge collapsed. Two directors were acquitted of fraud. "
        "The company denied that it knew about the cracks."
    ),
    "star": (
        "Astronomers at the University of Leiden discovered a planet that orbits the star Kepler-90 every 14.4 days. "
        "The planet is the eighth known in its system and is slightly larger than Earth. "
        "It lies 2,545 light-years away. Its surface is probably too hot for water. "
        "A neural network from Google found the weak signal. The team used data from the Kepler telescope, "
        "which was launched in 2009."
    ),
    "match": (
        "Lynx beat Harriers 3-1 in the cup final on Sunday. Marta Kowalski scored twice in the first half. "
        "Harriers goalkeeper Jo Adeyemi was sent off in the 71st minute. "
        "Lynx coach Ines Vidal said she was proud of her team. About 18,500 fans watched the game in Porto."
    ),
    "german": (
        "Die Stadt Ulm eröffnet im April ein neues Museum. Der Bau kostete 18 Millionen Euro. "
        "Bürgermeisterin Karin Roth lobte die Architekten."
    ),
}

PLANTED = (
    # Numbers, and what they count.
    Case("flood", "number", "The river rose 41 centimetres in an hour.", ("41", "14")),
    Case("flood", "number", "Police said 13 people were injured.", ("13", "12")),
    Case("flood", "number swapped", "Police said 3 people were injured and 12 were killed.", ("3", "12")),
    Case("flood", "unit", "The river rose 14 metres in an hour.", ("metres", "centimetres")),
    Case("flood", "unit", "The river Thame rose 14 centimetres in a day.", ("day", "hour")),
    Case("bank", "decimal", "Annual profit fell 5.4 percent to $1.2 billion.", ("5.4", "4.5")),
    Case("bank", "scale", "Annual profit fell 4.5 percent to $1.2 million.", ("1.2 million", "1.2 billion")),
    Case("bank", "currency", "Nordbank bought Fjord Savings for 340 million dollars.", ("dollars", "euros")),
    Case("bank", "year", "Nordbank bought Fjord Savings in 2018.", ("2018", "2019")),
    Case("bank", "percent", "Shares closed 2 euros lower in Oslo.", ("2 euros", "2%")),
    Case("meeting", "spelled number", "David said the printer needs eight weeks.", ("eight", "six")),
    Case("meeting", "spelled number", "The committee agreed to hire three testers.", ("three", "two")),
    Case("meeting", "currency", "The budget of €25,000 was not approved.", ("€25,000", "£25,000")),
    Case("trial", "number swapped", "The drug lowered blood pressure in 54% of women.", ("54", "women", "68")),
    Case("trial", "unit", "Patients took 20 g twice daily for eight weeks.", ("'20 g'", "20 mg")),
    Case("trial", "unit", "Patients took 20 mg twice daily for eight months.", ("months", "weeks")),
    Case("trial", "frequency", "Patients took 20 mg once daily for eight weeks.", ("once", "twice")),
    Case("trial", "comma", "The trial had 1,520 patients.", ("1,520", "1,250")),
    Case("court", "money", "Weller must pay damages of £4.2m within 30 days.", ("4.2m", "2.4m")),
    Case("court", "day", "The High Court dismissed the appeal on 12 October 2021.", ("12", "21")),
    Case("star", "ordinal", "The planet is the seventh known in its system.", ("seventh", "eighth")),
    Case("star", "unit", "The planet lies 2,545 miles away.", ("miles", "light-years")),
    Case("match", "score", "Lynx beat Harriers 3-2 in the cup final.", ("2", "1")),
    Case("match", "ordinal", "Kowalski scored twice in the second half.", ("second", "first")),
    Case("match", "ordinal", "Adeyemi was sent off in the 17th minute.", ("17th", "71st")),
    Case("german", "number", "Der Bau kostete 81 Millionen Euro.", ("81", "18")),
    # Dates.
    Case("flood", "weekday", "Heavy rain flooded Marlow on Thursday.", ("Thursday", "Tuesday")),
    Case("flood", "weekday", "Heavy rain flooded the town of Marlow on Friday.", ("Friday", "Tuesday")),
    Case("meeting", "month", "The committee met on 9 July.", ("July", "June")),
    Case("meeting", "month", "Priya proposed moving the launch from May to August.", ("August", "July")),
    Case("court", "month", "The High Court dismissed the appeal on 21 November 2021.", ("November", "October")),
    Case("german", "month", "Die Stadt Ulm eröffnet im Mai ein neues Museum.", ("Mai", "April")),
    # Names and roles.
    Case("flood", "name", "Mayor Helen Ortega thanked the volunteers.", ("Ortega", "Ortiz")),
    Case("flood", "name", "Mayor Helen Ortiz thanked the volunteers from Brighton.", ("Brighton", "Bristol")),
    Case("star", "name", "Astronomers at the University of Utrecht discovered a planet.", ("Utrecht", "Leiden")),
    Case("match", "name", "About 18,500 fans watched the game in Lisbon.", ("Lisbon", "Porto")),
    Case("german", "name", "Bürgermeisterin Karin Vogt lobte die Architekten.", ("Vogt", "Roth")),
    Case("bank", "role swap", "Fjord Savings bought Nordbank in 2019 for 340 million euros.", ("bought",)),
    Case("match", "role swap", "Harriers beat Lynx 3-1 in the cup final on Sunday.", ("beat",)),
    Case("court", "role swap", "Weller sued the city after the bridge collapsed.", ("sued",)),
    Case("chat", "speaker", "Jerry baked cookies.", ("Jerry", "Amanda")),
    Case("chat", "speaker", "Amanda can't come to the party on Saturday.", ("Amanda", "Jerry")),
    Case("meeting", "speaker", "Anna proposed moving the launch from May to July.", ("Anna", "Priya")),
    Case("trial", "attribution", "Dr Lee said larger trials could confirm the result.", ("Lee", "Sato")),
    Case("match", "pronoun", "Lynx coach Ines Vidal said he was proud of his team.", ("'he'", "'she'")),
    Case("chat", "relation", "Amanda's brother is visiting from Leeds.", ("brother", "sister")),
    # Negation and opposites.
    Case(
        "bank",
        "negation removed",
        "Lars Holm said the bank would cut jobs.",
        ("negated in the source", "would not cut"),
    ),
    Case(
        "meeting", "negation removed", "The budget of £25,000 was approved.", ("negated in the source", "not approved")
    ),
    Case(
        "trial", "negation removed", "The study found an effect on cholesterol.", ("negated in the source", "not find")
    ),
    Case("flood", "negation added", "Some schools will not stay closed until Friday.", ("not",)),
    Case("trial", "negation added", "The drug did not lower blood pressure in women.", ("not lower",)),
    Case("meeting", "negation added", "The committee never agreed to hire two testers.", ("never agreed",)),
    Case("bank", "antonym", "Annual profit rose 4.5 percent.", ("rose", "fell")),
    Case("bank", "antonym", "Its shares closed 2% higher in Oslo.", ("higher", "lower")),
    Case("trial", "antonym", "The drug raised blood pressure in 68% of women.", ("raised", "lowered")),
    Case("trial", "antonym", "Headache was the least common side effect.", ("least", "most")),
    Case("court", "antonym", "Two directors were convicted of fraud.", ("convicted", "acquitted")),
    Case("star", "antonym", "The planet is slightly smaller than Earth.", ("smaller", "larger")),
    Case("meeting", "antonym", "Anna will write to the supplier after Thursday.", ("after", "before")),
    Case("court", "antonym", "The company admitted that it knew about the cracks.", ("admitted", "denied")),
    Case("star", "antonym", "Its surface is probably too cold for water.", ("cold", "hot")),
    # Quantifiers, modality, tense.
    Case("flood", "quantifier", "All schools may stay closed until Friday.", ("All", "Some")),
    Case("meeting", "quantifier", "All members preferred the blue design.", ("All", "Most")),
    Case("meeting", "quantifier", "Few members preferred the blue design.", ("Few", "Most")),
    Case("flood", "modality", "Some schools will stay closed until Friday.", ("will", "may")),
    Case("trial", "modality", "Larger trials confirmed the result.", ("confirmed", "could")),
    Case("star", "modality", "Its surface is certainly too hot for water.", ("certainly", "probably")),
    Case("meeting", "tense", "Anna wrote to the supplier before Thursday.", ("wrote", "will write")),
    Case("court", "modality", "Weller may pay damages of £2.4m within 30 days.", ("may", "must")),
    # Links and details nobody wrote.
    Case("trial", "cause", "Smoking caused a weaker response.", ("caused",)),
    Case("bank", "cause", "Its shares closed 2% lower because analysts had expected a loss.", ("because",)),
    Case("flood", "cause", "Three people were killed because the river rose.", ("because",)),
    Case("meeting", "detail", "The committee agreed to hire two experienced testers.", ("experienced",)),
    Case("bank", "detail", "Nordbank reported that its quarterly profit fell.", ("quarterly", "annual")),
    Case("star", "detail", "The planet has two moons.", ("moons",)),
    Case("match", "detail", "Marta Kowalski scored twice with her head in the first half.", ("head",)),
    Case("flood", "detail", "The mayor thanked the volunteers and promised money.", ("promised", "money")),
    Case("meeting", "colour", "Most members preferred the red design.", ("red", "blue")),
    Case("german", "detail", "Bürgermeisterin Karin Roth kritisierte die Architekten.", ("kritisierte", "lobte")),
    Case("star", "fused", "The University of Leiden launched the Kepler telescope in 2009.", ("Leiden", "elsewhere")),
    Case("court", "invented", "The company plans to appeal to the Supreme Court.", ("Supreme",)),
)

FAITHFUL = (
    Case("flood", "copy", "Heavy rain flooded the town of Marlow on Tuesday."),
    Case("flood", "reworded", "The town of Marlow was flooded by heavy rain on Tuesday."),
    Case("flood", "numbers", "Three people were killed and twelve injured, police said."),
    Case("flood", "numbers", "Twelve people were injured."),
    Case("flood", "negation", "The fire service said that nobody is missing."),
    Case("flood", "hedge", "It is possible that some schools stay closed until Friday."),
    Case("flood", "fused", "Heavy rain flooded Marlow, and 3 people were killed."),
    Case("bank", "percent", "Nordbank's annual profit fell 4.5% to 1.2 billion dollars."),
    Case("bank", "negation", "The bank will not cut any jobs, Lars Holm said."),
    Case("bank", "negation reworded", "Holm ruled out job cuts."),
    Case("bank", "passive", "Fjord Savings was bought by Nordbank in 2019."),
    Case("bank", "abbreviation", "Fjord Savings cost Nordbank 340m euros."),
    Case("bank", "percent", "Its shares closed two per cent lower in Oslo."),
    Case("meeting", "cause", "Because the printer needs six weeks, David objected."),
    Case("meeting", "negation", "The £25,000 budget wasn't approved."),
    Case("meeting", "negation reworded", "The committee failed to approve the budget of £25,000."),
    Case("meeting", "reworded", "Priya wants to move the launch to July."),
    Case("meeting", "number", "Two testers will be hired."),
    Case("chat", "dialogue", "Amanda baked cookies and will bring Jerry some tomorrow."),
    Case("chat", "dialogue", "Jerry can't come to the party on Saturday because he has to work."),
    Case("chat", "dialogue", "Amanda's sister Lucy is visiting from Leeds."),
    Case("chat", "dialogue", "Jerry's boss Tom is ill."),
    Case(
        "trial", "numbers", "The drug lowered blood pressure in 68 per cent of women, but in only 54 per cent of men."
    ),
    Case("trial", "numbers", "1250 patients took part in the trial."),
    Case("trial", "negation", "No effect on cholesterol was found."),
    Case("trial", "hedge", "Larger trials could confirm the result, Sato said."),
    Case("trial", "unit", "Patients took 20mg twice daily for 8 weeks."),
    Case("court", "money", "Weller must pay £2.4 million in damages within 30 days."),
    Case("court", "negation", "Weller denied knowing about the cracks."),
    Case("court", "negation reworded", "The company said it did not know about the cracks."),
    Case("court", "passive", "Weller was sued by the city after the bridge collapsed."),
    Case("court", "reworded", "Judge Singh found that Weller had breached its contract."),
    Case("star", "copy", "It lies 2,545 light-years away."),
    Case("star", "reworded", "The weak signal was found by a neural network from Google."),
    Case("star", "ordinal", "It is the 8th known planet in its system."),
    Case("star", "negation reworded", "Its surface is probably not cool enough for water."),
    Case("match", "passive", "Harriers were beaten 3-1 by Lynx in the cup final."),
    Case("match", "reworded", "Kowalski scored two goals in the first half."),
    Case("match", "pronoun", "Vidal said she was proud of her team."),
    Case("match", "hedge", "Some 18,500 fans watched the game in Porto."),
    Case("german", "copy", "Der Bau kostete 18 Millionen Euro."),
    Case("german", "reworded", "Im April eröffnet die Stadt Ulm ein neues Museum."),
)


# Written after the rules and before looking at what they say of these, so that the measure is no echo of them.
LATER_SOURCES = {
    "strike": (
        "Bus drivers in Leipzig walked out on Wednesday morning over pay. The union Verdi demands an increase "
        "of 6 percent; "
        "the operator LVB offered 3.2 percent. About 900 drivers took part, union leader Petra Kunz said. "
        "Trams were not affected. A second walkout could follow in November. Commuters reported delays of up to "
        "40 minutes."
    ),
    "vaccine": (
        "Researchers in Accra tested a malaria vaccine in 4,800 children aged five to seventeen months. "
        "It cut severe cases by a third over 18 months. Fever occurred in 9% of the vaccinated children and in "
        "4% of the "
        "control group. No deaths were linked to the vaccine. The trial was paid for by the Gates Foundation. "
        "Experts said the protection may fade without a booster."
    ),
    "lease": (
        "The tenant shall pay a rent of $1,850 on the first day of each month. The landlord must repair the "
        "heating within "
        "48 hours of notice. Pets are not allowed in the building. Either party may end the lease with 60 days' "
        "notice. "
        "The tenant may not sublet any room without written consent. The deposit equals two months' rent."
    ),
    "call": (
        "Nora: Did Felix send the slides?\nOmar: Not yet. He promised them by noon.\nNora: The client moved the "
        "call to 3:30.\n"
        "Omar: Ok. I'll ask Ines to present the figures.\nNora: I booked room B for twelve people.\n"
        "Omar: Great. My train is late, I'll join from my phone."
    ),
    "comet": (
        "The comet was first seen by the Chinese astronomer Li Wei in 1843. It returns every 76 years. "
        "Its tail stretched 320 million kilometres, longer than any other tail measured before. "
        "Most of its ice consists of water. The comet passed 0.3 astronomical units from the Sun. "
        "Nobody knows where it formed."
    ),
    "spanish": (
        "El equipo de Sevilla ganó el partido por 2-0 el domingo. Pablo Ruiz marcó ambos goles. "
        "El entrenador felicitó a los jugadores jóvenes."
    ),
}

LATER_PLANTED = (
    Case("strike", "number", "The union demands an increase of 8 percent.", ("8", "6")),
    Case("strike", "role swap", "The operator LVB demands an increase of 6 percent.", ("LVB", "Verdi")),
    Case("strike", "number swapped", "The operator LVB offered 6 percent.", ("6", "3.2")),
    Case("strike", "weekday", "Bus drivers in Leipzig walked out on Monday.", ("Monday", "Wednesday")),
    Case("strike", "time", "Bus drivers walked out on Wednesday evening.", ("evening", "morning")),
    Case("strike", "name", "Bus drivers in Dresden walked out over pay.", ("Dresden", "Leipzig")),
    Case("strike", "attribution", "Union leader Petra Klein said about 900 drivers took part.", ("Klein", "Kunz")),
    Case("strike", "negation removed", "Trams were affected.", ("negated in the source", "not affected")),
    Case("strike", "modality", "A second walkout will follow in November.", ("will", "could")),
    Case("strike", "month", "A second walkout could follow in December.", ("December", "November")),
    Case("strike", "unit", "Commuters reported delays of up to 40 hours.", ("40 hours", "40 minutes")),
    Case("strike", "ordinal", "A third walkout could follow in November.", ("third", "second")),
    Case("vaccine", "number", "Researchers tested a malaria vaccine in 8,400 children.", ("8,400", "4,800")),
    Case("vaccine", "fraction", "It cut severe cases by half over 18 months.", ("half", "third")),
    Case("vaccine", "number swapped", "Fever occurred in 4% of the vaccinated children.", ("4%", "9%")),
    Case("vaccine", "antonym", "It increased severe cases by a third.", ("increased", "cut")),
    Case("vaccine", "antonym", "It cut mild cases by a third over 18 months.", ("mild", "severe")),
    Case("vaccine", "negation removed", "Three deaths were linked to the vaccine.", ("deaths", "No deaths")),
    Case("vaccine", "modality", "Experts said the protection will fade without a booster.", ("will", "may")),
    Case("vaccine", "opposite", "Experts said the protection may fade with a booster.", ("with", "without")),
    Case("vaccine", "unit", "It cut severe cases over 18 weeks.", ("weeks", "months")),
    Case("vaccine", "disease", "Researchers in Accra tested a measles vaccine.", ("measles", "malaria")),
    Case("vaccine", "cause", "Fever occurred because the protection may fade.", ("because",)),
    Case("lease", "number", "The rent is $1,580 a month.", ("1,580", "1,850")),
    Case("lease", "ordinal", "Rent is due on the last day of each month.", ("last", "first")),
    Case("lease", "role swap", "The tenant must repair the heating within 48 hours of notice.", ("tenant", "landlord")),
    Case("lease", "negation removed", "Pets are allowed in the building.", ("negated in the source", "not allowed")),
    Case("lease", "modality", "Either party must end the lease with 60 days' notice.", ("must", "may")),
    Case("lease", "negation removed", "The tenant may sublet any room without written consent.", ("may not sublet",)),
    Case("lease", "currency", "The tenant shall pay a rent of £1,850.", ("£1,850", "$1,850")),
    Case("lease", "number", "The deposit equals three months' rent.", ("three", "two")),
    Case("call", "speaker", "Omar booked room B for twelve people.", ("Omar", "Nora")),
    Case("call", "name", "Omar will ask Felix to present the figures.", ("Felix", "Ines")),
    Case("call", "negation removed", "Felix sent the slides by noon.", ("Not yet",)),
    Case("call", "time", "The client moved the call to 4:30.", ("4", "3")),
    Case("call", "detail", "Nora booked a hotel room for twelve people.", ("hotel",)),
    Case("call", "opposite", "Omar's train is early.", ("early", "late")),
    Case("comet", "year", "The comet was first seen in 1834.", ("1834", "1843")),
    Case("comet", "nationality", "The comet was first seen by a Japanese astronomer.", ("Japanese", "Chinese")),
    Case("comet", "unit", "Its tail stretched 320 million miles.", ("miles", "kilometres")),
    Case("comet", "scale", "Its tail stretched 320 thousand kilometres.", ("320 thousand", "320 million")),
    Case("comet", "quantifier", "All of its ice consists of water.", ("All", "Most")),
    Case("comet", "antonym", "The tail was shorter than any other tail measured before.", ("shorter", "longer")),
    Case("comet", "decimal", "The comet passed 0.8 astronomical units from the Sun.", ("0.8", "0.3")),
    Case("comet", "name", "The comet passed 0.3 astronomical units from the Moon.", ("Moon", "Sun")),
    Case("comet", "negation removed", "Astronomers know where it formed.", ("Nobody knows",)),
    Case("spanish", "number", "El equipo de Sevilla ganó el partido por 3-0 el domingo.", ("3", "2")),
    Case("spanish", "weekday", "El equipo de Sevilla ganó el partido el sábado.", ("sábado", "domingo")),
    Case("spanish", "name", "Pablo Gil marcó ambos goles.", ("Gil", "Ruiz")),
)

LATER_FAITHFUL = (
    Case("strike", "reworded", "Leipzig bus drivers went on strike on Wednesday because of pay."),
    Case("strike", "numbers", "Verdi wants 6% more, while LVB offered 3.2%."),
    Case("strike", "negation", "Trams ran normally and were unaffected."),
    Case("strike", "hedge", "Another walkout might follow in November."),
    Case("strike", "numbers", "Some 900 drivers joined, Petra Kunz said."),
    Case("strike", "numbers", "Delays reached forty minutes, commuters reported."),
    Case("vaccine", "numbers", "The vaccine, tested in 4800 children, cut severe malaria by a third."),
    Case("vaccine", "numbers", "Nine percent of the vaccinated children and four percent of the others had fever."),
    Case("vaccine", "negation", "The vaccine was not linked to any deaths."),
    Case("vaccine", "passive", "The Gates Foundation paid for the trial."),
    Case("vaccine", "hedge", "Without a booster, protection may fade, experts said."),
    Case("vaccine", "numbers", "Children of five to 17 months took part."),
    Case("lease", "reworded", "Rent is $1,850, due on the 1st of every month."),
    Case("lease", "negation", "The building does not allow pets."),
    Case("lease", "negation", "Subletting is forbidden unless the landlord agrees in writing."),
    Case("lease", "numbers", "The lease can be ended by either party with sixty days' notice."),
    Case("lease", "modality", "The landlord has to repair the heating within 48 hours."),
    Case("call", "dialogue", "Felix has not sent the slides yet."),
    Case("call", "dialogue", "Nora booked room B for 12 people."),
    Case("call", "dialogue", "Omar will ask Ines to present the figures."),
    Case("call", "dialogue", "The client's call was moved to 3:30."),
    Case("call", "dialogue", "Omar will join by phone because his train is late."),
    Case("comet", "passive", "Li Wei first saw the comet in 1843."),
    Case("comet", "negation", "It is not known where the comet formed."),
    Case("comet", "numbers", "The comet comes back every seventy-six years."),
    Case("comet", "reworded", "No other tail measured before was longer."),
    Case("comet", "numbers", "Its tail was 320m kilometres long."),
    Case("spanish", "copy", "Pablo Ruiz marcó ambos goles."),
    Case("spanish", "reworded", "El domingo, el equipo de Sevilla ganó el partido por 2-0."),
)


# Errors with the decisive words, half of them in sentences in other words than the source's.
REWORDED_SOURCES = {
    "orchard": (
        "The growers' cooperative of Haldersby sold 3,400 tonnes of pears in 2021, a fifth less than in 2020. "
        "Frost on 9 April destroyed most of the blossom, chairwoman Ingrid Solheim said. "
        "The cooperative borrowed two million crowns from Vestby Savings Bank to buy heaters. "
        "Its rival, the Moen family, had bought heaters in 2019 and lost almost nothing. "
        "Solheim's deputy, Jonas Berg, had warned the board before the frost, but the board did not act. "
        "The cooperative will not raise its prices this year. Some members left in the autumn."
    ),
    "buses": (
        "Bus drivers in Talvik walked out on Monday after the company cut their breaks from 40 to 25 minutes. "
        "Union leader Amira Haddad said the strike would last until the cut was withdrawn. "
        "The company, Norbus, offered a bonus of 1,200 euros on Wednesday, which the drivers rejected. "
        "Mayor Erik Lund asked both sides to accept a mediator. "
        "About a third of the routes were served by volunteers. "
        "Schools stayed open because parents organised lifts. No bus was damaged."
    ),
    "tail star": (
        "A team led by Keiko Tanaka at the observatory of Mount Arden found a comet on 17 August. "
        "The comet comes from beyond Neptune and will pass the Sun in March, at a distance of 90 million kilometres. "
        "It is thought to be 12 kilometres wide. "
        "Amateur Paolo Greco had photographed it in June but took it for a flaw of his camera. "
        "Tanaka thanked Greco, whose pictures helped to compute the orbit. "
        "The comet cannot be seen with the naked eye. It may become brighter in February, Greco said."
    ),
    "report": (
        "Nadia: Did you hand in the report?\nOwen: Not yet, my laptop broke on Tuesday.\n"
        "Nadia: Use mine. The deadline is Friday at noon.\nOwen: Thanks! Can you send me the tables as well?\n"
        "Nadia: Sure, I'll mail them tonight. Professor Aydin wants at least six pages.\n"
        "Owen: I have four so far. Leila promised to check the figures."
    ),
}

COPIED = (
    Case("orchard", "quantity", "The cooperative sold 4,300 tonnes of pears in 2021.", ("4,300",)),
    Case("orchard", "time", "Frost on 9 May destroyed most of the blossom.", ("May",)),
    Case("orchard", "quantity", "Frost destroyed all of the blossom.", ("all",)),
    Case("orchard", "entity", "The cooperative borrowed two million crowns from Nordby Savings Bank.", ("Nordby",)),
    Case("orchard", "role", "Vestby Savings Bank borrowed two million crowns from the cooperative.", ("Bank",)),
    Case("orchard", "time", "The Moen family bought heaters in 2018.", ("2018",)),
    Case("orchard", "speaker", "Jonas Berg said frost destroyed most of the blossom.", ("Berg",)),
    Case("orchard", "negation", "The cooperative will raise its prices this year.", ("not raise",)),
    Case("buses", "time", "Bus drivers in Talvik walked out on Thursday.", ("Thursday",)),
    Case("buses", "quantity", "The company cut their breaks from 40 to 15 minutes.", ("15",)),
    Case("buses", "quantity", "The company offered a bonus of 2,100 euros.", ("2,100",)),
    Case("buses", "negation", "The drivers accepted the bonus that the company offered on Wednesday.", ("accepted",)),
    Case("buses", "entity", "Union leader Samira Haddad said the strike would last.", ("Samira",)),
    Case("buses", "speaker", "Erik Lund said the strike would last until the cut was withdrawn.", ("Lund",)),
    Case("buses", "cause", "Schools stayed open because no bus was damaged.", ("because",)),
    Case("tail star", "time", "The team found a comet on 17 April.", ("April",)),
    Case("tail star", "entity", "The comet comes from beyond Jupiter.", ("Jupiter",)),
    Case("tail star", "quantity", "It is thought to be 21 kilometres wide.", ("21",)),
    Case(
        "tail star", "quantity", "The comet will pass the Sun at a distance of 90 billion kilometres.", ("90 billion",)
    ),
    Case("tail star", "role", "Greco thanked Tanaka, whose pictures helped to compute the orbit.", ("Greco",)),
    Case("tail star", "negation", "The comet can be seen with the naked eye.", ("cannot be seen",)),
    Case("report", "time", "Owen's laptop broke on Thursday.", ("Thursday",)),
    Case("report", "quantity", "Professor Aydin wants at least eight pages.", ("eight",)),
    Case("report", "speaker", "Owen will mail the tables tonight.", ("Owen",)),
    Case("report", "entity", "Leyla's brother Murat promised to check the figures.", ("Murat",)),
    Case("report", "time", "The deadline is Friday at midnight.", ("midnight",)),
)
REWORDED = (
    Case("orchard", "quantity", "Pear sales fell by a quarter from one year to the next.", ("quarter",)),
    Case("orchard", "negation", "The board acted on the warning it was given.", ("not act",)),
    Case("orchard", "entity", "The Solheim family came through the cold with hardly any loss.", ("Solheim",)),
    Case("orchard", "time", "After the frost had come, the deputy warned the board.", ("After",)),
    Case("orchard", "cause", "Members left because prices went up.", ("because",)),
    Case("orchard", "role", "A bank was lent money by the cooperative for heaters.", ("lent",)),
    Case("buses", "time", "The stoppage at Norbus began at the weekend.", ("weekend",)),
    Case("buses", "quantity", "Volunteers ran roughly half of the lines.", ("half",)),
    Case("buses", "role", "The mayor was asked by both sides to find a mediator.", ("asked",)),
    Case("buses", "negation", "Several buses were damaged during the dispute.", ("No bus",)),
    Case("buses", "entity", "Teachers arranged rides so that classes could go on.", ("Teachers",)),
    Case("buses", "speaker", "According to the mayor, the walkout goes on until the company gives in.", ("mayor",)),
    Case("tail star", "entity", "Paolo Rossi had it on a photograph weeks earlier.", ("Rossi",)),
    Case("tail star", "time", "It will be closest to the Sun in the spring month of May.", ("May",)),
    Case("tail star", "quantity", "Its diameter is put at twenty kilometres.", ("twenty",)),
    Case("tail star", "speaker", "Tanaka expects that it could brighten in February.", ("Tanaka",)),
    Case("tail star", "modality", "It will certainly be brighter in February.", ("certainly",)),
    Case("tail star", "cause", "Greco did not report it because he disliked Tanaka.", ("disliked",)),
    Case("report", "role", "Nadia borrows Owen's laptop.", ("borrows",)),
    Case("report", "quantity", "Owen has written five pages up to now.", ("five",)),
    Case("report", "entity", "The professor agreed to go over the numbers.", ("professor",)),
    Case("report", "time", "The paper must be in by Saturday.", ("Saturday",)),
    Case("report", "negation", "Owen has already handed in his report.", ("Not yet",)),
    Case("report", "cause", "Owen is late because he lost the tables.", ("lost",)),
)
