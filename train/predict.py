"""``python -m train.predict``: the program `train.predict_program`.

Imported, the name `train.predict` is the function, in whatever order a program imports.
"""

from __future__ import annotations

import sys

if __name__ == "train.predict":
    from .prediction import predict

    sys.modules[__name__] = predict  # type: ignore  # which the import system takes for the module
elif __name__ == "__main__":
    from .predict_program import main

    sys.exit(main())
