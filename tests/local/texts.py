"""Two short documents with two systems' summaries each: enough for every evaluator to ask every question it has."""

from __future__ import annotations

from typing import Any

LIBRARY = (
    "The town library of Arnfeld closes for repairs on 3 May and opens again in September. The roof has leaked since "
    "the storm of last autumn, and 400 books were lost. The mayor, Ruth Benning, said the town will pay 90,000 euros."
)
FERRY = (
    "A ferry with 212 people on board ran aground near the island of Soll on Tuesday. Nobody was hurt. Fog had closed "
    "the harbour an hour before, but the captain had not been told."
)

ROWS: tuple[dict[str, Any], ...] = (
    {
        "doc_id": "library", "system": "plain", "document": LIBRARY, "reference": "Arnfeld's library closes from May.",
        "summary": "The library of Arnfeld closes in May. The town pays 90,000 euros.",
        "key_facts": ["The library closes on 3 May.", "The roof has leaked.", "The town pays 90,000 euros."],
    },
    {
        "doc_id": "library", "system": "loose", "document": LIBRARY, "reference": "Arnfeld's library closes from May.",
        "summary": "Arnfeld's library burnt down in May. Books were lost.",
        "key_facts": ["The library closes on 3 May.", "The roof has leaked.", "The town pays 90,000 euros."],
    },
    {
        "doc_id": "ferry", "system": "plain", "document": FERRY,
        "summary": "A ferry ran aground in fog near Soll. All 212 people were unhurt.",
    },
    {
        "doc_id": "ferry", "system": "loose", "document": FERRY,
        "summary": "A ferry sank near Soll, and the captain was hurt.",
    },
)  # fmt: skip
