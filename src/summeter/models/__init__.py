"""WHO ANSWERS: language models behind one protocol, the layers around them, prompts and typed replies."""
