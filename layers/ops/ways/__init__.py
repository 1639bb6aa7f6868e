"""Ways of writing an operator; each of them makes an `Operator`."""
