"""The extension of Griffe, with which mkdocstrings reads the source."""

from __future__ import annotations

import sys
from pathlib import Path

import griffe

sys.path.insert(0, str(Path(__file__).parent))  # Griffe runs this file as no part of a package
from docstrings import rewritten


class Docstrings(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs) -> None:
        if obj.docstring is not None:
            obj.docstring.value = rewritten(obj.docstring.value)
