# SPDX-License-Identifier: Apache-2.0
"""Records one training step, or one pass of inference: of a module, or of a function that does what its user wants."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ._refusal import Refusal
from ._as_on_a_gpu import AsOnAGpu, quiet
from ._autocast import Autocast
from ._document import document_of
from ._fake_modules import FakeModules
from ._recorder import Recorder
from ._values import Values, user_line

OPTIMIZERS = ("momentum", "sgd", "adam", "none")


def _subclasses(of: type) -> Iterator[type]:
    for one in of.__subclasses__():
        yield one
        yield from _subclasses(one)


class Recording:
    """Everything that is in force while a step is recorded."""

    def __init__(self, real: bool = False) -> None:
        self.real = real
        # Arguments that this version's fake tensors know.
        self.fake = None if real else FakeTensorMode()
        self.values = None if real else Values(self.fake)
        self.recorder = Recorder(self.values)
        self.autocast = Autocast()
        self.modules = None if real else FakeModules(self.fake, self.recorder)
        self.steps_of_optimizers = 0
        self.after_step: Callable[[], None] = lambda: None
        self._optimizers: Dict[int, Any] = {}

    @contextlib.contextmanager
    def in_force(self) -> Iterator["Recording"]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(quiet())
            stack.enter_context(self._watching_optimizers())
            stack.enter_context(self._watching_backward())
            if not self.real:
                stack.enter_context(AsOnAGpu(self.recorder))
                stack.enter_context(self.autocast)
                stack.callback(self.modules.put_back)
                stack.enter_context(self.fake)
                add_root = self.recorder.layers.add_root
                self.recorder.layers.add_root = lambda root: (self.modules.replace(root), add_root(root))  # type: ignore
                self.recorder.made_fake = self.modules.argument
            stack.enter_context(self.recorder.layers)
            stack.enter_context(self.recorder)
            yield self

    @contextlib.contextmanager
    def _watching_optimizers(self) -> Iterator[None]:
        before = [(one, one.step) for one in _subclasses(torch.optim.Optimizer) if "step" in vars(one)]

        def watched(step: Any) -> Any:
            def run(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
                self._before_update(optimizer)
                was, self.recorder.is_updating = self.recorder.is_updating, True
                try:
                    result = step(optimizer, *args, **kwargs)
                finally:
                    self.recorder.is_updating = was
                self._after_update(optimizer)
                return result
            for name in ("hooked", "_cached_lr_wrapper"):
                if hasattr(step, name):
                    setattr(run, name, getattr(step, name))
            return run

        for one, step in before:
            one.step = watched(step)  # type: ignore[method-assign]
        try:
            yield
        finally:
            for one, step in before:
                one.step = step  # type: ignore[method-assign]

    @contextlib.contextmanager
    def _watching_backward(self) -> Iterator[None]:
        before = torch.autograd.backward, torch.autograd.grad

        def watched(run: Any) -> Any:
            def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
                self.recorder.layers.own_rest(tensors)
                was, self.recorder.is_in_backward = self.recorder.is_in_backward, True
                try:
                    return run(tensors, *args, **kwargs)
                finally:
                    self.recorder.is_in_backward = was
            return backward

        torch.autograd.backward, torch.autograd.grad = watched(before[0]), watched(before[1])  # type: ignore[assignment]
        try:
            yield
        finally:
            torch.autograd.backward, torch.autograd.grad = before  # type: ignore[assignment]

    def _before_update(self, optimizer: Any) -> None:
        """Real parameters of modules that are fake now; gradients by the name of their parameter."""
        if self._optimizers.setdefault(id(optimizer), optimizer) is not optimizer:
            return
        if self.modules is not None:
            made = self.modules.made
            for group in optimizer.param_groups:
                group["params"] = [made[id(one)][1] if id(one) in made else one for one in group["params"]]
        names = self._parameter_names()
        for group in optimizer.param_groups:
            for one in group["params"]:
                if one.grad is not None:
                    self._role(one.grad, "gradient", names.get(id(one), "parameter"))

    def _after_update(self, optimizer: Any) -> None:
        names = self._parameter_names()
        for parameter, state in optimizer.state.items():
            for key, value in state.items():
                if isinstance(value, torch.Tensor):
                    self._role(value, "state", f"{names.get(id(parameter), 'parameter')}.{key}")
        self.steps_of_optimizers += 1
        self.after_step()

    def _role(self, tensor: torch.Tensor, kind: str, name: str) -> None:
        number, _ = self.recorder.storages.number(tensor)
        self.recorder.roles.setdefault(number, (kind, name))

    def _parameter_names(self) -> Dict[int, str]:
        return {id(one): name for root in self.recorder.layers.roots for name, one in root.named_parameters()}

    def note_modules(self) -> None:
        """Which storages are parameters and buffers."""
        for root in self.recorder.layers.roots:
            for name, one in root.named_parameters():
                self._role(one, "parameter", name)
            for name, one in root.named_buffers():
                self._role(one, "buffer", name)

    def note_input(self, value: Any, name: str) -> None:
        if isinstance(value, torch.Tensor):
            self._role(value, "input", name)
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


def _loss_of(output: Any) -> Tuple[List[torch.Tensor], bool]:
    """What backward starts from, and whether it is a loss: losses of the module itself, the network's output of which a
    softmax cross-entropy is taken, or several outputs, which get a gradient each."""
    if isinstance(output, torch.Tensor):
        return [output], output.dim() == 0
    if isinstance(output, Mapping):
        if isinstance(output.get("loss"), torch.Tensor):
            return [output["loss"]], True
        for key in ("logits", "out"):
            if isinstance(output.get(key), torch.Tensor) and not any(key.startswith("aux") for key in output):
                return [output[key]], False
        output = list(output.values())
    found = []
    for item in output if isinstance(output, (tuple, list)) else []:
        found += _loss_of(item)[0]
    found = [one for one in found if one.requires_grad]
    return found, bool(found) and all(one.dim() == 0 for one in found)


def _cross_entropy(logits: torch.Tensor) -> torch.Tensor:
    if logits.dim() < 2:
        return logits.float().sum()
    if logits.dim() < 4:  # classes on the last axis; those of images on the second
        logits = logits.reshape(-1, logits.shape[-1])
    shape = logits.shape[:1] + logits.shape[2:]
    return torch.nn.functional.cross_entropy(logits, torch.zeros(shape, dtype=torch.long, device=logits.device))


def _backward(output: Any) -> None:
    tensors, is_loss = _loss_of(output)
    if not tensors:
        raise Refusal("the module gives no tensor with a gradient: nothing to train")
    if is_loss:
        loss = tensors[0]
        for one in tensors[1:]:
            loss = loss + one
        loss.backward()
    elif len(tensors) == 1:
        _cross_entropy(tensors[0]).backward()
    else:
        torch.autograd.backward(tensors, [torch.ones_like(one) for one in tensors])


def _optimizer(name: str, module: torch.nn.Module) -> Any:
    parameters = [one for one in module.parameters() if one.requires_grad]
    if name not in OPTIMIZERS:
        raise Refusal(f"optimizer '{name}' is not known; one of {', '.join(OPTIMIZERS)}, or give a step function of your own")
    if name == "none" or not parameters:
        return None
    if name == "adam":
        return torch.optim.Adam(parameters, lr=1e-3, foreach=True)
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9 if name == "momentum" else 0, foreach=True)


def record_module(module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any], *, training: bool = True,
                  optimizer: str = "momentum", autocast: Optional[torch.dtype] = None, real: bool = False,
                  around: Any = None, name: Optional[str] = None) -> Dict[str, Any]:
    """One training step of a module, as Strata writes it: forward, loss, backward, update. `around` is a context for each
    operation of the step that counts."""
    recording = Recording(real)
    modes = {part: part.training for part in module.modules()}
    samples = 0
    try:
        if training and not module.training:
            module.train()
        elif not training:
            module.eval()
        with recording.in_force():
            if recording.modules is not None:
                recording.recorder.layers.add_root(module)
                args, kwargs = recording.modules.argument(args), recording.modules.argument(kwargs)
            else:
                recording.recorder.layers.add_root(module)
            first = next((one for one in [*args, *kwargs.values()] if isinstance(one, torch.Tensor) and one.dim()), None)
            samples = int(first.shape[0]) if first is not None else 1
            update = _optimizer(optimizer, module) if training else None
            region = torch.autocast("cuda", dtype=autocast) if autocast else contextlib.nullcontext()

            def step() -> None:
                if not training:
                    with torch.no_grad(), region:
                        module(*args, **kwargs)
                    return
                for one in module.parameters():
                    one.grad = None
                with region:
                    output = module(*args, **kwargs)
                    tensors, is_loss = _loss_of(output)
                    if len(tensors) == 1 and not is_loss:
                        output = _cross_entropy(tensors[0])
                    del tensors
                _backward(output)
                del output
                if update is not None:
                    update.step()

            if update is not None:  # which makes its states in its first step
                for one in module.parameters():
                    one.grad = torch.empty_like(one) if one.requires_grad else None
                update.step()
            if real:
                step()
            recording.recorder.begin_step()
            recording.note_input(list(args), "input")
            recording.note_input(kwargs, "input")
            recording.note_modules()
            recording.recorder.around = around
            step()
            recording.recorder.around = None
            document = recording.document(
                name=name or type(module).__name__, training=training, samples=samples,
                source=f"PyTorch module {type(module).__module__}.{type(module).__qualname__}")
    except Refusal:
        raise
    except Exception as error:
        if real:
            raise
        raise Refusal(f"{user_line() or type(module).__name__}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                    "unsupported") from error
    finally:
        for part, mode in modes.items():
            part.training = mode
    return document
