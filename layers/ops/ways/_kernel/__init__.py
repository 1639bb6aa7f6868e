"""Loop kernels inside: the language and its checker, the bounds of indices, the compiler."""
