"""English grammar by rules: clauses, statements along a dependency tree, and what a pronoun stands for."""
