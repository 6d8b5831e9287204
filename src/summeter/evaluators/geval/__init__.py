"""G-Eval and what was made of it: a rating by evaluation steps, weighted by the model's probabilities."""
