"""Text processing: sentences, words and quotes as code-point offsets into their text.

split       split (sentence spans, version SPLITTER in signatures), locate (spans of given sentences)
punkt       punkt_split (English sentences as in NLTK)
match       find_quote, QuoteFinder (approximate search for quotes by LLMs)
ngrams      words, ngrams, matched
spans       TextSpan, sentence_spans, paragraph_spans
chunks      windows, runs, tiles (chunks of long texts for a model), WordIndex (the most similar texts)
rouge       rouge_n, rouge_l, rouge_lsum, tokens; uses lcs (longest common subsequences)
novelty     novelty (abstractiveness)
fold        Offsets, Folded (normalised text with a mapping to offsets); lines, abbreviations (used by split)

Import from the modules: this package imports nothing, so that each import costs only what it needs.
"""
