"""Where replies come from: OpenAI-compatible endpoints, and scripts without a network."""
