"""Find sentences, words and quotes in texts, as code-point offsets.

split       split (sentence spans, version SPLITTER in signatures), locate (spans of given sentences)
punkt       punkt_split (English sentences as in NLTK)
match       find_quote, QuoteFinder (approximate search for quotes by LLMs)
ngrams      words, ngrams, matched
spans       TextSpan, sentence_spans, paragraph_spans
chunks      windows, runs, tiles (chunks of long texts for a model), WordIndex (similarity of texts)
rouge       rouge_n, rouge_l, rouge_lsum, tokens; uses lcs (longest common subsequences)
fold        Offsets, Folded (normalised text with a mapping to offsets); lines, abbreviations (used by split)

Import names from the modules. This package itself imports nothing, so that unused modules are not loaded.
"""
