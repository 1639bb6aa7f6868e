"""Arrays of which a part is stored, csr and row_sparse: what operators and graphs do with them."""
