# SPDX-License-Identifier: Apache-2.0
"""Modules whose parameters and buffers have shapes and no numbers, for the time of a recording."""
from __future__ import annotations

from typing import Any, Dict, List, Tuple

import torch

from torch.utils._mode_utils import no_dispatch

from ._recorder import Recorder, paused
from ._values import is_small, set_value


class FakeModules:
    """Replaces what modules hold, and puts it back. Tied parameters stay tied."""

    def __init__(self, fake: Any, recorder: Recorder) -> None:
        self._fake, self._recorder = fake, recorder
        self.made: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}  # by id of the real one, which lives with it
        self._before: List[Tuple[Dict[str, Any], str, Any]] = []
        self._flat: List[Tuple[Any, Any]] = []

    def of(self, real: torch.Tensor) -> torch.Tensor:
        known = self.made.get(id(real))
        if known is not None:
            return known[1]
        made = self._with_shape_of(real)
        if isinstance(real, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=real.requires_grad)
        self.made[id(real)] = (real, made)
        return made

    def _with_shape_of(self, real: torch.Tensor) -> torch.Tensor:
        with paused(self._recorder), self._fake:
            made = torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device="cpu")
        if is_small(real) and real.device.type == "cpu" and not real.is_floating_point():
            with no_dispatch():
                set_value(made, real.detach().clone())
        return made

    def replace(self, module: torch.nn.Module) -> None:
        made = {id(fake) for _, fake in self.made.values()}
        for part in module.modules():
            for store in (part._parameters, part._buffers):
                for name, value in list(store.items()):
                    if value is not None and id(value) not in made:
                        self._before.append((store, name, value))
                        store[name] = self.of(value)
                        made.add(id(store[name]))
            # Tensors that a module holds otherwise than as buffers.
            for name, value in list(vars(part).items()):
                if isinstance(value, torch.Tensor) and type(value).__name__ != "FakeTensor":
                    self._before.append((part.__dict__, name, value))
                    part.__dict__[name] = self.of(value)
            if isinstance(part, torch.nn.RNNBase):
                self._flat.append((part, part._flat_weights))
                part._flat_weights = [getattr(part, name, None) for name in part._flat_weights_names]

    def put_back(self) -> None:
        for store, name, value in reversed(self._before):
            store[name] = value
        for part, weights in self._flat:
            part._flat_weights = weights
        self._before.clear()
        self._flat.clear()

    def argument(self, value: Any) -> Any:
        """What a module is called with: tensors become fake ones, small ones keep their numbers."""
        if isinstance(value, torch.Tensor):
            if type(value).__name__ == "FakeTensor":
                return value
            return self._with_shape_of(value).requires_grad_(value.requires_grad)
        if isinstance(value, dict):
            return type(value)((key, self.argument(item)) for key, item in value.items())
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self.argument(item) for item in value))
        if isinstance(value, (tuple, list)):
            return type(value)(self.argument(item) for item in value)
        return value
