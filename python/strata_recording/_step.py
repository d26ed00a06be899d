# SPDX-License-Identifier: Apache-2.0
"""Records a step of the user's own: a function, or what a script does between two steps of its optimizer. Nothing is known
before it runs: modules are found when they are called, optimizers when they step."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional

import torch
from torch.nn.parameter import UninitializedTensorMixin
from torch.utils._mode_utils import no_dispatch

from ._alive import AsBefore, alive, top_of
from ._collectives import Collectives
from ._devices import Devices
from ._lines import user_line
from ._patches import Patches
from ._recorder import has_fake
from ._recording import Recording
from ._refusal import Refusal, refusal_of
from ._scalers import Scalers


class _Call(NamedTuple):
    """A call of a network from outside of all networks."""

    root: int
    samples: int
    is_of_data: bool  # it reads what was not computed in this step


def has_parameters(module: torch.nn.Module) -> bool:
    return next(module.parameters(), None) is not None


def _first_tensor(values: Any) -> Optional[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        return values if values.dim() else None
    items = values.values() if isinstance(values, Mapping) else values if isinstance(values, (tuple, list)) else ()
    return next((found for found in map(_first_tensor, items) if found is not None), None)


class StepRecording:
    """On tensors without numbers, or (`real`) on those that are there."""

    def __init__(self, real: bool = False) -> None:
        self.recording = Recording(real, replaces_kept=True)
        self.real = real
        recorder = self.recording.recorder
        self.devices = None if real else Devices(recorder, self.recording.modules, self.recording.values)
        self.collectives = Collectives(recorder)
        self._calls: List[_Call] = []
        self._is_in_step = False
        self._inputs = 0

    @contextlib.contextmanager
    def around_program(self) -> Iterator[None]:
        """In force while networks are still built, with numbers: a GPU can be named, regions of autocast are noted."""
        with self.devices, self.recording.autocast, self.collectives:  # type: ignore[union-attr]
            yield

    @contextlib.contextmanager
    def in_force(self, is_around: bool = False) -> Iterator[None]:
        """`is_around`: around_program() is in force."""
        patches = Patches()
        with contextlib.ExitStack() as stack:
            if not self.real and not is_around:
                stack.enter_context(self.around_program())
            recorder = self.recording.recorder
            stack.enter_context(self.recording.in_force(autocast=False))
            recorder.layers.found_root = lambda module: recorder.layers.add_root(top_of(module))
            stack.callback(patches.put_back)
            if self.real:
                patches.set(torch.autocast, "__enter__", self._noting(torch.autocast.__enter__))
            else:
                self._begin_without_numbers(stack, patches)
            yield

    def _begin_without_numbers(self, stack: contextlib.ExitStack, patches: Patches) -> None:
        recorder, modules = self.recording.recorder, self.recording.modules
        stack.enter_context(Scalers(recorder, self.devices, self.recording.autocast))  # type: ignore[arg-type]
        patches.set(torch.nn.Module, "__call__", self._called(torch.nn.Module.__call__))
        before = UninitializedTensorMixin.materialize
        patches.set(UninitializedTensorMixin, "materialize", lambda *args, **kwargs: self._materialized(before, args, kwargs))
        self._clip_lists(patches)
        self._run_eagerly(stack)
        recorder.keeps_host = True
        recorder.made_fake = self._from_outside
        self.devices.is_recording = self.collectives.is_recording = True  # type: ignore[union-attr]
        for module in alive(torch.nn.Module):
            if "_parameters" in vars(module) and has_parameters(module):
                modules.replace_part(module)  # type: ignore[union-attr]
        for optimizer in alive(torch.optim.Optimizer):
            for group in vars(optimizer).get("param_groups", ()):
                for one in group["params"]:
                    modules.of(one)  # type: ignore[union-attr]

    @staticmethod
    def _materialized(before: Any, args: Any, kwargs: Any) -> None:
        with no_dispatch():
            before(*args, **kwargs)

    @staticmethod
    def _clip_lists(patches: Patches) -> None:
        """Gradients are clipped by lists of tensors, as on a GPU, where the version can."""
        import importlib
        place = importlib.import_module("torch.nn.utils.clip_grad")
        for name in ("_has_foreach_support", "_device_has_foreach_support"):
            if hasattr(place, name):
                patches.set(place, name, lambda *args, **kwargs: True)

    @staticmethod
    def _run_eagerly(stack: contextlib.ExitStack) -> None:
        """Compiled modules run as what the compiler was given."""
        for module in alive(torch.nn.Module):
            inner = vars(module).get("_modules", {}).get("_orig_mod")
            if inner is not None and "forward" in vars(module):
                stack.callback(vars(module).__setitem__, "forward", vars(module)["forward"])
                vars(module)["forward"] = inner
        if hasattr(getattr(torch, "compiler", None), "set_stance"):
            stack.enter_context(torch.compiler.set_stance("force_eager"))

    def _noting(self, enter: Any) -> Any:
        def entered(region: Any) -> Any:
            if region._enabled:
                self.recording.autocast.seen = region.fast_dtype
            return enter(region)
        return entered

    def _from_outside(self, value: torch.Tensor) -> torch.Tensor:
        """A tensor that the program has made before, or prepared on the host."""
        if isinstance(value, torch.nn.Parameter):
            return self.recording.modules.of(value)  # type: ignore[union-attr]
        made = self.recording.modules.argument(value)  # type: ignore[union-attr]
        self._inputs += 1
        self.recording.recorder.note_role(made, "input", f"input_{self._inputs}")
        return made

    def _called(self, before: Any) -> Any:
        layers, modules = self.recording.recorder.layers, self.recording.modules

        def call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if layers.is_on_host or layers.is_inside():
                return before(module, *args, **kwargs)
            if not has_parameters(module) and not has_fake(args) and not has_fake(kwargs):
                layers.is_on_host += 1  # a transform of data
                try:
                    return before(module, *args, **kwargs)
                finally:
                    layers.is_on_host -= 1
            if type(module).__name__ == "FullyShardedDataParallel":
                raise Refusal(f"{user_line()} calls a module in FullyShardedDataParallel, which a recording does not know; "
                              "record the module without it, on one device")
            args, kwargs = modules.argument(args), modules.argument(kwargs)  # type: ignore[union-attr]
            self._note_call(module, args, kwargs)
            return before(module, *args, **kwargs)
        return call

    def _note_call(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        recorder = self.recording.recorder
        if not self._is_in_step or recorder.is_in_backward or not has_parameters(module):
            return
        first = _first_tensor([args, kwargs])
        if first is not None:
            self._calls.append(_Call(id(module), int(first.shape[0]), hasattr(first, "_strata_is_outside")))
        for name, value in [*((f"input_{i}", one) for i, one in enumerate(args)), *kwargs.items()]:
            if isinstance(value, torch.Tensor) and hasattr(value, "_strata_is_outside"):
                number, is_new = recorder.storages.number(value)
                if is_new:  # else it was copied to the GPU in this step
                    recorder.note_role(value, "input", name)

    def begin_step(self) -> None:
        """What ran before warmed up; what runs from now on is the step."""
        self.recording.recorder.begin_step()
        self.recording.note_modules()
        if self.recording.values is not None:
            self.recording.values.assumed.clear()
        self._calls.clear()
        self._is_in_step = True

    def _samples(self) -> int:
        """Those of every call of the network that is called first: several where gradients are accumulated."""
        calls = [one for one in self._calls if one.root == self._calls[0].root]
        of_data = [one for one in calls if one.is_of_data]
        return sum(one.samples for one in of_data or calls) or 1

    def document(self, source: str, name: Optional[str] = None, samples: Optional[int] = None) -> Dict[str, Any]:
        recorder = self.recording.recorder
        networks = [type(root).__name__ for root in recorder.layers.roots if has_parameters(root)]
        training = any(one["pass"] != "forward" for one in recorder.operations)
        return self.recording.document(name=name or "+".join(networks[:3]) or "step", training=training,
                                       samples=samples or self._samples(), source=source)


def record_function(step: Callable[[], Any], *, real: bool = False, name: Optional[str] = None,
                    samples: Optional[int] = None, around: Any = None) -> Dict[str, Any]:
    """One call of a function that does what its user wants, after one that warms up. Everything that it changes is as before
    afterwards; with `real` it really runs. `around` is a context for each operation of the step that counts."""
    recording = StepRecording(real)
    source = f"PyTorch step {getattr(step, '__module__', '')}.{getattr(step, '__qualname__', type(step).__name__)}"
    before = None if real else AsBefore()
    try:
        with recording.in_force():
            step()
            recording.begin_step()
            recorder = recording.recording.recorder
            recorder.around = around
            step()
            recorder.around = None
            if not recorder.operations:
                raise Refusal(f"{source}: it ran nothing of PyTorch on a network; the step has to call its modules")
            return recording.document(source, name, samples)
    except Exception as error:
        if real:
            raise
        raise refusal_of(error, source) from error
    finally:
        if before is not None:
            before.put_back()
