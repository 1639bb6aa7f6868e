"""The contestants in Lightning."""
