"""GluonCV's models on both engines: ``PYTHONPATH=tests python -m zoo``, or ``make gluoncv``."""
