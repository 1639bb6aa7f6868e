"""The contestants in Keras, on JAX."""

import jax
import keras


def perceptron(sizes: tuple[int, ...], weights: list, activation: str) -> keras.Sequential:
    """Dense layers with these weights (m, k), activations between them, and scores at the end."""
    net = keras.Sequential([keras.Input((sizes[0],))])
    for units in sizes[1:-1]:
        net.add(keras.layers.Dense(units, activation=activation))
    net.add(keras.layers.Dense(sizes[-1]))
    for layer, w in zip(net.layers, weights):
        layer.set_weights([w.T, 0 * w[:, 0]])
    return net


def compile_for(net: keras.Sequential, rate: float, device: str) -> None:
    """Steps of SGD on the cross entropy, compiled; products in float32, as in PyTorch."""
    if device == "gpu":
        jax.config.update("jax_default_matmul_precision", "highest")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    net.compile(optimizer=keras.optimizers.SGD(rate), loss=loss, jit_compile=True)
