"""STRINGS: sentences, words and quotes as code-point offsets into the text they come from.

split       split (sentence spans, named SPLITTER in signatures), locate (given sentences)
punkt       punkt_split (English sentences as NLTK finds them)
match       find_quote, QuoteFinder (a quote, as models quote)
ngrams      words, ngrams, matched
spans       TextSpan, sentence_spans, paragraph_spans
chunks      windows, runs, tiles (pieces that a model reads one at a time), WordIndex (which are nearest)
rouge       rouge_n, rouge_l, rouge_lsum, tokens; with lcs (common subsequences)
novelty     novelty (abstractiveness)
fold        Offsets, Folded (readings that forgive spelling and map back); lines, abbreviations (parts of split)

Import from the modules; nothing is imported here, so that each costs only what it needs.
"""
