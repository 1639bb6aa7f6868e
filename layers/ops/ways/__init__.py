"""The ways in which an operator is written; all end in one `Operator`."""
