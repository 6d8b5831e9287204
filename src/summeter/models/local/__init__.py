"""Local networks (`summeter.models.networks`): nothing is imported here, nothing is loaded at import.

names      "hf/ORG/NAME@REVISION", "local/FOLDER", a path -> a folder on this disk, its revision and hash
tokens     texts -> token ids, cut to length, cuts counted
batcher    inputs -> batches, padded to the longest
backend    what computes: torch, ONNX Runtime
loaded_model    a folder with its tokenizer and weights, loaded when first used
classifier, token_classifier, encoder, seq2seq, coref, regressor    what computes each request
network    concurrent requests, stored results and computed ones brought together
load       the networks of a run, by role
convert    released checkpoints -> folders that transformers loads
export     an encoder as model.onnx
"""
