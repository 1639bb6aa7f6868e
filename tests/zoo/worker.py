"""A process that runs models on one engine: a name on a line in, its results as JSON out."""

import argparse
import json
import resource
import sys
import warnings


def main():
    warnings.simplefilter("ignore")
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("engine", choices=["torch", "mxnet"])
    ask.add_argument("folder")
    ask.add_argument("--small", action="store_true")
    options = ask.parse_args()
    answers, sys.stdout = sys.stdout, sys.stderr  # GluonCV prints
    if options.engine == "torch":
        import layers.mxnet as mx

        gluoncv = mx.gluoncv()
    else:
        import gluoncv
        import mxnet as mx
    from .steps import Run

    writes = options.engine == "mxnet"
    for line in sys.stdin:
        run = Run(mx, gluoncv, line.strip(), options.folder, options.small, writes)
        told = run() | {"peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
        print(json.dumps(told), file=answers, flush=True)


if __name__ == "__main__":
    main()
