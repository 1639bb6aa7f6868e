"""A graph as a function of tensors, and the ways in which it runs.

To follow a call of a hybridized net, begin at `Graph.__call__` (`gluon/_graph.py`). It runs the
`Program` of the graph, which is one Python function, or, recorded or compiled, a `Kinds`: that has
a function for each kind of call. The first calls of a kind are those of `recorded._first_call` or
`compiled._first_call`. They keep a function for the later ones: the recorded calls of PyTorch
(`recorded._done_again`), or compiled code (`compiled._runner`).
"""
