# SPDX-License-Identifier: Apache-2.0
"""Where tensors are, for programs that speak of a GPU: what they put there has no numbers, what they prepare on the host
has. Until a recording begins (`is_recording`), everything stays on the host."""
from __future__ import annotations

import contextlib
import sys
from typing import Any, Callable, Iterator

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.data import DataLoader
from torch.utils._mode_utils import no_dispatch

from . import _no_gpu
from ._fake_modules import FakeModules
from ._lines import is_of_user
from ._patches import Patches
from ._recorder import Recorder, has_fake
from ._values import Values, is_fake, is_small, set_value, value_of

_FACTORIES = """
empty zeros ones full rand randn randint randperm normal arange range linspace logspace eye tensor as_tensor asarray scalar_tensor
empty_like zeros_like ones_like full_like rand_like randn_like randint_like empty_strided tril_indices triu_indices
""".split()
_METHODS = "new_tensor new_empty new_zeros new_ones new_full new_empty_strided".split()
_MOVES = ("non_blocking", "copy", "memory_format")  # what .to() may be told where the type stays


def is_gpu(device: Any) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return (isinstance(device, str) and device.startswith("cuda")) or type(device) is int


class Devices:
    """While it is entered, a GPU can be named everywhere."""

    def __init__(self, recorder: Recorder, modules: FakeModules, values: Values) -> None:
        self._recorder, self._modules, self._values = recorder, modules, values
        self._patches = Patches()
        self.is_recording = False
        self._names_gpu = False  # the program has put something there: what it takes back is a copy
        self._lies = 0  # code of PyTorch that asks whether a tensor is on a GPU, and works only there

    def __enter__(self) -> "Devices":
        _no_gpu.pretend(self._patches)
        for owner, names in ((torch, _FACTORIES), (torch.Tensor, _METHODS)):
            for name in names:
                if hasattr(owner, name):
                    self._patches.set(owner, name, self._factory(getattr(owner, name)))
        for name, call in (("to", self._to), ("cuda", self._cuda), ("cpu", self._cpu), ("numpy", self._numpy),
                           ("tolist", self._tolist), ("pin_memory", lambda before, tensor, *args: tensor)):
            self._patches.set(torch.Tensor, name, self._method(call, getattr(torch.Tensor, name)))
        self._patches.set(torch.Tensor, "__format__", self._method(self._format, torch.Tensor.__format__))
        self._patches.set(FakeTensor, "__repr__", lambda tensor: f"tensor(..., size={tuple(tensor.shape)})")
        self._patches.set(torch, "load", self._load(torch.load))
        self._patches.set(torch, "save", self._save(torch.save))
        for name, finite in (("isfinite", True), ("isnan", False), ("isinf", False)):
            for owner in (torch, torch.Tensor):
                self._patches.set(owner, name, self._finite(getattr(owner, name), finite))
        if hasattr(torch, "set_default_device"):
            before = torch.set_default_device
            self._patches.set(torch, "set_default_device", lambda device: before("cpu" if is_gpu(device) else device))
            self._default_of_context()
        # It would look for the functions of PyTorch that are others here.
        self._patches.set(torch.jit, "script", lambda what, *args, **kwargs: what)
        if hasattr(torch, "compile"):  # what it is given is recorded; what it makes of that is not known here
            self._patches.set(torch, "compile", lambda model=None, **options: model if model is not None else lambda one: one)
        if "tolist" in vars(FakeTensor):
            self._patches.set(FakeTensor, "tolist", self._method(self._tolist, torch._C._TensorBase.tolist))
        for name in ("to", "cuda", "cpu"):
            self._patches.set(torch.nn.Module, name, self._stays(getattr(torch.nn.Module, name)))
        self._patches.set(DataLoader, "__iter__", self._without_pins(DataLoader.__iter__))
        for name in ("device", "is_cuda"):
            self._patches.set(FakeTensor, name, self._place(name))
        return self

    def __exit__(self, *_: Any) -> None:
        self._patches.put_back()

    def _default_of_context(self) -> None:
        """`with torch.device("cuda"):` in versions that have it."""
        from torch.utils import _device
        before = _device.DeviceContext.__init__

        def begin(context: Any, device: Any) -> None:
            before(context, torch.device("cpu") if is_gpu(device) else device)
        self._patches.set(_device.DeviceContext, "__init__", begin)

    @staticmethod
    def _method(call: Callable[..., Any], before: Any) -> Any:
        def method(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            return call(before, tensor, *args, **kwargs)
        return method

    def _factory(self, before: Any) -> Any:
        def make(*args: Any, **kwargs: Any) -> Any:
            if not is_gpu(kwargs.get("device")):
                return before(*args, **kwargs)
            self._names_gpu = True
            kwargs["device"] = "cpu"
            with self._placing():
                return before(*args, **kwargs)
        return make

    @contextlib.contextmanager
    def _placing(self) -> Iterator[None]:
        was, self._recorder.is_placing = self._recorder.is_placing, True
        try:
            yield
        finally:
            self._recorder.is_placing = was

    def _to(self, before: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        device = kwargs.pop("device", None)
        if args and (isinstance(args[0], (str, torch.device)) or type(args[0]) is int or args[0] is None):
            device, args = args[0], args[1:]
        elif args and isinstance(args[0], torch.Tensor):
            device = "cuda" if is_fake(args[0]) else None
            args = (args[0].dtype, *args[1:])
        if is_gpu(device):
            tensor = self._moved(tensor)
        elif device is not None and torch.device(device).type == "cpu":
            tensor = self._back(tensor) if is_of_user(sys._getframe(2)) else tensor
        elif device is not None:
            kwargs["device"] = device
        is_only_a_move = not any(isinstance(arg, torch.dtype) for arg in args) and not (set(kwargs) - set(_MOVES))
        if is_only_a_move and not kwargs.get("memory_format") and not kwargs.get("copy"):
            return tensor
        return before(tensor, *args, **kwargs)

    def _stays(self, before: Any) -> Any:
        """Modules are on the GPU while a step is recorded. What they are moved to before, they learn tensor by tensor."""
        def move(module: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
            types = [one for one in (*args, *kwargs.values()) if isinstance(one, torch.dtype)]
            if not self.is_recording or not has_fake(list(module.parameters())):
                return before(module, *args, **kwargs)
            return before(module, *types) if types else module
        return move

    @staticmethod
    def _without_pins(before: Any) -> Any:
        def begin(loader: Any) -> Any:
            was, vars(loader)["pin_memory"] = loader.pin_memory, False
            try:
                return before(loader)
            finally:
                vars(loader)["pin_memory"] = was
        return begin

    def _cuda(self, before: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return self._moved(tensor)

    def _cpu(self, before: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return self._back(tensor)

    def _moved(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy from the host to the GPU. Parameters are where their modules are."""
        self._names_gpu = True
        if not self.is_recording or is_fake(tensor) or isinstance(tensor, torch.nn.Parameter) or self._recorder.layers.is_on_host:
            return tensor
        made = self._modules.argument(tensor)
        self._recorder.note("aten::_to_copy", [None], [made], {"device": "cuda"})
        return made

    def _back(self, tensor: torch.Tensor) -> torch.Tensor:
        is_there = is_fake(tensor) and self._names_gpu and self.is_recording
        if not is_there or self._recorder.layers.is_inside():  # where a tensor says that it is on the CPU
            return tensor
        self._recorder.note("aten::_to_copy", [tensor], [], {"device": "cpu"})
        return self._numbers_of(tensor)

    def _numbers_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor of the host with the numbers that are known, else ones."""
        value = value_of(tensor)
        with no_dispatch():
            if value is not None:
                return value.clone()
            self._values.assume("numbers of the network that the program takes back to the host are taken as 1")
            shape = tuple(int(extent) for extent in tensor.shape)
            return torch.ones(shape if is_small(tensor) else (), dtype=tensor.dtype, device="cpu").expand(shape)

    def _numpy(self, before: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return before(self._numbers_of(tensor) if is_fake(tensor) else tensor, *args, **kwargs)

    def _tolist(self, before: Any, tensor: torch.Tensor) -> Any:
        if not is_fake(tensor):
            return before(tensor)
        with no_dispatch():
            return before(self._numbers_of(tensor))

    @staticmethod
    def _format(before: Any, tensor: torch.Tensor, form: str) -> str:
        if is_fake(tensor) and tensor.dim() == 0:
            return format(tensor.item(), form)
        return before(tensor, form)

    @staticmethod
    def _load(before: Any) -> Any:
        def load(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
            with no_dispatch():
                return before(file, map_location if callable(map_location) else "cpu", *args, **kwargs)
        return load

    def _save(self, before: Any) -> Any:
        def save(*args: Any, **kwargs: Any) -> Any:
            if self.is_recording:
                self._values.assume("nothing is saved: there are no numbers")
                return None
            return before(*args, **kwargs)
        return save

    def _finite(self, before: Any, finite: bool) -> Any:
        def ask(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            result = before(tensor, *args, **kwargs)
            if is_fake(result) and is_small(result):
                with no_dispatch():
                    set_value(result, torch.full(tuple(result.shape), finite, dtype=torch.bool))
            return result
        return ask

    @contextlib.contextmanager
    def on_a_gpu(self) -> Iterator[None]:
        """Tensors say that they are on a GPU, to code of PyTorch, too."""
        self._lies += 1
        try:
            yield
        finally:
            self._lies -= 1

    def _place(self, name: str) -> Any:
        before = vars(FakeTensor).get(name) or getattr(torch._C._TensorBase, name)
        answer = torch.device("cuda", 0) if name == "device" else True

        def place(tensor: torch.Tensor) -> Any:
            if self.is_recording and not self._recorder.is_paused:
                if self._lies and name == "is_cuda":
                    return answer
                if not self._recorder.layers.is_inside() and is_of_user(sys._getframe(1)):
                    return answer
            return before.__get__(tensor)
        return property(place)
