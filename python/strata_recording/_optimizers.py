# SPDX-License-Identifier: Apache-2.0
"""Optimizers while a step is recorded: what they run is the update, and what they hold are parameters without numbers."""
from __future__ import annotations

import collections
import contextlib
import importlib
from typing import Any, Callable, Dict, Iterator, Optional

import torch
from torch.utils._mode_utils import no_dispatch

from ._alive import alive
from ._fake_modules import FakeModules
from ._patches import Patches
from ._recorder import Recorder
from ._values import is_small, set_value


def subclasses(of: type) -> Iterator[type]:
    for one in of.__subclasses__():
        yield one
        yield from subclasses(one)


class Optimizers:
    """Watches the steps of every optimizer while it is entered."""

    def __init__(self, recorder: Recorder, modules: Optional[FakeModules]) -> None:
        self._recorder, self._modules = recorder, modules
        self._patches = Patches()
        self._known: Dict[int, Any] = {}
        self._depth = 0
        self.after_step: Callable[[Any], None] = lambda optimizer: None

    def __enter__(self) -> "Optimizers":
        for one in {*subclasses(torch.optim.Optimizer), torch.optim.Optimizer}:
            if "step" in vars(one) and one is not torch.optim.Optimizer:
                self._patches.set(one, "step", self._watched(vars(one)["step"], counts=True))
            if "zero_grad" in vars(one):
                self._patches.set(one, "zero_grad", self._watched(vars(one)["zero_grad"], counts=False))
        for name in ("clip_grad_norm_", "clip_grad_value_"):  # what is done to gradients before they are used
            clip = self._clipping(getattr(torch.nn.utils, name))
            for owner in (torch.nn.utils, importlib.import_module("torch.nn.utils.clip_grad")):
                self._patches.set(owner, name, clip)
        # A scheduler of learning rates keeps the step that its optimizer had when the scheduler was made.
        for optimizer in alive(torch.optim.Optimizer):
            if "step" in vars(optimizer):
                self._patches.set(optimizer, "step", self._watched_of(optimizer, vars(optimizer)["step"]))
        return self

    def __exit__(self, *_: Any) -> None:
        self._patches.put_back()

    def _clipping(self, call: Any) -> Any:
        def clip(*args: Any, **kwargs: Any) -> Any:
            was, self._recorder.is_updating = self._recorder.is_updating, True
            try:
                return call(*args, **kwargs)
            finally:
                self._recorder.is_updating = was
        return clip

    def _watched(self, call: Any, counts: bool) -> Any:
        def run(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            with self._at_work(optimizer, counts):
                return call(optimizer, *map(self._closure, args), **{key: self._closure(one) for key, one in kwargs.items()})
        for name in ("hooked", "_cached_lr_wrapper"):
            if hasattr(call, name):
                setattr(run, name, getattr(call, name))
        return run

    def _watched_of(self, optimizer: Any, call: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            with self._at_work(optimizer, True):
                return call(*map(self._closure, args), **{key: self._closure(one) for key, one in kwargs.items()})
        for name in ("_with_counter", "_wrapped_by_lr_sched"):
            if hasattr(call, name):
                setattr(run, name, getattr(call, name))
        return run

    def _closure(self, value: Any) -> Any:
        """A function that computes the loss, which some optimizers and trainers call within the step."""
        if not callable(value):
            return value

        def run(*args: Any, **kwargs: Any) -> Any:
            was, self._recorder.is_updating = self._recorder.is_updating, False
            try:
                return value(*args, **kwargs)
            finally:
                self._recorder.is_updating = was
        return run

    @contextlib.contextmanager
    def _at_work(self, optimizer: Any, counts: bool) -> Iterator[None]:
        self._note_before(optimizer)
        was, self._recorder.is_updating = self._recorder.is_updating, True
        self._depth += counts
        try:
            yield
        finally:
            self._recorder.is_updating = was
            self._depth -= counts
        if counts:
            self._note_states(optimizer)
            if self._depth == 0:
                self.after_step(optimizer)

    def _note_before(self, optimizer: Any) -> None:
        """Real parameters give way to those that modules hold now; gradients have the names of their parameters."""
        groups = vars(optimizer).get("param_groups", ())
        if self._modules is not None and self._known.setdefault(id(optimizer), None) is None:
            self._known[id(optimizer)] = optimizer
            self._replace(optimizer)
        names = self.parameter_names()
        for group in groups:
            for one in group["params"]:
                if one.grad is not None:
                    self._recorder.note_role(one.grad, "gradient", names.get(id(one), "parameter"))

    def _replace(self, optimizer: Any) -> None:
        made = self._modules.made  # type: ignore[union-attr]
        for group in optimizer.param_groups:
            group["params"] = [made[id(one)][1] if id(one) in made else one for one in group["params"]]
        state = collections.defaultdict(dict)
        for parameter, values in optimizer.state.items():
            known = made.get(id(parameter)) if isinstance(parameter, torch.Tensor) else None
            state[known[1] if known else parameter] = self._without_numbers(values)
        optimizer.state = state

    def _without_numbers(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            made = self._modules.of(value)  # type: ignore[union-attr]
            if is_small(value) and made is not value:
                with no_dispatch():
                    set_value(made, value.detach().clone())
            return made
        if isinstance(value, dict):
            return {key: self._without_numbers(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._without_numbers(item) for item in value]
        return value

    def _note_states(self, optimizer: Any) -> None:
        names = self.parameter_names()
        for parameter, state in optimizer.state.items():
            if not isinstance(state, dict):
                continue
            for key, value in state.items():
                if isinstance(value, torch.Tensor):
                    self._recorder.note_role(value, "state", f"{names.get(id(parameter), 'parameter')}.{key}")

    def parameter_names(self) -> Dict[int, str]:
        return {id(one): name for name, one in self._recorder.layers.named("named_parameters")}
