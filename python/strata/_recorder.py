# SPDX-License-Identifier: Apache-2.0
"""Recordings of PyTorch as models: what strata.torch.record is given, made ready for the recorder."""
from __future__ import annotations

import builtins
import contextlib
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import torch

from ._commands import Error
from ._verbs import Model

AMP = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Recording(Model):
    """What PyTorch runs in one step."""

    document: Dict[str, Any]

    @classmethod
    def of_document(cls, document: Dict[str, Any]) -> "Recording":
        recording = super().of_document(document)
        assert isinstance(recording, Recording)
        recording.document = document
        return recording

    @property
    def assumed(self) -> Dict[str, str]:
        """By line of your code: what was taken for granted there, as nothing was computed."""
        return self.document["assumed"]

    def save(self, path: Any) -> None:
        """Writes the file that every command takes."""
        with builtins.open(os.fspath(path), "w", encoding="utf-8") as file:
            json.dump(self.document, file, separators=(",", ":"))

    def __repr__(self) -> str:
        return f"<strata.torch.Recording: {self.name}, {len(self.document['operations'])} operations>"


def _arguments(inputs: Any) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Positional and named arguments of a call of the module."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs), {}) if isinstance(inputs, (tuple, list)) else ((inputs,), {})


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list, Mapping)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(item)


def _resized(value: Any, axis: int, before: int, batch: int) -> Any:
    """The example with another batch. Whole numbers are repeated, as code may look at them."""
    if isinstance(value, torch.Tensor):
        if value.dim() <= axis or value.shape[axis] != before:
            return value
        if value.is_floating_point():
            return value.new_empty((*value.shape[:axis], batch, *value.shape[axis + 1:]))
        return value.index_select(axis, torch.arange(batch, device=value.device) % before)
    if isinstance(value, Mapping):
        return {key: _resized(item, axis, before, batch) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_resized(item, axis, before, batch) for item in value)
    return value


@contextlib.contextmanager
def _matrices_in(dtype: Optional[str]) -> Iterator[None]:
    """dtype="tf32" and "fp32": how matrices in fp32 are multiplied. Other types are those of the module."""
    if dtype is None:
        yield
        return
    if dtype not in ("fp32", "tf32"):
        raise Error(f"a recording has the types of the module, not {dtype}: give amp=\"bf16\" for autocast, or module.to(…)")
    places: List[Any] = [torch.backends.cuda.matmul, torch.backends.cudnn]
    before = [place.allow_tf32 for place in places]
    try:
        for place in places:
            place.allow_tf32 = dtype == "tf32"
        yield
    finally:
        for place, value in zip(places, before):
            place.allow_tf32 = value


@contextlib.contextmanager
def _numbers_kept(module: torch.nn.Module) -> Iterator[None]:
    """A step that really runs changes parameters and buffers; they are put back."""
    kept = [(one, one.detach().clone()) for one in (*module.parameters(), *module.buffers())]
    gradients = [(one, one.grad) for one in module.parameters()]
    try:
        yield
    finally:
        with torch.no_grad():
            for one, value in kept:
                one.copy_(value)
        for one, gradient in gradients:
            one.grad = gradient


def _of_module(module: torch.nn.Module, inputs: Any, options: Dict[str, Any]) -> Dict[str, Any]:
    from strata_recording._record import record_module

    batch, axis = options["batch"], options["batch_axis"]
    amp = options["amp"]
    if amp is not None and amp not in AMP:
        raise Error(f"amp is {' or '.join(AMP)}, not {amp}")
    module = getattr(module, "_orig_mod", module)  # what torch.compile was given
    args, kwargs = _arguments(inputs)
    first = next((one for one in _tensors([args, kwargs]) if one.dim() > axis), None)
    if first is None:
        raise Error("inputs holds no tensor; it is what the module is called with: a tensor, a tuple of arguments, or a dict "
                    "of named ones")
    if batch is not None and batch != first.shape[axis]:
        args, kwargs = _resized((args, kwargs), axis, first.shape[axis], batch)
    with _numbers_kept(module) if options["real"] else contextlib.nullcontext():
        document = record_module(module, args, kwargs, training=options["training"], optimizer=options["optimizer"] or "momentum",
                                 autocast=AMP.get(amp), real=options["real"], name=options["name"])
    document["samples"] = options["samples"] or batch or int(first.shape[axis])
    return document


def _of_step(step: Any, inputs: Any, options: Dict[str, Any]) -> Dict[str, Any]:
    from strata_recording._step import record_function

    if not callable(step):
        raise Error(f"expected a module or a function that does one step, got {type(step).__name__}")
    given = [key for key in ("optimizer", "amp", "batch") if options[key] is not None]
    if inputs is not None:
        given.append("inputs")
    if given or not options["training"]:
        raise Error(f"a step function says itself what runs; {', '.join(given or ['training'])} is of modules")
    return record_function(step, real=options["real"], name=options["name"], samples=options["samples"])


def record(what: Any, inputs: Any, *, path: Any, **options: Any) -> Recording:
    from strata_recording._refusal import Refusal

    if options["real"] and not torch.cuda.is_available():
        raise Error("real=True runs the step on a GPU, and PyTorch finds none here", "environment")
    make = _of_module if isinstance(what, torch.nn.Module) else _of_step
    try:
        with _matrices_in(options["dtype"]):
            document = make(what, inputs, options)
    except Refusal as refusal:
        raise Error(str(refusal), "unsupported") from refusal
    recording = Recording.of_document(document)
    if path is not None:
        recording.save(path)
    return recording
