"""Local models behind the protocols of `summeter.models.base`: nothing is imported here, nothing is loaded at import.

names      "hf/ORG/NAME@REVISION", "local/FOLDER", a path -> a folder on this disk, its revision and hash
tokens     texts -> token ids, cut to length, cuts counted
batcher    concurrent calls, stored results and batches brought together
backend    what computes: torch, ONNX Runtime
opened     a model that was found, loaded when it is used
classifier, nli, tagger, encoder, seq2seq    the models themselves
bind       the models of a run, by role
export     a BERT classifier as model.onnx
"""
