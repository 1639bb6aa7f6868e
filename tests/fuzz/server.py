"""A process that runs programs on MXNet: one line of JSON in, one out. See `oracle.MXNet`."""

import json
import os
import sys


def serve() -> None:
    """Answer programs until the input ends."""
    # What MXNet prints, in C++ too, goes to the error stream: the answers have the output alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import mxnet as mx

    from .program import run

    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        answer = run(mx, json.loads(line))
        try:
            mx.nd.waitall()
        except mx.base.MXNetError as error:  # of a computation that the program did not wait for
            answer = {"error": f"MXNetError: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve()
