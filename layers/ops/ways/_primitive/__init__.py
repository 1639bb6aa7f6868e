"""The parts of `layers.ops.primitive`: what computes, and what is declared of it."""
