"""The texts that ``--help`` shows before and after the options."""

from __future__ import annotations

__all__ = ["describe"]

DESCRIPTION = """\
Train a network to tell classes apart, by default handwritten digits, or to predict a number. By
default it is a multi-layer perceptron, layers x Wᵀ + b with sigmoids between them; the loss is the
cross entropy of softmax, or the squared error. It is done
"""
HOW = {
    "train": "with Gluon, from this library's own layers. `python -m train.module` uses Module.",
    "train.module": "with Symbol and Module, ending in an operator of its own written in NumPy.",
}

DETECT = """\
Train a network to find objects in images: the class of each, and its box. By default these are
handwritten digits and drawn shapes in scenes that the program makes, and the network is a single
shot detector of this library's layers. It is measured by GluonCV's mean average precision, and
otherwise trained as by `python -m train`.
"""

EXAMPLES_AND_DATA = """\
examples:
  {command}                              the digits of scikit-learn, in seconds
  {command} --data mnist:~/mnist         60,000 digits, from the published files
  {command} --data iris.csv --target species --out runs/iris
  {command} --data houses.csv --task regression --target price --ignore id
  {command} --optimizer sgd --lr 0.1 --epochs 50 --seed 7
  {command} --ctx gpu:0,gpu:1            half of each batch on each GPU
{examples}
data:
  digits                   1,797 digits of 8 x 8 pixels, which scikit-learn brings along
  mnist[:FOLDER]           train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k,
  fashion-mnist[:FOLDER]   with .gz or without; FOLDER is ~/.mxnet/datasets/NAME if not given
  cifar10[:FOLDER]         data_batch_1.bin to data_batch_5.bin and test_batch.bin
  FILE.csv, FILE.tsv       a line for each sample, after a line with the names of the columns; also
                           .csv.gz, .bz2, .xz, .zip, and FILE.parquet, FILE.xlsx
  FILE.npz                 x (samples, ...) and y (samples,); or x_train, y_train, x_test, y_test
  X.npy,Y.npy              the same as two files
  FOLDER                   images in a folder for each class, or these in train and val or test
  FILE.rec                 images in RecordIO, with FILE.idx beside it

Targets are classes: whole numbers or texts; with --task regression they are numbers. Of data
without test samples a fifth is held out, the same part of each class, drawn by --seed; --holdout
0.1, group:COLUMN (whole groups), time:COLUMN (the last ones) or 2/5 (a fold) are others, and
--validation names held-out samples. No training step sees them. Each column of a table is scaled
by itself, pixels all alike; the saved net does it.

Columns of a table are numbers, booleans, dates or categories: what is found is told before the
training, and --columns year:category,seen:date says otherwise (KIND: number, boolean, date,
category). Texts of many values and ids are left out. A missing number is the median.

To predict with a trained net: python -m train.predict --help
To find a learning rate before: python -m train.find_lr --help

"""
SCENES = """\
examples:
  {command}                        scenes of digits and shapes
  {command} --data scenes:4000 --epochs 40 --units 32 --schedule cosine
  {command} --data cells.npz --out runs/cells

data:
  scenes[:N]   N scenes (2,000) of 64 x 64 pixels with 1 to 4 objects of 13 classes, and a quarter
               as many held out, with other digits; the same ones for every seed
  FILE.npz     x (samples, height, width, channels) and y (samples, objects, 5); or x_train,
               y_train, x_test, y_test. An object is its class, from 0, and its left, upper, right
               and lower edge in parts of the image; behind the last one of an image there is -1

Of data without test samples a fifth is held out, drawn by --seed, or as much as --holdout says.
Images are as large as they are in the data, and all alike.

nets:
  ssd_lite        three feature maps, and a head of separable convolutions for each
  my.py:function  function(shape, classes) of this file returns a HybridBlock: of images (n, *shape)
                  the scores (n, k, classes + 1), the offsets (n, 4 k) and k anchors (1, k, 4)

"""
MORE = """\
{data}{hybridize}files in --out:
  history.csv         loss and metric of every epoch; on one machine, and with one --hybridize,
                      the same seed gives the same file
  curves.png          the same as a picture
{files}
  config.json         how to do it again: options, engine, versions, classes and scaling, result
  checkpoints/        the last two and the best: epoch-0007, or epoch-0007-step-000100

config.json is there from the beginning, history.csv and checkpoints after each epoch; the others
appear all together at the end, and are of the best epoch. Without --out a run gets a new folder,
runs/DATE-DATA. A folder that holds a run, or files of these names that are of no run, is refused,
unless --overwrite is given.

Ctrl-C ends the training after the step, as SIGTERM and SIGHUP do: what was learned until then is
measured, saved as a checkpoint, and the files are written: those of the best whole epoch, where
there is one. Ctrl-C twice leaves at once. --resume goes on from the last whole checkpoint, however
the training ended, as if it never had.

--config takes options from a file, as {{"epochs": 5, "lr": 0.01}}, or the same in YAML; those
of the command line take precedence. The config.json of a run repeats it bit for bit, into another
folder. No Python file runs that only a file names: give --net my.py:function again, to --config
as to --resume.

exit status:
  0    trained
  2    cannot be done as asked
  3    the loss is not finite, or a hundred times that before the training: the first layer that
       went bad is named, and the last checkpoint is from before; or it ends above twice that
       before the training, and twice that of guessing
  4    another process of the training is lost (--kvstore dist_sync)
  130  interrupted by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP"""
EXAMPLES = {
    "train": """\
  torchrun --nproc-per-node 2 -m train --kvstore dist_sync   in two processes
  {command} --net vit --units 32 --lr 0.002 --schedule cosine --warmup 5 --clip 1
  {command} --activation swiglu --norm rms --residual --dropout 0.1 --hidden 64,64,64
  {command} --optimizer lamb --optimizer-option beta1=0.95 --weight-decay 0.01
""",
    "train.module": "",
}
MODES = {
    "train": """\
nets:
  mlp             hidden layers activation(norm(W x + b)); with --activation swiglu or geglu gated;
                  --residual adds the input of each to its output
  mixer, vit      of images, cut into patches: MLP-Mixer, vision transformer
  conv, resnet    of images: convolutions with batch norm and pooling; a small residual net
  gluoncv:NAME    a classifier of GluonCV's model zoo, such as gluoncv:cifar_resnet20_v1
  my.py:function  function(shape, outputs) of this file returns a HybridBlock that takes (n, *shape)
                  and gives (n, outputs): shape is (features,), of images (channels, height, width)

{schedules}hybridize:
  none      every operator by itself, as the program comes to it
  recorded  the net as one graph, made and recorded by the first call
  compiled  that graph compiled, the net's own operators included (--engine torch)
  step      forward, loss, backward and update as one compiled graph (--engine torch, one context);
            without --clip and --accumulate, which come in between

{precision}""",
    "train.module": "",
    "train.detect": """\
{schedules}hybridize:
  none      every operator by itself, as the program comes to it
  recorded  the net as one graph, made and recorded by the first call
  compiled  that graph compiled (--engine torch); the loss, which matches anchors, is recorded

{precision}""",
}
SCHEDULES = """\
schedules of the learning rate, after the warm-up:
  constant  as it is
  step      times factor (0.1) after every so many epochs: every (a third of all)
  cosine    half a cosine, down to the share final (0) of the rate
  poly      (1 - done) to the power of power (2), down to the share final (0)

"""
PRECISION = """\
--accumulate 4 learns from 4 batches as if they were one, with the memory of one. --precision
bfloat16 computes in 16 bits and updates in float32; the files have float32. --average 0.99 is a
mean of the weights after about the last 100 steps, that is measured and saved instead of the last.

"""
FILES = {
    "train": """\
  model.params        the parameters of the best epoch, for net.load_parameters
  model.safetensors   the same, for other frameworks
  model-symbol.json   the exported net, with
  model-0000.params   its parameters, for SymbolBlock.imports""",
    "train.module": """\
  model.safetensors   the parameters of the best epoch, for other frameworks
  model-symbol.json   the Module's checkpoint of the best epoch: the graph, and
  model-0000.params   the parameters, for Module.load""",
}

FIND_LR_DESCRIPTION = """\
Find a learning rate for a training: `python -m train` with the same options. From a new network it
takes steps with a rate that rises from --from to --to, each by the same factor, until the loss has
grown far above its least. The rate to try is the one at which the smoothed loss falls most steeply,
between a hundredth and a tenth of the rate at which it is least.
"""
FIND_LR_MORE = """\
examples:
  {command}
  {command} --net vit --units 32 --clip 1
  {command} --optimizer sgd --from 1e-4 --to 100 --steps 200

files in --out:
  find_lr.csv  the learning rate, the loss, and the smoothed loss of every step
  find_lr.png  the same as a picture, with the suggestion

Nothing is kept of what is learned. The rate goes with the size of batches: find it again for
another. With a schedule it is the highest one, after the warm-up.

exit status:
  0    there is a suggestion
  2    cannot be done as asked
  3    no rate can be suggested: the loss did not fall enough
  130  interrupted by Ctrl-C"""


def describe(program: str, command: str) -> tuple[str, str]:
    """Return the texts of a program's help before and after the options."""
    if program == "train.find_lr":
        return FIND_LR_DESCRIPTION, FIND_LR_MORE.format(command=command)
    is_detector = program == "train.detect"
    data = SCENES.format(command=command)
    if not is_detector:
        examples = EXAMPLES[program].format(command=command)
        data = EXAMPLES_AND_DATA.format(command=command, examples=examples)
    more = MORE.format(
        data=data,
        files=FILES["train" if is_detector else program],
        hybridize=MODES[program].format(schedules=SCHEDULES, precision=PRECISION),
    )
    return DETECT if is_detector else DESCRIPTION + HOW[program], more
