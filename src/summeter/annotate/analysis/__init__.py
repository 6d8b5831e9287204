"""Analysis of a campaign's answers: labels, adjudication, agreement, exclusion and exports."""
