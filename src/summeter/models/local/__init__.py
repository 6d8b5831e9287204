"""Local models behind the protocols of `summeter.models.base`: nothing is imported here, nothing is loaded at import.

names      "hf/ORG/NAME@REVISION", "local/FOLDER", a path -> what is meant
files      ... -> a folder on this disk, its revision and the hash of what it holds
graph      a BERT classifier as an ONNX graph, written out by `export`
labels     which output of a classifier is which class
batches    token-budget batches over length-sorted texts; halving where memory ends
batcher    concurrent calls, stored results and batches brought together
tokens     texts -> token ids, cut to length, cuts counted
backends   what computes: `torch_backend`, `onnx_backend`, shared through `pool`
nli, encoder, seq2seq    the models themselves
bind       the models of a run, by role
"""
