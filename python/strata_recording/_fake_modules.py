# SPDX-License-Identifier: Apache-2.0
"""Modules whose parameters and buffers have shapes and no numbers, for the time of a recording."""
from __future__ import annotations

from typing import Any, Dict, List, Tuple

import torch

from torch.utils._mode_utils import no_dispatch

from ._recorder import Recorder, paused
from ._values import is_fake, is_small, set_value

_fakes_of: Dict[int, torch.Tensor] = {}  # by id of the parameter in whose place they are


def _instead(value: Any) -> Any:
    if type(value) in (_ReplacedParameter, _ReplacedTensor):
        return _fakes_of[id(value)]
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(_instead(item) for item in value)
    if isinstance(value, dict):
        return {key: _instead(item) for key, item in value.items()}
    return value


class _ReplacedParameter(torch.nn.Parameter):
    """The class of a real parameter while a fake one is in its place: code that kept a list of parameters (to clip their
    gradients, to average them) means the fake ones."""

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*_instead(args), **_instead(kwargs or {}))


class _ReplacedTensor(torch.Tensor):
    """The same of a plain tensor that an optimizer trains."""

    __hash__ = object.__hash__
    __torch_function__ = _ReplacedParameter.__torch_function__


_REPLACED = {torch.nn.Parameter: _ReplacedParameter, torch.Tensor: _ReplacedTensor}


class FakeModules:
    """Replaces what modules hold, and puts it back. Tied parameters stay tied."""

    def __init__(self, fake: Any, recorder: Recorder, replaces_kept: bool = False) -> None:
        self._fake, self._recorder = fake, recorder
        self._replaces_kept = replaces_kept  # parameters that the user's code keeps elsewhere than in modules
        self.made: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}  # by id of the real one, which lives with it
        self._before: List[Tuple[Dict[str, Any], str, Any]] = []
        self._flat: List[Tuple[Any, Any]] = []
        self._classes: List[Tuple[torch.Tensor, type]] = []

    def of(self, real: torch.Tensor) -> torch.Tensor:
        if is_fake(real):
            return real
        known = self.made.get(id(real))
        if known is not None:
            return known[1]
        made = self._with_shape_of(real)
        if isinstance(real, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=real.requires_grad)
        elif real.requires_grad:
            made.requires_grad_()
        self.made[id(real)] = (real, made)
        is_trained = type(real) is torch.nn.Parameter or (real.requires_grad and real.is_leaf)
        if self._replaces_kept and is_trained and type(real) in _REPLACED:
            self._classes.append((real, type(real)))
            _fakes_of[id(real)] = made
            real.__class__ = _REPLACED[type(real)]
        return made

    def _with_shape_of(self, real: torch.Tensor) -> torch.Tensor:
        with paused(self._recorder), self._fake:
            made = torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device="cpu")
        is_a_number = real.dim() == 0 or not real.is_floating_point()  # no pixels, which nobody decides by
        if is_small(real) and real.device.type == "cpu" and is_a_number:
            with no_dispatch():
                set_value(made, real.detach().clone())
        return made

    def replace(self, module: torch.nn.Module) -> None:
        for part in module.modules():
            self.replace_part(part)

    def replace_part(self, part: torch.nn.Module) -> None:
        for store in (part._parameters, part._buffers):
            for name, value in list(store.items()):
                if value is not None and not is_fake(value) and not torch.nn.parameter.is_lazy(value):
                    self._before.append((store, name, value))
                    store[name] = self.of(value)
        # Tensors that a module holds otherwise than as buffers.
        for name, value in list(vars(part).items()):
            if isinstance(value, torch.Tensor) and not is_fake(value):
                self._before.append((part.__dict__, name, value))
                part.__dict__[name] = self.of(value)
        if isinstance(part, torch.nn.RNNBase) and part._flat_weights and not is_fake(part._flat_weights[0]):
            self._flat.append((part, part._flat_weights))
            part._flat_weights = [getattr(part, name, None) for name in part._flat_weights_names]

    def put_back(self) -> None:
        for real, kind in self._classes:
            real.__class__ = kind
            _fakes_of.pop(id(real), None)
        for store, name, value in reversed(self._before):
            store[name] = value
        for part, weights in self._flat:
            part._flat_weights = weights
        self._before.clear()
        self._flat.clear()
        self._classes.clear()

    def argument(self, value: Any) -> Any:
        """What a module is called with: tensors become fake ones, small ones keep their numbers."""
        if isinstance(value, torch.Tensor):
            if is_fake(value):
                return value
            if id(value) in self.made:
                return self.made[id(value)][1]
            if self._replaces_kept and value.requires_grad and value.is_leaf:
                made = self.of(value)  # of which the program may ask the gradient
            else:
                made = self._with_shape_of(value).requires_grad_(value.requires_grad)
            made._strata_is_outside = True  # it comes from outside of the step
            return made
        if isinstance(value, dict):
            return type(value)((key, self.argument(item)) for key, item in value.items())
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self.argument(item) for item in value))
        if isinstance(value, (tuple, list)):
            return type(value)(self.argument(item) for item in value)
        return value
