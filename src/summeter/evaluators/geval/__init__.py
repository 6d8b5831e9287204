"""G-Eval and G-Eval+: ratings by evaluation steps, weighted by the model's probabilities."""
