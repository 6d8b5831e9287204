"""FineSurE (Song et al., ACL 2024): fact checking of sentences and alignment of key facts by an LLM judge."""
