"""Language models and local networks: providers, layers around a model, prompts and typed replies."""
