"""Executors of graphs of which some arguments are sparse: they run node by node."""

from __future__ import annotations

from functools import partial

from .. import autograd
from .._graph.program import Program, shown_values, values_of_all
from ..executor import Executor
from ..ndarray import NDArray
from . import by_arrays
from .array import BaseSparseNDArray, wrap

__all__ = ["SparseExecutor"]


class SparseExecutor(Executor):
    """An executor whose outputs, as its arguments, may be sparse."""

    def forward(self, is_train: bool = False, **kwargs) -> list[NDArray]:
        """Compute the outputs; see `Executor.forward`."""
        for name, value in kwargs.items():
            self._assign(self.arg_dict, name, value)
        outputs = self._compute(recording=is_train, training=is_train)
        given = [a._stored for a in self.arg_dict.values() if isinstance(a, BaseSparseNDArray)]
        self._outputs = [
            y.copy() if y._is_sparse and any(y._stored is each for each in given) else y.detach()
            for y in outputs
        ]
        return self.outputs

    def _compute(self, recording: bool, training: bool) -> list[NDArray]:
        self._leaves, self._node_inputs = {}, {}
        arguments = {name: self._array(name, recording) for name in self.arg_dict}
        arrays = [
            (self.aux_dict if i in self._program.states else arguments)[name]
            for i, name in enumerate(self._program.inputs)
        ]
        with autograd._RecordingStateScope(recording, training):
            if self._monitor:
                results = self._compute_monitored(arrays)
            else:
                results = by_arrays.compute(self._program, arrays, self._ctx)
        self._recorded = [y._autograd_tensor for y in results]
        return results

    def _compute_monitored(self, arrays: list[NDArray]) -> list[NDArray]:
        """Compute the outputs of all nodes; show them, and return those of the graph."""
        callback, everything = self._monitor
        if self._of_all is None:
            self._of_all = Program(self._optimized.get_internals()._entries)
        of_all = self._of_all
        run = partial(by_arrays.compute, of_all, context=self._ctx)
        found = values_of_all(self._program, of_all, run, arrays)
        for _, name, entry in shown_values(of_all, everything):
            callback(name.encode(), found[entry].detach())
        sources = {entry for node in of_all.nodes for entry in node.inputs}
        tensors = {entry: found[entry]._autograd_tensor for entry in sources}
        self._node_inputs = {entry: x for entry, x in tensors.items() if x.requires_grad}
        return [found[entry] for entry in self._optimized._entries]

    def _show_gradients(self, gradients) -> None:
        super()._show_gradients([g if g is None else g.to_dense() for g in gradients])

    def _array(self, name: str, recording: bool) -> NDArray:
        """An argument as the nodes see it; one that gets a gradient as a variable of this call."""
        array = self.arg_dict[name]
        if isinstance(array, BaseSparseNDArray):  # the nodes keep nothing of it
            array = wrap(array._stored, array.context)
        else:
            array = array.detach()
        tensor = array._autograd_tensor
        wanted = self._grad_req.get(name) != "null"
        if recording and tensor.is_floating_point() and (wanted or self._monitor):
            tensor = tensor.detach().requires_grad_()
            if wanted:
                self._leaves[name] = tensor
            if isinstance(array, BaseSparseNDArray):
                array = wrap(array._stored, array.context, tensor)
            else:
                array = NDArray(tensor, array.context)
        return array
