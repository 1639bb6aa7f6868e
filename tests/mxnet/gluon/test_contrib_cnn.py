"""Convolutions that learn where to look."""

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd

cnn = gluon.contrib.cnn
PARTS = ("offset_weight", "offset_bias", "deformable_conv_weight", "deformable_conv_bias")


def made(name, **options):
    net = getattr(cnn, name)(4, (3, 3), padding=(1, 1), prefix="net_", **options)
    net.initialize(mx.init.Normal(0.5))
    return net, nd.array(np.random.RandomState(2).standard_normal((2, 3, 5, 7)))


def computed_offsets(net, x, filters):
    net(x)
    random = np.random.RandomState(1)
    net.offset_weight.set_data(nd.array(random.standard_normal((filters, 3, 3, 3)) * 0.2))
    net.offset_bias.set_data(nd.array(random.standard_normal(filters)))
    given = {"kernel": (3, 3), "pad": (1, 1)}
    weights = net.offset_weight.data(), net.offset_bias.data()
    return nd.Convolution(x, *weights, num_filter=filters, **given), given | {"num_filter": 4}


@pytest.mark.parametrize("name", ["DeformableConvolution", "ModulatedDeformableConvolution"])
def test_it_begins_as_a_convolution(name):
    net, x = made(name)
    y = net(x)
    weights = net.deformable_conv_weight.data(), net.deformable_conv_bias.data()
    plain = nd.Convolution(x, *weights, kernel=(3, 3), pad=(1, 1), num_filter=4)
    np.testing.assert_allclose(y.asnumpy(), plain.asnumpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("hybrid", [False, True])
def test_offsets_move_the_points(hybrid):
    net, x = made("DeformableConvolution")
    if hybrid:
        net.hybridize()
    computed, given = computed_offsets(net, x, 18)
    weights = net.deformable_conv_weight.data(), net.deformable_conv_bias.data()
    expected = nd.contrib.DeformableConvolution(x, computed, *weights, **given)
    with autograd.record():
        y = net(x)
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), expected.asnumpy(), 1e-5, 1e-5)
    assert abs(net.offset_weight.grad().asnumpy()).max() > 0.1


@pytest.mark.parametrize("hybrid", [False, True])
def test_points_have_weights(hybrid):
    net, x = made("ModulatedDeformableConvolution")
    if hybrid:
        net.hybridize()
    computed, given = computed_offsets(net, x, 27)
    offset = nd.slice_axis(computed, axis=1, begin=0, end=18)
    mask = 2 * nd.sigmoid(nd.slice_axis(computed, axis=1, begin=18, end=None))
    weights = net.deformable_conv_weight.data(), net.deformable_conv_bias.data()
    expected = nd.contrib.ModulatedDeformableConvolution(x, offset, mask, *weights, **given)
    np.testing.assert_allclose(net(x).asnumpy(), expected.asnumpy(), 1e-5, 1e-5)


def test_parameters():
    net, _ = made("DeformableConvolution")
    assert list(net.collect_params()) == [f"net_{part}" for part in PARTS]
    net, _ = made("ModulatedDeformableConvolution")
    assert list(net.collect_params()) == [f"net_{part}" for part in PARTS[2:] + PARTS[:2]]
    net, _ = made("DeformableConvolution", use_bias=False, offset_use_bias=False)
    assert list(net._collect_params_with_prefix()) == [PARTS[0], PARTS[2]]
    assert cnn.DeformableConvolution(4).name.startswith("deformable_conv")
    assert cnn.ModulatedDeformableConvolution(4).name.startswith("modulated_deformable_conv")


def test_groups_and_repr():
    options = {"strides": 2, "dilation": 2, "groups": 2, "num_deformable_group": 2}
    net = cnn.DeformableConvolution(4, (3, 3), **options, use_bias=False, activation="relu")
    net.initialize()
    assert net(nd.ones((1, 4, 9, 9))).shape == (1, 4, 3, 3)
    assert net.offset_weight.shape == (36, 2, 3, 3)
    assert repr(net).endswith(
        "4, kernel_size=(3, 3), stride=(2, 2), dilation=(2, 2), groups=2, bias=False, "
        "Activation(relu))"
    )


@pytest.mark.engine("torch")
def test_another_layout():
    with pytest.raises(ValueError, match="layout is 'NHWC', adj is None\n  expected NCHW"):
        cnn.DeformableConvolution(4, layout="NHWC")
