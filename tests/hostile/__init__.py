"""Hostile files for every reader: made from valid ones, read, and judged."""
