# SPDX-License-Identifier: Apache-2.0
"""Predictions of PyTorch modules and of training steps of your own.

    import strata.torch
    strata.torch.predict(module, inputs, on="h200")     # Strata writes the step: loss, backward, update
    strata.torch.predict(step, on="h200")               # a function that does what you want

PyTorch itself says what it runs: the step runs on tensors without numbers, which takes no GPU and no time. Layers are called
as the modules are ("layer1.0.conv1"). Modules, optimizers and random numbers stay as they were. load() makes a network of
a module, as of a file, whose sizes and framework can be changed afterwards.
"""
from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import re
import sys
import tempfile
import warnings
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from . import _exported_names, _recorder, _verbs
from ._commands import Error, StrataWarning, warn
from ._recorder import Recording
from ._results import Prediction
from ._verbs import Model

try:
    from strata_torch import name_layers
except ImportError:  # it is installed beside the package, and only captures need it
    pass

LOAD_OPTIONS = ("no_fuse", "assume_bn", "strict")
# What asks for another step than PyTorch runs here: for these the module is exported, and rules say what would run.
OF_NETWORKS = (*LOAD_OPTIONS, "parallel", "devices", "framework", "micro_batches", "recompute", "seq", "dims")
# Where versions of PyTorch have the exporter by tracing.
EXPORTERS = ("torch.onnx.utils", "torch.onnx._internal.torchscript_exporter.utils")
ABOUT_INFERENCE_EXPORTS = ("dropout-missing", "batch-norm-folded")  # which this is not


Step = Union[torch.nn.Module, Callable[[], Any]]


def _example(example_inputs: Any) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Positional and named arguments of a call of the module."""
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, (tuple, list)):
        return tuple(example_inputs), {}
    return (example_inputs,), {}


def _named_inputs(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Dict[str, torch.Tensor]:
    """The tensors among the arguments, by the names that forward has for them."""
    given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    flat: Dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            flat.update(value)
        elif isinstance(value, (tuple, list)):
            flat.update({f"{name}_{i}": item for i, item in enumerate(value)})
        else:
            flat[name] = value
    modules = dict(module.named_modules())
    return {name + "_input" if name in modules else name: value for name, value in flat.items()
            if isinstance(value, torch.Tensor)}


@contextlib.contextmanager
def _as_it_was(module: torch.nn.Module) -> Iterator[None]:
    """What a forward pass in training mode changes is put back: running means, the mode, random numbers."""
    modes = {part: part.training for part in module.modules()}
    buffers = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    devices = {parameter.device for parameter in module.parameters() if parameter.is_cuda}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter's own, about files that nobody keeps
            with torch.random.fork_rng(sorted(device.index for device in devices)):
                yield
    finally:
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        for part, mode in modes.items():
            part.training = mode


@contextlib.contextmanager
def _without_onnx_package() -> Iterator[None]:
    """PyTorch 2 imports the package onnx only to add functions that users registered; where it is not installed there
    are none to add."""
    if importlib.util.find_spec("onnx") is not None:
        yield
        return
    for part in EXPORTERS:
        with contextlib.suppress(ImportError):
            importlib.import_module(part)
    name = "_add_onnxscript_fn"
    holders = [part for key, part in list(sys.modules.items())
               if key.startswith("torch.onnx") and callable(getattr(part, name, None))]
    before = [getattr(part, name) for part in holders]
    try:
        for part in holders:
            setattr(part, name, lambda model, _functions: model)
        yield
    finally:
        for part, function in zip(holders, before):
            setattr(part, name, function)


def _export(module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Mapping[str, Any],
            inputs: Mapping[str, torch.Tensor], batch_axis: int, path: str) -> None:
    options: Dict[str, Any] = {
        "training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False, "input_names": list(inputs),
        "dynamic_axes": {name: {batch_axis: "batch"} for name, value in inputs.items() if value.dim() > batch_axis},
    }
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # it names nodes after modules, and needs no further package
    with _as_it_was(module), _without_onnx_package():
        if not module.training:
            module.train()
        try:
            torch.onnx.export(module, (*args, dict(kwargs)) if kwargs else args, path, **options)
            return
        except Exception as error:
            reason = str(error).split("\n")[0].split(". ")[0]
        # Stochastic depth and auxiliary heads are what exporters do not know; PyTorch's own layers they know.
        for part in module.modules():
            part.training = type(part).__module__.startswith("torch.nn")
        try:
            torch.onnx.export(module, (*args, dict(kwargs)) if kwargs else args, path, **options)
        except Exception as error:
            raise Error(f"PyTorch cannot export {type(module).__name__}: {error}", "unsupported") from error
    warn(f"PyTorch cannot export {type(module).__name__} as it trains ({reason}); modules that are not of torch.nn, as "
         "stochastic depth, are taken as in inference")


def load(module: torch.nn.Module, example_inputs: Any, *, batch_axis: int = 0, name: Optional[str] = None,
         no_fuse: bool = False, assume_bn: bool = False, strict: bool = False) -> Model:
    """A module as a network. `example_inputs` is what the module is called with: a tensor, a tuple of arguments, or a
    dict of named ones. Their axis `batch_axis` is the batch, whose size is the default; other batches can be asked for
    afterwards."""
    module = getattr(module, "_orig_mod", module)  # what torch.compile was given
    args, kwargs = _example(example_inputs)
    inputs = _named_inputs(module, args, kwargs)
    if not inputs:
        raise Error("example_inputs holds no tensor")
    with tempfile.TemporaryDirectory(prefix="strata-") as folder:
        path = os.path.join(folder, "module.onnx")
        _export(module, args, kwargs, inputs, batch_axis, path)
        document = _verbs.converted(path, {"no_fuse": no_fuse, "assume_bn": assume_bn, "strict": strict})
    document["name"] = name or type(module).__name__
    document["source"] = f"PyTorch module {type(module).__module__}.{type(module).__qualname__}"
    document["warnings"] = [warning for warning in document.get("warnings", [])
                            if warning["code"] not in ABOUT_INFERENCE_EXPORTS]
    first = next(iter(inputs.values()))
    if "batch" in document.get("dims", {}) and first.dim() > batch_axis:
        document["dims"]["batch"] = first.shape[batch_axis]
    _exported_names.rename(document, module)
    model = Model.of_document(document)
    _check_parameters(model, document, module)
    return model


def _check_parameters(model: Model, document: Mapping[str, Any], module: torch.nn.Module) -> None:
    count = sum(parameter.numel() for parameter in module.parameters())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StrataWarning)  # they come with the results
        counted = model.parameters
    if counted == count:
        return
    found = {layer["name"] for layer in document["layers"] if layer["op"] == "parameter"}
    missing = [name for name, _ in module.named_parameters() if name not in found]
    warn(f"{counted:,} of {count:,} parameters take part in this forward pass; not, for example: "
         f"{', '.join(missing[:3])}")


def _is_of_network(on: Any, options: Mapping[str, Any]) -> bool:
    names = on if isinstance(on, (list, tuple)) else [on]
    is_cluster = any(isinstance(name, str) and re.match(r"\d+x", name) for name in names)
    return is_cluster or any(options.get(key) for key in OF_NETWORKS)


def predict(what: Step, inputs: Any = None, *, on: Union[None, str, Sequence[str]] = None, training: bool = True,
            optimizer: Optional[str] = None, amp: Optional[str] = None, dtype: Optional[str] = None,
            batch: Optional[int] = None, batch_axis: int = 0, name: Optional[str] = None, samples: Optional[int] = None,
            real: bool = False, **options: Any) -> Prediction:
    """How long a training step takes on a machine: of a module, which is called with `inputs`, or of a function that does
    one step. What it is told of the step is as for record(), other options are as for strata.predict()."""
    training = training and not options.pop("inference", False)
    if isinstance(what, torch.nn.Module) and _is_of_network(on, options):
        of_load = {key: options.pop(key) for key in LOAD_OPTIONS if key in options}
        model = load(what, inputs, batch_axis=batch_axis, name=name, **of_load)
        return _verbs.predict(model, on=on, batch=batch, dtype=dtype, amp=amp, optimizer=optimizer,
                              inference=not training, **options)
    model = record(what, inputs, training=training, optimizer=optimizer, amp=amp, dtype=dtype, batch=batch,
                   batch_axis=batch_axis, name=name, samples=samples, real=real)
    return _verbs.predict(model, on=on, **options)


def record(what: Step, inputs: Any = None, *, path: Union[None, str, "os.PathLike[str]"] = None, training: bool = True,
           optimizer: Optional[str] = None, amp: Optional[str] = None, dtype: Optional[str] = None,
           batch: Optional[int] = None, batch_axis: int = 0, name: Optional[str] = None, samples: Optional[int] = None,
           real: bool = False) -> Recording:
    """What PyTorch runs in one step, as a model for every function; with `path` also as that file, which every command
    takes. Of a module: `optimizer` is "momentum" (default), "sgd", "adam" or "none", `amp` is "bf16" or "fp16" for
    autocast, `batch` another size of axis `batch_axis` than the inputs have, training=False one pass of inference. A
    function says all that itself. With `real` the step really runs, on a GPU."""
    try:
        return _recorder.record(what, inputs, path=path, training=training, optimizer=optimizer, amp=amp, dtype=dtype,
                                batch=batch, batch_axis=batch_axis, name=name, samples=samples, real=real)
    except ImportError as missing:
        raise Error(f"PyTorch {torch.__version__} cannot record ({missing}); 1.13 or newer can", "environment") from missing


__all__: List[str] = ["Recording", "load", "name_layers", "predict", "record"]
