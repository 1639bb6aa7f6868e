"""A graph as a function of tensors, and its four ways to run: plain, recorded, compiled, step.

To follow a call of a hybridized net, begin at `Graph.__call__` (`gluon/_graph.py`). It runs the
`Program` of the graph, which is one Python function, or, recorded or compiled, a `Kinds`: a table
of functions, one for each kind of call. A kind that is not in it goes to `recorded._first_call` or
`compiled._first_call`, which put a function there: at last the recorded calls of PyTorch, a
`GraphCall`, or compiled code (`compiled._runner`).
"""
