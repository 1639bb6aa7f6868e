"""What of MXNet 1.9.1's Python API is here: recorded from MXNet, compared, and told on a page."""
