"""English parsing: dependency trees, entities and noun chunks."""
