# SPDX-License-Identifier: Apache-2.0
"""Everything that is in force while a step is recorded."""
from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, Mapping

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ._as_on_a_gpu import AsOnAGpu
from ._autocast import Autocast
from ._checkpoints import Checkpoints
from ._document import document_of
from ._fake_modules import FakeModules
from ._optimizers import Optimizers
from ._patches import Patches, quiet
from ._recorder import Recorder
from ._values import Values


class Recording:
    """Of one step, of a module or of the user's own (`replaces_kept`: who knows what that code holds)."""

    def __init__(self, real: bool = False, replaces_kept: bool = False) -> None:
        self.real = real
        self.fake = None if real else FakeTensorMode()
        self.values = None if real else Values(self.fake)
        self.recorder = Recorder(self.values)
        self.autocast = Autocast()
        self.modules = None if real else FakeModules(self.fake, self.recorder, replaces_kept)
        self.optimizers = Optimizers(self.recorder, self.modules)

    @contextlib.contextmanager
    def in_force(self, autocast: bool = True) -> Iterator["Recording"]:
        """`autocast`: else somebody else has entered it, before."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(quiet())
            stack.enter_context(self.optimizers)
            stack.enter_context(self._watching_backward())
            stack.enter_context(Checkpoints(self.recorder))
            layers = self.recorder.layers
            if self.modules is not None:
                stack.enter_context(AsOnAGpu(self.recorder))
                if autocast:
                    stack.enter_context(self.autocast)
                stack.callback(self.modules.put_back)
                stack.enter_context(self.fake)
                layers.on_root = self.modules.replace
                self.recorder.made_fake = self.modules.argument
            stack.enter_context(layers)
            stack.enter_context(self.recorder)
            yield self

    @contextlib.contextmanager
    def _watching_backward(self) -> Iterator[None]:
        patches = Patches()

        def watched(run: Any) -> Any:
            def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
                self.recorder.layers.own_rest(tensors)
                was, self.recorder.is_in_backward = self.recorder.is_in_backward, True
                try:
                    return run(tensors, *args, **kwargs)
                finally:
                    self.recorder.is_in_backward = was
            return backward

        for name in ("backward", "grad"):
            patches.set(torch.autograd, name, watched(getattr(torch.autograd, name)))
        try:
            yield
        finally:
            patches.put_back()

    def note_modules(self) -> None:
        """Which storages are parameters and buffers."""
        for kind, named in (("parameter", "named_parameters"), ("buffer", "named_buffers")):
            for name, one in self.recorder.layers.named(named):
                self.recorder.note_role(one, kind, name)

    def note_input(self, value: Any, name: str) -> None:
        if isinstance(value, torch.Tensor):
            self.recorder.note_role(value, "input", name)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self.note_input(item, str(key))
        elif isinstance(value, (tuple, list)):
            for i, item in enumerate(value):
                self.note_input(item, f"{name}_{i}")

    def document(self, **about: Any) -> Dict[str, Any]:
        self.note_modules()
        return document_of(self.recorder, autocast=self.autocast.seen, is_real=self.real,
                           assumed=self.values.assumed if self.values else None, **about)
