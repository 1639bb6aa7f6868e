"""The names of operators in ``mx.npx`` that are the same in ``mx.nd``: aliases, as in MXNet."""

from __future__ import annotations

from .registry import get, rename

# The name in `npx`: by default that in the table.
ROWS = """
Activation=activation BatchNorm=batch_norm Cast=cast Convolution=convolution
Deconvolution=deconvolution Dropout=dropout Embedding=embedding Flatten=batch_flatten
FullyConnected=fully_connected LayerNorm=layer_norm LeakyReLU=leaky_relu Pooling=pooling RNN=rnn
ROIPooling=roi_pooling SequenceMask=sequence_mask
_contrib_MultiBoxDetection=multibox_detection _contrib_MultiBoxPrior=multibox_prior
_contrib_MultiBoxTarget=multibox_target _contrib_arange_like=arange_like
_image_adjust_lighting _image_crop _image_flip_left_right _image_flip_top_bottom _image_normalize
_image_random_brightness _image_random_color_jitter _image_random_contrast
_image_random_flip_left_right _image_random_flip_top_bottom _image_random_hue
_image_random_lighting _image_random_saturation _image_resize _image_to_tensor
batch_dot erf erfinv gamma gammaln gather_nd log_softmax one_hot pick relu reshape_like
shape_array sigmoid slice smooth_l1 softmax topk
"""
for row in ROWS.split():
    name, _, short = row.partition("=")
    rename(get(name), f"_npx_{short or name}")

# MXNet's names for the same in graphs with arrays of ``mx.np``.
for name, alias in (
    ("Cast", "_npi_cast"),
    ("_random_randint", "_npi_random_randint"),
    ("_rnn_param_concat", "_npi_rnn_param_concat"),
    ("_shuffle", "_npi_shuffle"),
    ("_slice_assign", "_npi_slice_assign"),
    ("_slice_assign_scalar", "_npi_slice_assign_scalar"),
    ("_scatter_set_nd", "_npi_scatter_set_nd"),
    ("gather_nd", "_npi_gather_nd"),
    ("_histogram", "_npi_histogram"),
):
    rename(get(name), alias)
