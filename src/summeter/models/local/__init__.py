"""Local networks (`summeter.models.networks`).

Importing this package imports and loads nothing.

names           model names (`hf/ORG/NAME@REVISION`, `local/FOLDER`, a path) to folders with a revision and a hash
tokens          texts to token ids, truncated to the maximum length
batcher         inputs to batches, padded to the longest input
backend         computation with torch or ONNX Runtime
loaded_model    a folder with its tokenizer and weights, loaded on first use
classifier, encoder, seq2seq, coref, regressor    computation of each request
network         concurrent requests combined with stored results
load            the networks of a run, by role
convert         conversion of released checkpoints to folders that transformers loads
export          export of an encoder as model.onnx
"""
