"""What is made of a campaign's answers: labels, decisions, quality, files; and where to spend the next human hour."""
