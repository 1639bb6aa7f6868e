"""One training step of a transformer's block: this library's layers, and Gluon's own."""

from __future__ import annotations

from layers import DenseBlock, LayerNormBlock, MultiHeadAttention
from layers.engine import gluon, nd

from ..data import RATE, transformer
from ..worker import Entry
from . import place
from .steps import train

nn = gluon.nn


class Attention(gluon.HybridBlock):
    """Attention to itself of Gluon's own layers and operators, with the whole matrix of scores."""

    def __init__(self, units: int, heads: int):
        super().__init__()
        self.heads, self.scale = heads, (units // heads) ** -0.5
        with self.name_scope():
            self.query, self.key, self.value, self.out = (
                nn.Dense(units, flatten=False, in_units=units) for _ in range(4)
            )

    def hybrid_forward(self, F, x):
        q, k, v = (self.split(F, part(x)) for part in (self.query, self.key, self.value))
        p = F.softmax(F.batch_dot(q * self.scale, k, transpose_b=True))
        y = F.reshape(F.batch_dot(p, v), shape=(-4, -1, self.heads, 0, 0))
        return self.out(F.reshape(F.transpose(y, axes=(0, 2, 1, 3)), shape=(0, 0, -3)))

    def split(self, F, x):
        """(batch, length, units) as (batch heads, length, d)."""
        x = F.transpose(F.reshape(x, shape=(0, 0, -4, self.heads, -1)), axes=(0, 2, 1, 3))
        return F.reshape(x, shape=(-3, 0, 0))


class Block(gluon.HybridBlock):
    """x += attention(norm(x)), then x += down(gelu(up(norm(x))))."""

    def __init__(self, parts: str, units: int, heads: int):
        super().__init__()
        with self.name_scope():
            if parts == "blocks":
                self.attention = MultiHeadAttention(units, units, num_heads=heads)
                self.norm1, self.norm2 = LayerNormBlock(units), LayerNormBlock(units)
                self.up = DenseBlock(units, 4 * units, activation="gelu")
                self.down = DenseBlock(4 * units, units)
                return
            self.attention = Attention(units, heads)
            self.norm1, self.norm2 = (nn.LayerNorm(in_channels=units) for _ in range(2))
            self.up = nn.HybridSequential()
            self.up.add(nn.Dense(4 * units, flatten=False, in_units=units), nn.GELU())
            self.down = nn.Dense(units, flatten=False, in_units=4 * units)

    def hybrid_forward(self, F, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.up(self.norm2(x)))

    def layer(self, name: str):
        """The layer that has this weight."""
        of_attention = {"q": "query", "k": "key", "v": "value", "out": "out"}
        if name in of_attention:
            return getattr(self.attention, of_attention[name])
        found = getattr(self, name)
        return found[0] if isinstance(found, nn.HybridSequential) else found


class SquaredError(gluon.HybridBlock):
    def hybrid_forward(self, F, y, target):
        return F.mean(F.square(y - target), axis=(1, 2))


def build(variant: str, device: str, batch: int, length: int, units: int, heads: int) -> Entry:
    parts, how = variant.split()
    x, target, weights = transformer(batch, length, units)
    net, context = Block(parts, units, heads), place(device)
    net.initialize(ctx=context)
    for name, w in weights.items():
        net.layer(name).weight.set_data(nd.array(w))
    x, target = (nd.array(a, ctx=context) for a in (x, target))
    return train(how, net, SquaredError(), x, target, RATE)
