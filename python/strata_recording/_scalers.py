# SPDX-License-Identifier: Apache-2.0
"""Scalers of gradients (fp16): they work as on a GPU, and find no gradient that is not finite."""
from __future__ import annotations

from typing import Any

import torch

from ._autocast import Autocast
from ._devices import Devices
from ._patches import Patches
from ._recorder import Recorder


class Scalers:
    """Watches them while it is entered."""

    def __init__(self, recorder: Recorder, devices: Devices, autocast: Autocast) -> None:
        self._recorder, self._devices, self._autocast = recorder, devices, autocast
        self._patches = Patches()

    def __enter__(self) -> "Scalers":
        for owner in {torch.cuda.amp.GradScaler, getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)}:
            for name in ("scale", "unscale_", "step", "update"):
                if name in vars(owner):
                    self._patches.set(owner, name, self._watched(vars(owner)[name], name != "scale"))
        return self

    def __exit__(self, *_: Any) -> None:
        self._patches.put_back()

    def _watched(self, call: Any, updates: bool) -> Any:
        def run(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            if not scaler._enabled and self._autocast.seen == torch.float16:
                type(scaler).__init__(scaler)  # it was made where there is no GPU, and does nothing there
            was = self._recorder.is_updating
            self._recorder.is_updating = was or updates
            try:
                with self._devices.on_a_gpu():
                    return call(scaler, *args, **kwargs)
            finally:
                self._recorder.is_updating = was
        return run
