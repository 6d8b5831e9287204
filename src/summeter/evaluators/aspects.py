"""The aspects summaries are judged on, by the field's names."""

ASPECTS: dict[str, str] = {
    "faithfulness": "share of summary sentences that the document supports (FineSurE)",
    "completeness": "share of key facts that the summary holds (FineSurE)",
    "conciseness": "share of summary sentences that carry some key fact (FineSurE)",
    "composite": "mean of faithfulness, completeness and conciseness (UniSumEval)",
    "abstractiveness": "mean share of 1-, 3- and 5-grams of the summary that are not in the document (UniSumEval)",
    "rouge1": "words shared with the reference (Lin, 2004)",
    "rouge2": "word pairs shared with the reference (Lin, 2004)",
    "rougeL": "longest common subsequence with the reference (Lin, 2004)",
    "rougeLsum": "longest common subsequences, line by line (Lin, 2004)",
}
"""Aspect -> what it measures. All are in [0, 1]; higher is more of it."""
