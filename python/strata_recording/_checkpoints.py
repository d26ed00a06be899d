# SPDX-License-Identifier: Apache-2.0
"""torch.utils.checkpoint: what runs forward again during backward is known as such, modules or not."""
from __future__ import annotations

from typing import Any

from torch.utils import checkpoint

from ._patches import Patches
from ._recorder import Recorder


class Checkpoints:
    """Watches both kinds while it is entered."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._patches = Patches()

    def __enter__(self) -> "Checkpoints":
        # Programs have imported the function itself; what it calls it looks up when it runs.
        forward = checkpoint.CheckpointFunction.forward
        self._patches.set(checkpoint.CheckpointFunction, "forward", staticmethod(
            lambda context, function, *args: forward(context, self._marked(function), *args)))
        for name in ("_checkpoint_without_reentrant", "_checkpoint_without_reentrant_generator"):
            if hasattr(checkpoint, name):
                self._patches.set(checkpoint, name, self._with_marked(getattr(checkpoint, name)))
        return self

    def __exit__(self, *_: Any) -> None:
        self._patches.put_back()

    def _with_marked(self, run: Any) -> Any:
        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            return run(self._marked(function), *args, **kwargs)
        return call

    def _marked(self, function: Any) -> Any:
        recorder = self._recorder

        def call(*args: Any, **kwargs: Any) -> Any:
            layers = recorder.layers
            was, depth = layers.is_recomputing, layers.depth()
            layers.is_recomputing = recorder.is_in_backward or layers.current_function() is not None
            try:
                return function(*args, **kwargs)
            finally:
                layers.is_recomputing = was
                layers.unwind(depth)  # it stops where backward has what it needs
        return call
