"""Differences that are no defect of `layers.mxnet`: MXNet's own errors, and what is meant.

A rule is a reason and regular expressions, each of which must be found: in what the program is
about, in its text, in MXNet's answer and in ours. It may also say what must hold of each value that
differs. What differs on purpose has an entry in docs/differences.md, whose title the rule names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .compare import same
from .program import Expression, Program, source, text

# Patterns that need a name
INTEGERS = "dtype='u?int"
NO_INTEGER = r"\b(nan|inf|1e10|10000000000\.0)\b"
BEYOND = "-2147483648|-9223372036854775808|9223372036854775807"
LARGE = r"(?<![\d.])\d{9}"
DIVISION = "^arithmetic/[/%]$|div|mod"
EMPTY = r"np\.zeros\(\(.*\b0\b"
UNBOUNDED = "softsign|relu|Activation|smooth_l1|moments"
ADDED = (
    "clip|mean|moments|reverse|boolean_mask|Output|copy|context|split|linalg|[lL]oss|Pool"
    "|amp_multicast|astype"
)
OVER_THE_EDGE = "ceil_mode=True|pooling_convention='full'"
LIST_BESIDE_NONE = r"(\.\.\.|None).*(np\.array|\[\[)|(np\.array|\[\[).*(\.\.\.|None)"
NEGATIVE_IN_A_LIST = r"\[[^\]:]*(\[|array\(\[)[\d, ]*-\d"
THREE_AXES = r"\]\]\]"
PAD_OF_A_KERNEL = "kernel is (1, .*pad [1-9]|2, .*pad [2-9]|3, .*pad [3-9])"
SIZES = r"'?[(\[][^)\]]*{}[^)\]]*[)\]]'?"  # as an attribute has them, one of which is ...
FIRST = rf"\((x\d, )*{SIZES.format('')}, "  # the inputs and the kernel
STRIDE = rf"(stride=|{FIRST}){SIZES.format('[23]')}"
DILATE = rf"(dilate=|{FIRST}{SIZES.format('')}, ){SIZES.format('2')}"
USED = "use_sequence_length='?(True|1)"
AT_0 = "Derivatives at 0"
NO_DERIVATIVE = "Where MXNet's gradient is not the derivative"


@dataclass(frozen=True)
class Rule:
    reason: str
    about: str = ""
    program: str = ""
    theirs: str = ""
    ours: str = ""
    docs: str = ""  # the title in docs/differences.md
    # Of the program, what it shows, and MXNet's value and ours of that, where these differ
    differs: Callable[[Program, str, Expression, Expression], bool] | None = None

    def holds(self, program: Program, theirs: dict, ours: dict) -> bool:
        return bool(
            re.search(self.about, program["about"])
            and re.search(self.program, source(program))
            and re.search(self.theirs, shown(theirs))
            and re.search(self.ours, shown(ours))
            and (self.differs is None or self._holds_of_all(program, theirs, ours))
        )

    def _holds_of_all(self, program: Program, theirs: dict, ours: dict) -> bool:
        found = differing(program, theirs, ours)
        return "shown" in ours and all(self.differs(program, *each) for each in found)


def differing(
    program: Program, theirs: dict, ours: dict
) -> Iterator[tuple[str, Expression, Expression]]:
    """What a program shows, MXNet's value of it and ours, where these differ; of lists each."""
    rest = list(zip(program["show"], theirs.get("shown", ()), ours.get("shown", ())))
    while rest:
        expression, a, b = rest.pop()
        lists = all(isinstance(v, list) and v[0] in ("list", "tuple") for v in (a, b))
        if lists and len(a) == len(b):
            rest += [(expression, x, y) for x, y in zip(a[1:], b[1:])]
        elif not same(a, b):
            yield text(expression), a, b


def is_one(program: Program, shown: str, theirs: Expression, ours: Expression) -> bool:
    """A gamma into which MXNet has written 1."""
    of = "x1" if program["about"].startswith("operators") else "parameters(net)"
    return shown == of and theirs[:3] == ours[:3] and set(theirs[3]) == {1}


def is_rounded(program: Program, shown: str, theirs: Expression, ours: Expression) -> bool:
    """The integers that are nearest to those of float32, of which ours are the whole parts."""
    _, given, _, x = program["do"][0][2]
    if given != "float32" or theirs[:3] != ours[:3] or "int" not in theirs[1]:
        return False
    x, (least, most) = np.array(x), (np.iinfo(theirs[1]).min, np.iinfo(theirs[1]).max)
    held = (x > least) & (x < most)  # of others C leaves undefined what becomes
    nearest, whole = np.rint(x[held]), np.trunc(x[held])
    pairs = (np.array(theirs[3])[held], nearest), (np.array(ours[3])[held], whole)
    return all(np.array_equal(a, b) for a, b in pairs)


def is_output(program: Program, shown: str, theirs: Expression, ours: Expression) -> bool:
    """Values of the output in float64, and no gradient."""
    return shown == "y" and theirs[:3] == ours[:3] and theirs[1] == "float64"


def is_second_input(program: Program, shown: str, theirs: Expression, ours: Expression) -> bool:
    """Values of the gradient that an optimizer's update is given."""
    return shown == "x1" and theirs[:3] == ours[:3]


RULES = [
    # What C++ leaves undefined
    Rule(
        "an integer is made of NaN, or of a number that it cannot hold",
        theirs=BEYOND,
        docs="Numbers that an integer array cannot hold",
    ),
    Rule(
        "an integer is made of NaN, or of a number that it cannot hold",
        ours=BEYOND,
        docs="Numbers that an integer array cannot hold",
    ),
    Rule(
        "an integer is made of NaN, or of a number that it cannot hold",
        "arithmetic|scalar",
        rf"(?s){NO_INTEGER}.*{INTEGERS}|{INTEGERS}.*{NO_INTEGER}",
        docs="Numbers that an integer array cannot hold",
    ),
    Rule("a number is divided by a learning rate of 0", "ftrl", "lr='?0[,)']", theirs="nan"),
    Rule("numbers are sorted of which one is NaN", "sort|topk", "nan"),
    Rule("a range of quantization that is NaN", "operators/_contrib_quantize$", "nan"),
    Rule("0 times an infinity, or NaN, beside a pixel that is taken", "BilinearResize", "inf|nan"),
    # MXNet's own errors
    Rule("MXNet takes a size of 0 for one that it does not know", program=EMPTY),
    Rule(
        "MXNet draws random numbers from distributions that do not exist",
        "operators/_(random|sample)",
        ours="Error",
    ),
    Rule(
        "MXNet hands dtype=None to np.dtype, which makes float64 of it",
        "operators",
        r"dtype=None|_sample.*None\)",
    ),
    Rule(
        "MXNet takes the numbers of positions along the first axis alone", "unravel_index", r"\[\["
    ),
    Rule("bins whose edges do not ascend", "operators/_histogram", "x1 = "),
    Rule("MXNet looks at no shape but the data's", "BatchNorm", ours="ShapeError: BatchNorm: "),
    Rule("MXNet reads beyond the classes", "softmax_cross_entropy"),
    Rule(
        "MXNet gives a bias no gradient where no weight has one",
        "FullyConnected",
        r"(?s)^(?!.*x1\.attach_grad).*x2\.attach_grad",
    ),
    Rule(
        "MXNet forgets the global and the local sums of averages over all samples",
        "PearsonCorrelation",
        "average='micro'",
    ),
    Rule(
        "MXNet reads lengths of sequences that are not there, and gives them gradients",
        "Sequence",
        rf"(?s)^(?!.*{USED}).*backward|x1.attach_grad",
    ),
    Rule("MXNet ignores sequence_length on a CPU", "operators/RNN", USED),
    Rule(
        "MXNet takes negative positions in a list to be before the array",
        "indexing",
        NEGATIVE_IN_A_LIST,
        docs=NO_DERIVATIVE,
    ),
    Rule("MXNet's asscalar is an array where there are several axes", "asscalar"),
    Rule(
        "MXNet takes queries, keys and values of which some are left over",
        "interleaved_matmul",
        ours=r"^ShapeError: .*expected \(length, batch, \d d\)",
    ),
    Rule("MXNet leaves the weights of 32 bits as they are", "operators/mp_lamb_update_phase2"),
    Rule(
        "MXNet writes no result where the gradient is scaled by 0",
        "operators/_(mp_)?adamw_update",
        r"x[45] = mx\.nd\.array\(\[(.*, )?-?0\.0\b",
    ),
    Rule(
        "init_output=False", "all_finite", ours="^UnsupportedError: multi_all_finite: init_output"
    ),
    Rule("MXNet's nansum of an infinity is NaN", "nansum", "inf", theirs="nan"),
    # Derivatives at infinities, NaN and poles
    Rule("a gradient where the input is infinite or NaN", UNBOUNDED, "inf|nan"),
    Rule("a gradient of gamma at its poles", "gamma", "backward", "inf|nan", "inf|nan", AT_0),
    Rule("a gradient at -0.0, where it is infinite", "sqrt|cbrt|reciprocal", r"-0\.0"),
    Rule("a gradient of a power of 0", r"\*\*|[pP]ower", theirs="nan", docs=AT_0),
    Rule("a gradient of a product of 0", "prod", theirs="nan", docs=AT_0),
    Rule("a gradient of the norm of 0", "norm", theirs="nan", docs=AT_0),
    Rule(
        "a relu of NaN is 0 in MXNet's RNN, which passes NaN on here", "RNN", "rnn_relu", ours="nan"
    ),
    Rule("max pooling passes NaN on, MXNet's compares it away", "Pool", "nan"),
    # Rounding
    Rule(
        "one number is normalized: its gradient is 0 but for rounding, times 1 / sqrt(eps)",
        "LayerNorm|BatchNorm|InstanceNorm|GroupNorm",
        ours=r"\de-0[5-9]",
    ),
    Rule(
        "one number of 10000 is normalized, and rounded",
        "LayerNorm|BatchNorm|InstanceNorm|GroupNorm",
        r"\b10000\.0",
    ),
    # Meant
    Rule("grad_req='add' adds", ADDED, r"attach_grad\('add'\)", docs="grad_req='add' adds"),
    Rule("SELU's gradient", "SELU|LeakyReLU", "SELU|selu", docs=NO_DERIVATIVE),
    Rule("SoftmaxActivation's gradient", "SoftmaxActivation", THREE_AXES, docs=NO_DERIVATIVE),
    Rule("average pooling over the edge", "AvgPool|Pooling", OVER_THE_EDGE, docs=NO_DERIVATIVE),
    Rule("max pooling recorded for prediction", "Pool", "train_mode=False", docs=NO_DERIVATIVE),
    Rule("the gradient of SoftmaxOutput", "SoftmaxOutput", "out_grad", docs=NO_DERIVATIVE),
    Rule(
        "the determinant of a 1 x 1 matrix of 0", "linalg_det", r"\[\[0\.0\]\]", docs=NO_DERIVATIVE
    ),
    Rule("BatchNormReLU recorded for prediction", "BatchNormReLU", "train_mode=False"),
    Rule("RNN in float64", "operators/RNN", "float64", docs=NO_DERIVATIVE),
    Rule("PReLU, hybridized", "", "(?s)PReLU.*hybridize", docs=NO_DERIVATIVE),
    Rule("a list beside None", "indexing", LIST_BESIDE_NONE, docs="A list beside None"),
    Rule(
        "a fixed gamma",
        "BatchNorm",
        "(?s)scale=False|^(?!.*fix_gamma='?(False|0)).*nd",
        docs="BatchNorm leaves gamma as it is",
        differs=is_one,
    ),
    Rule(
        "a box that begins left of 0 stays in its format",
        "operators/_contrib_box_nms",
        r"(?s)x0 = .*-\d.*(in|out)_format='(center|corner)'",
    ),
    Rule(
        "running averages outside of record",
        "operators/BatchNorm",
        r"(?s)^(?!.*record\()(?=.*train_mode)",
        docs="BatchNorm updates its running averages in forward",
    ),
    Rule(
        "gradients of images",
        "operators/_image_",
        "backward",
        docs="Image operators have the gradients of what they compute",
    ),
    Rule(
        "a softmax of 16 bits in another dtype",
        "softm",
        "(?s)float16.*dtype='?float(32|64)",
        docs="A softmax of 16 bits in another dtype",
    ),
    Rule(
        "an image is not written whole",
        "_image_.*flip",
        docs="Images that MXNet does not write whole",
    ),
    Rule(
        "one truth value",
        "_contrib_allclose",
        theirs=r"^mx\.nd\.array\(np\.uint8",
        docs="Splitting gives no array of the shape ()",
    ),
    Rule("norm of integers", "norm", INTEGERS, docs="The norm of integers"),
    Rule(
        "amp_cast to integers",
        "amp_cast",
        docs="amp_cast to integers truncates",
        differs=is_rounded,
    ),
    Rule("integers divided by 0", DIVISION, rf"(?s){INTEGERS}.*\b0\b", docs="Division by 0"),
    Rule("integers divided by 0", DIVISION, rf"(?s)\b0\b.*{INTEGERS}", docs="Division by 0"),
    Rule("large integers", "", INTEGERS, theirs=LARGE, docs="Large integers"),
    Rule(
        "a pad as large as the kernel",
        "operators/Pooling",
        "'(sum|lp)'",
        ours=f"^ShapeError: Pooling: {PAD_OF_A_KERNEL}",
        docs="Pooling with a pad as large as the kernel",
    ),
    Rule(
        "diag beyond the corner",
        "diag",
        theirs=rf"^mx\.nd\.array\({EMPTY}",
        ours=r"^ArgumentError: diag: k is -?\d",
        docs="diag beyond the corner of a matrix",
    ),
    Rule(
        "BidirectionalCell",
        "recurrent",
        "(?s)BidirectionalCell.*valid_length",
        docs="BidirectionalCell with valid_length",
    ),
    Rule(
        "SoftmaxOutput of three axes",
        "SoftmaxOutput",
        THREE_AXES,
        docs="SoftmaxOutput of three axes or more",
    ),
    Rule(
        "Deconvolution in float64",
        "operators/Deconvolution",
        rf"(?s)^(?=.*{STRIDE})(?=.*{DILATE})",
        docs="Deconvolution in float64 with dilation",
        differs=is_output,
    ),
    Rule(
        "PoissonNLLLoss",
        "PoissonNLLLoss",
        "compute_full=True",
        docs="PoissonNLLLoss with targets of 0",
    ),
    Rule(
        "AdamW writes the rescaled gradient into its input",
        "operators/_(mp_)?adamw_update",
        differs=is_second_input,
    ),
    Rule(
        "a ratio of anchors that is not above 0",
        "MultiBoxPrior",
        ours="MultiBoxPrior: ratios is",
        docs="Anchors of a negative ratio",
    ),
    Rule("BatchNorm of several devices", "SyncBatchNorm", ours="Error: SyncBatchNorm: ndev is"),
    Rule("Reshape refuses to drop elements", "[rR]eshape", ours="cannot take the shape"),
    Rule(
        "a scale of one axis alone is refused, which MXNet ignores",
        "BilinearResize",
        ours="Error: ",
    ),
]


def shown(answer: dict) -> str:
    """An answer as text, a line for each value."""
    if "shown" in answer:
        return "\n".join(map(text, answer["shown"]))
    return answer.get("error") or answer["crash"]


def excuse(program: Program, theirs: dict, ours: dict) -> str | None:
    """The reason of the first rule that holds, None where none does."""
    return next((rule.reason for rule in RULES if rule.holds(program, theirs, ours)), None)
