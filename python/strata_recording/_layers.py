# SPDX-License-Identifier: Apache-2.0
"""Which layer an operation belongs to: the module that is at work, forward by hooks and backward by the gradient
function that forward made. Operations of modules with modules inside are layers of their own ("layer1.0.add")."""
from __future__ import annotations

import re
import weakref
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch.nn.modules import module as hooks

_CAN_ASK_BACKWARD = hasattr(torch._C, "_current_autograd_node")
_NUMBER_OF_CLASS = re.compile(r"\d*$")


class Call(NamedTuple):
    """One call of a module."""

    path: str
    type: str
    is_leaf: bool
    number: int  # 0: the first call in this step


class Layer(NamedTuple):
    name: str
    type: str


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def plain_name(path: str) -> str:
    """Without what wrappers add."""
    return ".".join(part for part in path.split(".") if part != "_orig_mod")


def _without_wrappers(module: torch.nn.Module) -> torch.nn.Module:
    """What torch.compile, DataParallel and DistributedDataParallel were given."""
    while True:
        inner = getattr(module, "_orig_mod", None)
        if inner is None and type(module).__name__ in ("DataParallel", "DistributedDataParallel"):
            inner = module.module
        if not isinstance(inner, torch.nn.Module):
            return module
        module = inner


def _has_parameters(module: torch.nn.Module) -> bool:
    return next(module.parameters(), None) is not None


def _operation(name: str) -> str:
    """aten::add_.Tensor as the name of a layer: add."""
    return name.split("::")[-1].split(".")[0].strip("_")


class Layers:
    """Follows modules while it is entered."""

    def __init__(self) -> None:
        self.roots: List[torch.nn.Module] = []
        self.found_root: Callable[[torch.nn.Module], None] = self.add_root  # a module that nobody has called before
        self.on_root: Callable[[torch.nn.Module], None] = lambda root: None
        self.is_on_host = 0  # modules that prepare data, which no GPU sees
        self._prefixes: Dict[int, str] = {}  # of roots
        self._paths: Dict[int, str] = {}
        self._is_in_step = False
        self.is_recomputing = False  # forward runs again, for backward
        self._stack: List[Call] = []
        self._calls: Dict[Tuple[str, bool], int] = {}  # by path, and whether it is a call for backward
        self._by_sequence: Dict[int, Layer] = {}
        self._by_function: "weakref.WeakKeyDictionary[Any, Layer]" = weakref.WeakKeyDictionary()
        self._owned: Dict[Any, Call] = {}
        self._waiting: List[Dict[str, Any]] = []
        self._handles: List[Any] = []

    def __enter__(self) -> "Layers":
        self._handles = [hooks.register_module_forward_pre_hook(self._before),
                         hooks.register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *_: Any) -> None:
        for handle in self._handles:
            handle.remove()

    def begin_step(self) -> None:
        self._calls.clear()
        self._stack.clear()
        self._by_sequence.clear()
        self._owned.clear()
        self._is_in_step = True

    def add_root(self, root: torch.nn.Module) -> None:
        self.on_root(root)
        inner = _without_wrappers(root)
        if not self._is_in_step:  # a module around others may come after them; the names of the step are not known before
            parts = {id(part) for part in inner.modules()}
            self.roots = [one for one in self.roots if id(one) not in parts]
        self.roots.append(inner)
        self._name_roots()
        for path, module in root.named_modules():  # the wrappers, too
            self._paths.setdefault(id(module), self._prefixes[id(inner)].rstrip("."))

    def _name_roots(self) -> None:
        """The only network has its own names; of several, each has the name of its class in front."""
        known = set(self._prefixes.values()) if self._is_in_step else set()
        before = dict(self._prefixes) if self._is_in_step else {}
        trained = [one for one in self.roots if _has_parameters(one)]
        self._prefixes = before
        for root in self.roots:
            if id(root) in before:
                continue
            prefix, number = ("" if trained == [root] else type(root).__name__ + "."), 0
            while prefix in known:
                number += 1
                prefix = f"{type(root).__name__}_{number}."
            known.add(prefix)
            self._prefixes[id(root)] = prefix
        if not self._is_in_step:
            self._paths.clear()
        for root in self.roots:
            for path, module in root.named_modules():
                self._paths.setdefault(id(module), plain_name(self._prefixes[id(root)] + path).rstrip("."))

    def named(self, kind: str) -> Iterator[Tuple[str, torch.Tensor]]:
        """named_parameters or named_buffers of all roots, with the names that their layers have."""
        for root in self.roots:
            for path, one in getattr(root, kind)():
                yield plain_name(self._prefixes[id(root)] + path), one

    def depth(self) -> int:
        return len(self._stack)

    def unwind(self, depth: int) -> None:
        """Modules that have not returned, as an exception ended them."""
        del self._stack[depth:]

    def is_inside(self) -> bool:
        return bool(self._stack)

    def _before(self, module: torch.nn.Module, inputs: Any) -> None:
        if self.is_on_host:
            return
        if id(module) not in self._paths:
            if not self._stack:
                self.found_root(module)
            else:  # made while the network runs
                self._paths[id(module)] = f"{self._stack[-1].path}.{type(module).__name__}".lstrip(".")
        path = self._paths[id(module)]
        number = self._calls.get((path, self.is_recomputing), 0)
        self._calls[(path, self.is_recomputing)] = number + 1
        if not _CAN_ASK_BACKWARD and self._stack:
            self._own(inputs, self._stack[-1])
        is_leaf = next(iter(module.children()), None) is None
        self._stack.append(Call(path, type(module).__name__, is_leaf, number))

    def _after(self, module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if self.is_on_host:
            return
        path = self._paths.get(id(module))
        while self._stack and self._stack[-1].path != path:
            self._stack.pop()  # its forward ended by an exception
        if not self._stack:
            return
        call = self._stack.pop()
        if not _CAN_ASK_BACKWARD:
            self._own(output, call)

    def of_forward(self, operation: str) -> Layer:
        """The layer of an operation that runs now, in forward."""
        name = _operation(operation)
        if not self._stack:
            return Layer(name, name)
        call = self._stack[-1]
        if call.is_leaf and call.path:
            return Layer(call.path + (f"_{call.number}" if call.number else ""), call.type)
        return Layer(f"{call.path}.{name}".lstrip("."), name)

    def note_forward(self, layer: Layer) -> None:
        """The gradient function that goes with the operation at hand, if there is one, was numbered just before."""
        if _CAN_ASK_BACKWARD:
            self._by_sequence.setdefault(torch._C._autograd._get_sequence_nr() - 1, layer)

    @staticmethod
    def current_function() -> Any:
        return torch._C._current_autograd_node() if _CAN_ASK_BACKWARD else None

    def of_backward(self, function: Any) -> Optional[Layer]:
        return self._by_sequence.get(function._sequence_nr()) if function is not None else None

    # Before PyTorch 2.1 nothing tells which gradient function runs, but each can say that it has run.

    def _own(self, values: Any, call: Call) -> None:
        waiting = [tensor.grad_fn for tensor in _tensors(values) if tensor.grad_fn is not None]
        while waiting:
            function = waiting.pop()
            if function in self._owned or type(function).__name__ == "AccumulateGrad":
                continue
            self._owned[function] = call
            function.register_hook(lambda *_, of=function: self._has_run(of))
            waiting.extend(before for before, _ in function.next_functions if before is not None)

    def _has_run(self, function: Any) -> None:
        call = self._owned.get(function)
        if call is None:
            return
        layer = Layer(call.path + (f"_{call.number}" if call.number else ""), call.type)
        if not call.is_leaf or not call.path:
            name = _NUMBER_OF_CLASS.sub("", type(function).__name__).replace("Backward", "")
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
            layer = Layer(f"{call.path}.{name}".lstrip("."), name)
        for operation in self._waiting:
            operation["layer"] = layer
        self._waiting.clear()

    def wait_for_function(self, operation: Dict[str, Any]) -> None:
        """The layer of an operation of backward whose gradient function is not known yet."""
        if not _CAN_ASK_BACKWARD:
            self._waiting.append(operation)

    def own_rest(self, loss: Any) -> None:
        """Gradient functions outside of modules, before backward runs."""
        if not _CAN_ASK_BACKWARD:
            self._own(loss, Call("", "", False, 0))
