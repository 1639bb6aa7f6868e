"""Internals of loop kernels: the language and its checker, bounds of indices, the compiler."""
