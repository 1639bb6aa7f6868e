"""MXNet's NumPy interface: its functions, written once for arrays and for Symbols.

A function takes `F` first, the `Functions` of arrays or of Symbols: all operators of the table
whose names begin with ``_np``, and all functions here.
"""
