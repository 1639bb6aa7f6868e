"""Users' operators: what runs them, eagerly and as nodes of a graph."""
