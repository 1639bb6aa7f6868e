"""A process that runs models on one engine: a name on a line in, its results as JSON out."""

import argparse
import json
import resource
import sys
import warnings


def write_all_regions(F):
    """Let ROIAlign give 0 for a region of no picture, whose batch number is negative.

    MXNet leaves its part of the output unwritten on the CPU, so that nets with pyramids of features
    compute with whatever was in that memory; on a GPU and on layers.mxnet it is 0.
    """
    align = F.contrib.ROIAlign

    def with_zeros(data, rois, *args, **kwargs):
        y = align(data, rois, *args, **kwargs)
        of_picture = F.slice_axis(rois, axis=1, begin=0, end=1).reshape((-1,)) >= 0
        return F.where(of_picture, y, F.zeros_like(y))

    F.contrib.ROIAlign = with_zeros


def main():
    warnings.simplefilter("ignore")
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("engine", choices=["torch", "mxnet"])
    ask.add_argument("folder")
    ask.add_argument("--small", action="store_true")
    ask.add_argument("--outputs-only", action="store_true")
    options = ask.parse_args()
    answers, sys.stdout = sys.stdout, sys.stderr  # GluonCV prints
    if options.engine == "torch":
        import layers.mxnet as mx

        gluoncv = mx.gluoncv()
    else:
        import gluoncv
        import mxnet as mx

        write_all_regions(mx.nd)
        write_all_regions(mx.sym)
    from .steps import Run

    writes = options.engine == "mxnet"
    for line in sys.stdin:
        only = writes and options.outputs_only
        run = Run(mx, gluoncv, line.strip(), options.folder, options.small, writes, only)
        told = run() | {"peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
        print(json.dumps(told), file=answers, flush=True)


if __name__ == "__main__":
    main()
