"""Parse English texts: dependency trees, entities and noun chunks."""
