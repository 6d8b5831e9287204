"""FineSurE (Song et al., ACL 2024): fact checking by sentence, alignment by key fact, with an LLM judge."""
