"""A graph as a function of tensors, and the ways in which it runs."""
