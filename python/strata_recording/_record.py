# SPDX-License-Identifier: Apache-2.0
"""Records one training step of a module, or one pass of inference."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import torch

from ._alive import random_numbers_back
from ._recording import Recording
from ._refusal import Refusal, refusal_of

OPTIMIZERS = ("momentum", "sgd", "adam", "none")


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


def _step_of(module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any], training: bool, region: Any,
             update: Any) -> Callable[[], None]:
    """A step as people write it."""
    def infer() -> None:
        with torch.no_grad(), region:
            module(*args, **kwargs)

    def train() -> None:
        for one in module.parameters():
            one.grad = None
        with region:
            output = module(*args, **kwargs)
            tensors, is_loss = _loss_of(output)
            loss = _cross_entropy(tensors[0]) if len(tensors) == 1 and not is_loss else output
            del tensors
        _backward(loss)
        if update is not None:
            update.step()
        del output  # it lives as long as in the steps that people write

    return train if training else infer


def record_module(module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any], *, training: bool = True,
                  optimizer: str = "momentum", autocast: Optional[torch.dtype] = None, real: bool = False,
                  around: Any = None, name: Optional[str] = None) -> Dict[str, Any]:
    """One training step of a module, as Strata writes it: forward, loss, backward, update. `around` is a context for each
    operation of the step that counts."""
    recording = Recording(real)
    modes = {part: part.training for part in module.modules()}
    put_random_numbers_back = random_numbers_back()
    recording.autocast.seen = autocast
    try:
        if training and not module.training:
            module.train()
        elif not training:
            module.eval()
        with recording.in_force():
            recording.recorder.layers.add_root(module)
            if recording.modules is not None:
                args, kwargs = recording.modules.argument(args), recording.modules.argument(kwargs)
            first = next((one for one in [*args, *kwargs.values()] if isinstance(one, torch.Tensor) and one.dim()), None)
            samples = int(first.shape[0]) if first is not None else 1
            update = _optimizer(optimizer, module) if training else None
            region = torch.autocast("cuda", dtype=autocast) if autocast else contextlib.nullcontext()
            step = _step_of(module, args, kwargs, training, region, update)
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
    except Exception as error:
        if real:
            raise
        raise refusal_of(error, type(module).__name__) from error
    finally:
        for part, mode in modes.items():
            part.training = mode
        put_random_numbers_back()
    return document
