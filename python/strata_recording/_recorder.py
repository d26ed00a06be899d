# SPDX-License-Identifier: Apache-2.0
"""Sees every operation that PyTorch runs, and writes it down."""
from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

from ._layers import Layer, Layers
from ._lines import user_line
from ._storages import Storages
from ._values import Values, is_fake

_SIMPLE = (int, float, bool, str)
_WITH_MASKS = ("aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index",
               "aten::_unsafe_index_put")
# Classes of tensors that give way to ones without numbers: PyTorch's own, and those of parameters that have.
_PLAIN = ("Tensor", "Parameter", "Buffer", "_ReplacedParameter", "_ReplacedTensor")
# These make a tensor of numbers that the program gives.
_OF_NUMBERS = ("aten::lift_fresh", "aten::lift_fresh_copy")
# What Python asks of a tensor, and what autograd does itself where nobody watches.
_NO_WORK = ("prim::device", "aten::detach", "aten::detach_", "aten::size", "aten::stride", "aten::storage_offset", "aten::numel",
            "aten::dim", "aten::is_contiguous")


class Schema(NamedTuple):
    """What matters of an operation's signature."""

    name: str  # aten::add_
    overload: str
    arguments: Tuple[str, ...]
    writes: Tuple[bool, ...]  # by argument
    written: frozenset  # names of those
    may_hold_tensors: Tuple[bool, ...]


def _schema_of(func: Any) -> Schema:
    schema = func._schema
    writes = tuple(bool(a.alias_info is not None and a.alias_info.is_write) for a in schema.arguments)
    names = tuple(a.name for a in schema.arguments)
    return Schema(schema.name, schema.overload_name, names, writes,
                  frozenset(name for name, write in zip(names, writes) if write),
                  tuple("Tensor" in str(a.type) for a in schema.arguments))


def has_fake(value: Any) -> bool:
    """Whether a tensor without numbers is among these."""
    if isinstance(value, torch.Tensor):
        return is_fake(value)
    if isinstance(value, (tuple, list)):
        return any(has_fake(item) for item in value)
    return isinstance(value, dict) and any(has_fake(item) for item in value.values())


def _is_simple(value: Any) -> bool:
    return isinstance(value, _SIMPLE) or (isinstance(value, (tuple, list)) and all(isinstance(v, _SIMPLE) for v in value))


class Recorder(TorchDispatchMode):
    """Records while it is entered; what is recorded is in the lists."""

    def __init__(self, values: Optional[Values] = None) -> None:
        super().__init__()
        self.storages = Storages()
        self.layers = Layers()
        self.tensors: List[Dict[str, Any]] = []
        self.operations: List[Dict[str, Any]] = []
        self.is_updating = False
        self.is_in_backward = False
        self.is_paused = False
        self.keeps_host = False  # leaves alone what runs outside of modules on tensors of the host: preparing data
        self.is_placing = False  # something is made on the GPU, of numbers of the host
        self.around: Any = None  # a context for each operation, by its number: a profiler's range
        self.made_fake: Any = None  # makes a tensor of shapes of one with numbers
        self.roles: Dict[int, Tuple[str, str]] = {}  # by storage: kind and name
        self._values = values
        self._numbers: Dict[Any, int] = {}
        self._fakes: Dict[int, Any] = {}
        self._schemas: Dict[Any, Schema] = {}

    def begin_step(self) -> None:
        """What was recorded before is left out; what is alive stays known."""
        self.operations.clear()
        self.storages.ended()
        self.layers.begin_step()

    def tensor(self, tensor: torch.Tensor) -> int:
        storage, _ = self.storages.number(tensor)
        # Strides of a tensor say how it lies in memory, and whether two are the same view.
        shape, stride = tuple(tensor.shape), tuple(tensor.stride()) if tensor.layout == torch.strided else ()
        key = (storage, tensor.storage_offset() if stride or not shape else 0, shape, stride, tensor.dtype)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.tensors)
            self.tensors.append({"shape": [int(extent) for extent in shape], "stride": [int(s) for s in stride],
                                 "dtype": str(tensor.dtype).replace("torch.", ""), "storage": storage, "offset": int(key[1])})
        return number

    def note_role(self, tensor: torch.Tensor, kind: str, name: str) -> None:
        """What the memory behind a tensor is for; what it was first said to be counts."""
        self.roles.setdefault(self.storages.number(tensor)[0], (kind, name))

    def _numbered(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, (tuple, list)):
            return [self._numbered(item) for item in value]
        return None

    def __torch_dispatch__(self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func._schema.name.startswith("profiler::"):
            with no_dispatch():
                return func(*args, **kwargs)
        if self.is_paused:
            return func(*args, **kwargs)
        if self.keeps_host and self._is_on_host(args, kwargs):
            with no_dispatch():
                return func(*args, **kwargs)
        if func._schema.name in _NO_WORK:
            return func(*(args if self.made_fake is None else self._all_fake(args)), **kwargs)
        schema = self._schemas.get(func)
        if schema is None:
            schema = self._schemas[func] = _schema_of(func)
        if self.made_fake is not None and schema.name not in _OF_NUMBERS:
            args, kwargs = self._all_fake(args), self._all_fake(kwargs)
        number = len(self.operations)
        layer, function = self._layer(schema.name)
        instead = None
        if self._values is not None:
            instead = self._values.instead(schema.name, args)
            if schema.name in _WITH_MASKS:
                args = (args[0], self._values.indices(args[1]), *args[2:])
        if self.around is not None:
            with self.around(number):
                result = func(*args, **kwargs)
        elif instead is not None:
            result = instead()
        else:
            result = func(*args, **kwargs)
        if self._values is not None and instead is None:
            self._values.carry(func, schema, args, kwargs, result)
        self._write(schema, args, kwargs, result, layer, function)
        return result

    def _is_on_host(self, args: Any, kwargs: Any) -> bool:
        if self.layers.is_on_host:
            return True
        if self.is_placing or self.is_updating or self.is_in_backward or self.layers.is_inside():
            return False
        return not has_fake(args) and not has_fake(kwargs)

    def _all_fake(self, value: Any) -> Any:
        """Tensors that the user's code made before, or holds elsewhere than in modules."""
        if isinstance(value, torch.Tensor):
            if type(value).__name__ not in _PLAIN:
                return value
            known = self._fakes.get(id(value))
            if known is None:
                known = self._fakes[id(value)] = (value, self.made_fake(value))
            return known[1]
        if isinstance(value, (tuple, list)):
            return type(value)(self._all_fake(item) for item in value)
        if isinstance(value, dict):
            return {key: self._all_fake(item) for key, item in value.items()}
        return value

    def _layer(self, name: str) -> Tuple[Optional[Layer], Any]:
        if self.is_updating:
            return Layer("optimizer", "optimizer"), None
        function = self.layers.current_function()
        if function is not None or self.is_in_backward:
            if self.layers.is_recomputing or self.layers.is_inside():  # forward again, for backward
                layer = self.layers.of_forward(name)
                self.layers.note_forward(layer)
                return layer, None
            return self.layers.of_backward(function), function
        layer = self.layers.of_forward(name)
        self.layers.note_forward(layer)
        return layer, None

    def note(self, name: str, inputs: List[Any], outputs: List[torch.Tensor], arguments: Dict[str, Any],
             mutates: Tuple[torch.Tensor, ...] = (), layer: Optional[str] = None) -> None:
        """Writes down an operation that only GPUs have, whose results the caller makes; `layer` is its own, not that of the
        module at work."""
        where, function = self._layer(name) if layer is None else (Layer(layer, layer), None)
        schema = Schema(name, "", (), (), frozenset(), ())
        self._write(schema, tuple(inputs), {}, tuple(outputs), where, function, arguments)
        self.operations[-1]["mutates"] = [self.tensor(one) for one in mutates]

    def _write(self, schema: Schema, args: Tuple[Any, ...], kwargs: Dict[str, Any], result: Any, layer: Optional[Layer],
               function: Any, simple: Optional[Dict[str, Any]] = None) -> None:
        ended = self.storages.ended()
        inputs: List[Any] = []
        arguments: Dict[str, Any] = dict(simple or {})
        mutated: List[int] = []
        if schema.arguments:
            for i, name in enumerate(schema.arguments):
                value = args[i] if i < len(args) else kwargs.get(name)
                if schema.may_hold_tensors[i]:
                    numbered = self._numbered(value)
                    inputs.append(numbered)
                    if schema.writes[i] and numbered is not None:
                        mutated += numbered if isinstance(numbered, list) else [numbered]
                elif isinstance(value, torch.dtype):
                    arguments[name] = str(value).replace("torch.", "")
                elif value is not None and _is_simple(value):
                    arguments[name] = list(value) if isinstance(value, tuple) else value
        else:
            inputs = [self._numbered(value) for value in args]
        outputs = self._numbered(result if isinstance(result, (tuple, list)) else [result])
        flat = [one for output in outputs if output is not None for one in (output if isinstance(output, list) else [output])]
        in_backward = function is not None or self.is_in_backward
        operation: Dict[str, Any] = {
            "op": schema.name + ("." + schema.overload if schema.overload else ""),
            "pass": "update" if self.is_updating else "backward" if in_backward else "forward",
            "layer": layer, "inputs": inputs, "outputs": flat, "mutates": mutated, "arguments": arguments, "frees": ended,
        }
        if in_backward and not self.is_updating:
            if self.layers.is_recomputing or self.layers.is_inside():
                operation["pass"], operation["recomputed"] = "forward", True
            elif layer is None:
                self.layers.wait_for_function(operation)
        if operation["pass"] == "forward":
            operation["line"] = user_line()
        self.operations.append(operation)


@contextlib.contextmanager
def paused(recorder: Recorder) -> Iterator[None]:
    """What it sees meanwhile is left out."""
    before, recorder.is_paused = recorder.is_paused, True
    try:
        yield
    finally:
        recorder.is_paused = before
