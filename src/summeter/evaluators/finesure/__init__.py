"""FineSurE: fact checking of sentences and alignment of key facts by an LLM judge.

See Song et al. (ACL 2024).
"""
