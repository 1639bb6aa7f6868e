"""Recurrent cells with convolutions in place of affine maps: their states are images."""

from __future__ import annotations

from ....base import ParameterError, integer_types
from ...rnn import HybridRecurrentCell

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


class _ConvCell(HybridRecurrentCell):
    """A cell whose maps are convolutions: W * x + b and R * h + c, of all gates.

    Parameters
    ----------
    input_shape : tuple of int
        The shape of x without the axis of the batch; 0 channels: the first call tells.
    hidden_channels : int
        The channels of h.
    i2h_kernel, h2h_kernel : int or tuple of int
        The sizes of W and of R; those of R are odd, and h keeps its size.
    i2h_pad : int or tuple of int
    i2h_dilate, h2h_dilate : int or tuple of int
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
        Of W and of R.
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
        Of b and of c.
    conv_layout : str
        Channels in front, as 'NCHW', or behind, 'NHWC'.
    activation : str, Block or callable
        In place of tanh.

    Inputs: x (n, *input_shape); a list of states (n, hidden_channels, ...), in the layout.
    Outputs: y in the shape of a state; a list of the states.

    Raises
    ------
    ParameterError
        A size of R is even.
    """

    axes: int
    gates = states = 1

    def __init__(
        self,
        input_shape,
        hidden_channels,
        i2h_kernel,
        h2h_kernel,
        i2h_pad=0,
        i2h_dilate=1,
        h2h_dilate=1,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        conv_layout=None,
        activation="tanh",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._hidden_channels, self._input_shape = hidden_channels, tuple(input_shape)
        self._conv_layout = conv_layout or ("NCW", "NCHW", "NCDHW")[self.axes - 1]
        self._activation = activation
        kernel, self._h2h_kernel = self._sizes(i2h_kernel), self._sizes(h2h_kernel)
        pad, dilate = self._sizes(i2h_pad), self._sizes(i2h_dilate)
        self._i2h_kernel, self._i2h_pad, self._i2h_dilate = kernel, pad, dilate
        self._h2h_dilate = self._sizes(h2h_dilate)
        if not all(size % 2 for size in self._h2h_kernel):
            raise ParameterError(
                f"{type(self).__name__}: h2h_kernel is {h2h_kernel}\n  expected odd sizes"
            )
        around = zip(self._h2h_kernel, self._h2h_dilate)
        self._h2h_pad = tuple(step * (size - 1) // 2 for size, step in around)
        self._channel_axis = self._conv_layout.index("C")
        spatial = list(self._input_shape)
        self._in_channels = spatial.pop(self._channel_axis - 1)
        grown = zip(spatial, pad, dilate, kernel)
        sizes = [size + 2 * p - d * (k - 1) for size, p, d, k in grown]
        self._state_shape = self._in_layout(hidden_channels, sizes)
        rows, inward = self.gates * hidden_channels, self._in_layout(self._in_channels, kernel)
        within = self._in_layout(hidden_channels, self._h2h_kernel)
        for name, shape, init in (
            ("i2h_weight", (rows, *inward), i2h_weight_initializer),
            ("h2h_weight", (rows, *within), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
            setattr(self, name, parameter)

    def _sizes(self, given) -> tuple[int, ...]:
        return (given,) * self.axes if isinstance(given, integer_types) else tuple(given)

    def _in_layout(self, channels: int, spatial) -> tuple[int, ...]:
        """A shape of channels and spatial sizes, in the order of the layout."""
        return (channels, *spatial) if self._channel_axis == 1 else (*spatial, channels)

    def _alias(self) -> str:
        return f"conv_{self._cell_name}"

    def state_info(self, batch_size: int = 0) -> list[dict]:
        """Shape and layout of each state."""
        info = {"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}
        return [info.copy() for _ in range(self.states)]

    def _maps(self, F, x, h, i2h_weight, h2h_weight, i2h_bias, h2h_bias) -> tuple:
        """W * x + b and R * h + c."""
        settings = {"num_filter": self.gates * self._hidden_channels, "layout": self._conv_layout}
        return (
            F.Convolution(
                x,
                i2h_weight,
                i2h_bias,
                kernel=self._i2h_kernel,
                stride=(1,) * self.axes,
                pad=self._i2h_pad,
                dilate=self._i2h_dilate,
                name=self._named("i2h"),
                **settings,
            ),
            F.Convolution(
                h,
                h2h_weight,
                h2h_bias,
                kernel=self._h2h_kernel,
                stride=(1,) * self.axes,
                pad=self._h2h_pad,
                dilate=self._h2h_dilate,
                name=self._named("h2h"),
                **settings,
            ),
        )

    def _split(self, F, maps, part: str):
        axis = self._channel_axis
        return F.split(maps, num_outputs=self.gates, axis=axis, name=self._named(part))

    def _activated(self, F, x, part: str | None = None):
        if not isinstance(self._activation, str):
            return self._activation(x)
        name = self._named(part) if part else None
        return F.Activation(x, act_type=self._activation, name=name)

    def __repr__(self) -> str:
        shape = self.i2h_weight.shape
        rows, columns = shape[0], shape[self._channel_axis]
        maps = f"{columns or None} -> {rows}"
        return f"{type(self).__name__}({maps}, {self._activation}, {self._conv_layout})"


class _ConvRNNCell(_ConvCell):
    """h' = tanh(W * x + b + R * h + c)."""

    _cell_name = "rnn"

    def hybrid_forward(self, F, inputs, states, **parameters):
        """The output and the states after one step."""
        x, h = self._maps(F, inputs, states[0], **parameters)
        y = self._activated(F, x + h, "out")
        return y, [y]


class _ConvLSTMCell(_ConvCell):
    """s' = σ(f) s + σ(i) tanh(g), h' = σ(o) tanh(s'), where i, f, g, o = W * x + b + R * h + c."""

    _cell_name, gates, states = "lstm", 4, 2

    def hybrid_forward(self, F, inputs, states, **parameters):
        """The output and the states after one step."""
        x, h = self._maps(F, inputs, states[0], **parameters)
        i, f, g, o = self._split(F, x + h, "slice")
        i, f, o = F.sigmoid(i), F.sigmoid(f), F.sigmoid(o)
        g = self._activated(F, g, "c")
        s = F.elemwise_add(f * states[1], i * g, name=self._named("state"))
        y = F.elemwise_mul(o, self._activated(F, s), name=self._named("out"))
        return y, [y, s]


class _ConvGRUCell(_ConvCell):
    """h' = (1 - σ(z)) tanh(W * x + b + σ(r) (R * h + c)) + σ(z) h, with gates r and z."""

    _cell_name, gates = "gru", 3

    def hybrid_forward(self, F, inputs, states, **parameters):
        """The output and the states after one step."""
        x, h = self._maps(F, inputs, states[0], **parameters)
        xr, xz, xn = self._split(F, x, "i2h_slice")
        hr, hz, hn = self._split(F, h, "h2h_slice")
        r, z = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
        n = self._activated(F, xn + r * hn, "h_act")
        y = F.elemwise_add((1.0 - z) * n, z * states[0], name=self._named("out"))
        return y, [y]


class Conv1DRNNCell(_ConvRNNCell):
    """Elman's cell with convolutions along one axis, h' = tanh(W * x + b + R * h + c).

    Parameters, inputs and outputs are those of `Conv2DLSTMCell`, with one state and one axis.
    """

    axes = 1


class Conv2DRNNCell(_ConvRNNCell):
    """Elman's cell with convolutions of images, h' = tanh(W * x + b + R * h + c).

    Parameters, inputs and outputs are those of `Conv2DLSTMCell`, with one state.
    """

    axes = 2


class Conv3DRNNCell(_ConvRNNCell):
    """Elman's cell with convolutions of volumes, h' = tanh(W * x + b + R * h + c).

    Parameters, inputs and outputs are those of `Conv2DLSTMCell`, with one state and three axes.
    """

    axes = 3


class Conv1DLSTMCell(_ConvLSTMCell):
    """An LSTM with convolutions along one axis (Shi et al., arXiv:1506.04214).

    Parameters, inputs and outputs are those of `Conv2DLSTMCell`, with one axis.
    """

    axes = 1


class Conv2DLSTMCell(_ConvLSTMCell):
    """An LSTM with convolutions of images (Shi et al., arXiv:1506.04214).

    s' = σ(f) s + σ(i) tanh(g), h' = σ(o) tanh(s'), where i, f, g, o = W * x + b + R * h + c.

    Parameters
    ----------
    input_shape : tuple of int
        The shape of x without the axis of the batch; 0 channels: the first call tells.
    hidden_channels : int
        The channels of h and s.
    i2h_kernel, h2h_kernel : int or tuple of int
        The sizes of W and of R; those of R are odd, and h keeps its size.
    i2h_pad : int or tuple of int
    i2h_dilate, h2h_dilate : int or tuple of int
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
        Of W and of R.
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
        Of b and of c.
    conv_layout : str
        Channels in front, as 'NCHW', or behind, 'NHWC'.
    activation : str, Block or callable
        In place of tanh.

    Inputs: x (n, *input_shape); a list of h and s, (n, hidden_channels, ...) in the layout.
    Outputs: h'; a list of h' and s'.
    """

    axes = 2


class Conv3DLSTMCell(_ConvLSTMCell):
    """An LSTM with convolutions of volumes (Shi et al., arXiv:1506.04214).

    Parameters, inputs and outputs are those of `Conv2DLSTMCell`, with three axes.
    """

    axes = 3


class Conv1DGRUCell(_ConvGRUCell):
    """A gated recurrent unit with convolutions along one axis.

    h' = (1 - σ(z)) tanh(W * x + b + σ(r) (R * h + c)) + σ(z) h, with gates r and z. Parameters,
    inputs and outputs are those of `Conv2DLSTMCell`, with one state and one axis.
    """

    axes = 1


class Conv2DGRUCell(_ConvGRUCell):
    """A gated recurrent unit with convolutions of images.

    h' = (1 - σ(z)) tanh(W * x + b + σ(r) (R * h + c)) + σ(z) h, with gates r and z. Parameters,
    inputs and outputs are those of `Conv2DLSTMCell`, with one state.
    """

    axes = 2


class Conv3DGRUCell(_ConvGRUCell):
    """A gated recurrent unit with convolutions of volumes.

    h' = (1 - σ(z)) tanh(W * x + b + σ(r) (R * h + c)) + σ(z) h, with gates r and z. Parameters,
    inputs and outputs are those of `Conv2DLSTMCell`, with one state and three axes.
    """

    axes = 3
