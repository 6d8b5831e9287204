"""Raw documents of many kinds as a dataset: read, cleaned, described, without near-duplicates, sampled."""
