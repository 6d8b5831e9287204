"""`faithjudge`, an LLM judge that is shown what people found in other summaries of the same document."""
