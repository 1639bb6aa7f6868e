"""Blocks as modules of PyTorch, and modules of PyTorch as Blocks.

A parameter is one memory with a leaf of each side on it, so that each has a gradient of its own:
`backward` of the Block's arrays writes `Parameter.grad()`, that of the module's tensors
`tensor.grad`. Whichever optimizer updates the memory, both sides see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from .. import _dtype, autograd, symbol
from .._graph.exported import as_torch, for_tracers
from .._op.conversions import Protected
from .._tensor import call_recorded, copy_if_aliased
from ..base import ArgumentError, ContextError, listed
from ..context import Context, current_context, from_device
from ..ndarray import NDArray
from ..ndarray._memory import VIEWED
from ._graph import Graph, graph_of, required_inputs
from ._nesting import BlockError, _regroup
from .block import Block, HybridBlock, SymbolBlock
from .parameter import Constant, Parameter

__all__ = ["BlockModule", "ModuleBlock", "from_torch"]


class BlockModule(torch.nn.Module):
    """A Block as a module of PyTorch, which `Block.to_torch` makes.

    It takes and gives tensors, nested as the Block's arrays are. Moving statistics are buffers;
    ``train()`` and ``eval()`` say whether it trains. A HybridBlock runs as its graph, of the last
    hybridized call where there was one; any other runs as its `forward`, by one thread at a time.

    `state_dict` and `load_state_dict` have the structural names, such as ``features.0.weight``. The
    module's own names, those of `named_parameters`, are ``p0``, ``p1`` and so on, since PyTorch
    writes them into programs; ``names`` has the structural name of each.

    Its parameters are in the Block's memory and have a gradient of their own, `tensor.grad`, for
    `torch.optim`; that of `backward` in `autograd.record` stays in `Parameter.grad()`. Each side
    sees what the other's optimizer does. ``to()``, ``half()`` and the like take the Block along;
    after the Block's own `cast`, `reset_ctx` or `initialize` the module has to be made anew. A copy
    has a copy of the Block.

    `torch.export` and `torch.onnx.export` take it, custom operators by their forward;
    `torch.export.export` needs ``strict=True`` where they compute in NumPy. Under `torch.compile`
    they run as they are; ``hybridize(backend=...)`` compiles them too.
    """

    def __init__(self, block: Block):
        super().__init__()
        self.block = block
        self._graph = _graph(block)
        self.names: dict[str, str] = {}
        first: dict[Parameter, str] = {}  # a shared Parameter has several names
        for i, (name, parameter) in enumerate(block._collect_params_with_prefix().items()):
            own = f"p{i}"
            tensor = (
                getattr(self, first[parameter]) if parameter in first else self._leaf(parameter)
            )
            if isinstance(tensor, torch.nn.Parameter):
                self.register_parameter(own, tensor)
            else:
                self.register_buffer(own, tensor)
            self.names[own] = name
            first.setdefault(parameter, own)
        # What is shared: the Parameter, its array, and the name of the tensor.
        self._shared = [(p, p.data(), own) for p, own in first.items()]
        self._context = self._shared[0][1].context if self._shared else None
        if self._graph is not None:
            sources, program = self._graph.sources, self._graph.program
            self._sources = [s if isinstance(s, int) else first[s] for s in sources]
            self._functions = [for_tracers(program, training) for training in (False, True)]

    def _leaf(self, parameter: Parameter) -> torch.Tensor:
        """A tensor in the memory of a parameter, with a gradient of its own, or a buffer."""
        if len(parameter.list_ctx()) > 1:
            raise ContextError(
                f"to_torch: parameter {parameter.name!r} is on {parameter.list_ctx()}\n"
                "  expected one context; reset_ctx() moves"
            )
        array = parameter.data()
        array._share()
        tensor = array._tensor.detach()
        if not parameter._differentiable or isinstance(parameter, Constant):
            return tensor
        if self._graph is not None:
            states = [self._graph.sources[i] for i in self._graph.program.states]
            if any(parameter is state for state in states):
                return tensor
        asks = parameter.grad_req != "null" and tensor.is_floating_point()
        return torch.nn.Parameter(tensor, requires_grad=asks)

    # Its state dict

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        found: dict[str, torch.Tensor] = {}
        super()._save_to_state_dict(found, "", keep_vars)
        for own in dict.fromkeys([*self.names, *found]):
            if own in found:
                destination[prefix + self.names.get(own, own)] = found[own]

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        own_names = [*self._parameters, *self._buffers]
        names = {prefix + own: prefix + self.names.get(own, own) for own in own_names}
        given = {own: state_dict[name] for own, name in names.items() if name in state_dict}
        missing: list[str] = []
        wrong: list[str] = []
        super()._load_from_state_dict(given, prefix, local_metadata, strict, missing, [], wrong)
        missing_keys += [names[own] for own in missing]
        error_msgs += [_named(message, names) for message in wrong]
        if strict:
            known = {*names.values()}
            unexpected_keys += [
                name
                for name in state_dict
                if name.startswith(prefix)
                and name not in known
                and name.removeprefix(prefix).partition(".")[0] not in self._modules
            ]

    def __reduce__(self):  # a copy shares its memory with a copy of the Block
        return BlockModule, (self.block,), {"training": self.training}

    def _apply(self, fn, recurse: bool = True):
        """What `to`, `cuda`, `half` do; the Block takes over the memory that they make."""
        super()._apply(fn, recurse)
        for i, (parameter, array, own) in enumerate(self._shared):
            tensor = getattr(self, own).detach()
            if tensor.data_ptr() != array._tensor.data_ptr():
                there = array.context
                if tensor.device != there.device:
                    there = from_device(tensor.device)
                new = NDArray(tensor, there)
                new._held = VIEWED
                parameter._dtype = _dtype.to_numpy(tensor.dtype)
                parameter._set([new])
                self._shared[i] = parameter, new, own
                self._context = there
        return self

    # Calling it

    def forward(self, *args):
        """The outputs for tensors, both nested in lists as the Block's are."""
        leaves, nesting = tree_flatten(args)
        given = [a for a in leaves if isinstance(a, torch.Tensor)]
        if not given:
            raise BlockError(f"{self._name}: no input is a tensor\n  expected at least one")
        context = self._context or from_device(given[0].device)
        if torch.compiler.is_compiling() and self._graph is not None:
            return self._run_graph(given, context)
        self._check()
        with as_torch(self.training):
            if self._graph is not None:
                return self._run_graph(given, context)
            arrays = [NDArray(a, context) if isinstance(a, torch.Tensor) else a for a in leaves]
            with self._lent():
                y = self.block(*tree_unflatten(arrays, nesting))
            return tree_map(lambda a: a._tensor if isinstance(a, NDArray) else a, y)

    @property
    def _name(self) -> str:
        return f"to_torch() of {type(self.block).__name__} {self.block.name!r}"

    def _run_graph(self, given: list[torch.Tensor], context: Context) -> Any:
        graph = self._graph
        if len(given) != len(graph.inputs):
            names = listed(v.name for v in graph.inputs)
            raise ArgumentError(f"{self._name}: {len(given)} tensors\n  expected {names}")
        tensors = [given[s] if isinstance(s, int) else getattr(self, s) for s in self._sources]
        results = self._functions[self.training](
            *tensors, training=self.training, context=context, device=context.device
        )
        return _regroup(list(results), graph.format) if graph.format else results[0]

    @contextmanager
    def _lent(self) -> Iterator[None]:
        """The Block's arrays hold the tensors of the module."""
        before = [array._tensor for _, array, _ in self._shared]
        try:
            for _, array, own in self._shared:
                array._tensor = getattr(self, own)
            yield
        finally:
            for (_, array, _), tensor in zip(self._shared, before):
                array._tensor = tensor

    def _check(self) -> None:
        """Whether the Block still has the arrays that are shared."""
        for parameter, array, _ in self._shared:
            if not parameter._data or parameter._data[0] is not array:
                raise BlockError(
                    f"{self._name}: parameter {parameter.name!r} was cast, moved or initialized "
                    "again since\n  expected to_torch() after it"
                )


def _named(message: str, names: dict[str, str]) -> str:
    """Return a message of PyTorch with the structural name of the tensor that it is about."""
    for own, name in names.items():
        if f" {own}:" in message or f'"{own}"' in message:
            return message.replace(own, name, 1)
    return message


def _graph(block: Block) -> Graph | None:
    """The graph of a HybridBlock; None for a Block that computes step by step."""
    if not isinstance(block, HybridBlock):
        return None
    if type(block).forward not in (HybridBlock.forward, SymbolBlock.forward):
        return None
    if block._graphs:
        return next(reversed(block._graphs.values()))
    return graph_of(block, tuple([symbol.var(name) for name in required_inputs(block)]))


class ModuleBlock(Block):
    """A module of PyTorch as a Block; see `from_torch`."""

    def __init__(self, module: torch.nn.Module, prefix: str | None = None, params=None):
        self.module = module
        super().__init__(prefix, params)
        who = f"{type(self).__name__} {self.name!r}"
        self._protected = {training: Protected(who) for training in (False, True)}
        self._buffers = {name for name, _ in module.named_buffers(remove_duplicate=False)}
        made: dict[int, Parameter] = {}
        for name, tensor in _named_tensors(module):
            if id(tensor) not in made:
                made[id(tensor)] = self._parameter(name, tensor)
            self._reg_params[name] = made[id(tensor)]

    def _alias(self) -> str:
        return type(self.module).__name__.lower()

    def _parameter(self, name: str, tensor: torch.Tensor) -> Parameter:
        if is_lazy(tensor):
            raise ArgumentError(
                f"from_torch: {name} of {type(self.module).__name__} has no shape yet\n"
                "  expected one call of the module before"
            )
        dtype = _dtype.to_numpy(tensor.dtype)
        req = "write" if tensor.requires_grad else "null"
        with self.name_scope():
            parameter = self.params.get(
                name.replace(".", "_"), shape=tuple(tensor.shape), dtype=dtype, grad_req=req
            )
        if parameter._data is None:
            array = NDArray(tensor.detach(), from_device(tensor.device))
            array._held = VIEWED
            parameter._set([array])
        return parameter

    def __repr__(self) -> str:
        inner = repr(self.module).replace("\n", "\n  ")
        return f"{type(self).__name__}(\n  {inner}\n)"

    def cast(self, dtype) -> None:
        """Convert all parameters of floats to another dtype; counters stay what they are."""
        for parameter in self._reg_params.values():
            if np.issubdtype(parameter.dtype, np.floating):
                parameter.cast(dtype)

    def forward(self, *args):
        """What the module gives, in NDArrays for NDArrays."""
        context = next((a.context for a in tree_flatten(args)[0] if isinstance(a, NDArray)), None)
        context = context or current_context()
        arrays = {name: p.data(context) for name, p in self._reg_params.items()}
        tensors = {
            name: a._state_tensor() if name in self._buffers else a._tensor
            for name, a in arrays.items()
        }
        training = autograd.is_training()
        if self.module.training is not training:
            self.module.train(training)
        leaves, form = tree_flatten(args)
        given = {i: a._tensor if isinstance(a, NDArray) else a for i, a in enumerate(leaves)}
        now = dict(tensors)

        def call(given: dict) -> Any:
            values = tree_unflatten([given[i] for i in range(len(given))], form)
            return torch.func.functional_call(self.module, now, values)

        y = call_recorded(self._protected[training], given, call)
        for name, tensor in now.items():  # a buffer may have been set, not written to
            if tensor is not tensors[name]:
                arrays[name]._state_tensor().copy_(tensor)
        leaves, nesting = tree_flatten(y)
        inputs = [a for a in given.values() if isinstance(a, torch.Tensor)]
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        own = call_recorded(
            copy_if_aliased, [leaves[i] for i in places], [*inputs, *tensors.values()]
        )
        for i, tensor in zip(places, own):
            leaves[i] = NDArray(tensor, context)
        return tree_unflatten(leaves, nesting)


def _named_tensors(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def from_torch(module: torch.nn.Module, prefix: str | None = None, params=None) -> ModuleBlock:
    """A Block around a module of PyTorch, to be trained with `autograd.record` and a `Trainer`.

    Its parameters and buffers become `Parameter`s in the same memory, without a copy, named as in
    the module's `state_dict`, buffers and what does not require a gradient with `grad_req` 'null'.
    The module is set to train or to eval as `autograd.is_training` says. Casting the Block, or
    moving it to other contexts, gives it memory of its own. It cannot be hybridized. It is called
    with NDArrays where the module is with tensors, and gives NDArrays for the module's tensors.

    Parameters
    ----------
    module : torch.nn.Module
    prefix, params : optional
        As for a `Block`.

    Raises
    ------
    ArgumentError
        `module` is no module, or a parameter of it has no shape yet.
    DTypeError
        A parameter is of a type that NDArrays have not.
    """
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(
            f"from_torch: {module!r} ({type(module).__name__})\n"
            "  expected a torch.nn.Module; nd.from_torch takes tensors"
        )
    return ModuleBlock(module, prefix, params)
