"""The executors of `mx.executor_manager`, for programs from before there was Module."""

import numpy as np
import pytest


@pytest.fixture
def net(mx):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def managed(mx, net, contexts, iterator, **options):
    from importlib import import_module

    kind = import_module(f"{mx.__name__}.executor_manager").DataParallelExecutorManager
    names = net.list_arguments()
    params = [name for name in names if "_" in name and name != "softmax_label"]
    return kind(net, contexts, iterator, names, params, [], **options)


@pytest.fixture
def iterator(mx):
    return mx.io.NDArrayIter(np.arange(12.0).reshape(4, 3), np.array([0, 1, 1, 0]), 4)


def test_a_batch_on_two_contexts(mx, net, iterator):
    manager = managed(mx, net, [mx.cpu(0), mx.cpu(1)], iterator, work_load_list=[1, 3])
    assert manager.slices == [slice(0, 1), slice(1, 4)] and manager.curr_execgrp is None
    values = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.array([0.0, 1.0])}
    manager.set_params(values, {})
    batch, accuracy = iterator.next(), mx.metric.Accuracy()
    manager.load_data_batch(batch)
    manager.forward(is_train=True)
    manager.backward()
    manager.update_metric(accuracy, batch.label)
    assert accuracy.get() == ("accuracy", 0.5)
    bias = [dy.asnumpy() for dy in manager.grad_arrays[1]]
    q = 1 / (1 + np.exp(1.0))  # of class 0, for which there are two of four examples
    np.testing.assert_allclose(sum(bias), [4 * q - 2, 2 - 4 * q], rtol=1e-5)
    assert [w.context for w in manager.param_arrays[0]] == [mx.cpu(0), mx.cpu(1)]
    manager.param_arrays[1][0][:] = 3
    manager.copy_to(values, {})
    assert values["fc_bias"].asnumpy().tolist() == [1.5, 2.0]  # the mean
    group = manager.execgrp
    assert group is manager.curr_execgrp and group.param_idx == [1, 2]
    assert [group.param_names, group.data_names, group.label_names, group.aux_names] == [
        ["fc_weight", "fc_bias"],
        ["data"],
        ["softmax_label"],
        [],
    ]
    assert group.data_arrays[0][1][0] == slice(1, 4) and len(group.train_execs) == 2


@pytest.mark.engine("torch")  # MXNet cannot share the data of buckets of other sizes
def test_buckets_share_parameters(mx):
    def net(key):
        x = mx.sym.sum(mx.sym.var("data"), axis=1, keepdims=True)
        x = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(x, name="softmax")

    def batch(key):
        shapes = {"provide_data": [("data", (2, key))], "provide_label": [("softmax_label", (2,))]}
        return mx.io.DataBatch(
            [mx.nd.ones((2, key))], [mx.nd.zeros((2,))], bucket_key=key, **shapes
        )

    source = mx.io.NDArrayIter(np.ones((2, 3)), np.zeros(2), 2)
    source.default_bucket_key = 3
    manager = managed(mx, net(3), [mx.cpu()], source, sym_gen=net)
    manager.set_params({"fc_weight": mx.nd.ones((2, 1)), "fc_bias": mx.nd.ones(2)}, {})
    for key in 3, 2:
        manager.load_data_batch(batch(key))
        manager.forward()
        executor = manager.curr_execgrp.train_execs[0]
        assert executor.arg_dict["data"].shape == (2, key)
        assert executor.arg_dict["fc_weight"].asnumpy().tolist() == [[1.0], [1.0]]
    assert manager.curr_execgrp is not manager.execgrp
    with pytest.raises(NotImplementedError):
        manager.install_monitor(mx.mon.Monitor(1))


def test_what_is_refused(mx, net, iterator):
    with pytest.raises(AssertionError):
        managed(mx, net, [mx.cpu()], iterator, work_load_list=[1, 2])
    with pytest.raises(ValueError):
        managed(mx, net, [mx.cpu()] * 9, iterator)
    with pytest.raises((AttributeError, AssertionError)):
        managed(mx, net, [mx.cpu()], iterator).forward()
