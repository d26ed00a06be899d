# SPDX-License-Identifier: Apache-2.0
"""The functions of the package. Each runs the command of its name; every flag of it is a keyword."""
from __future__ import annotations

import builtins
import json
import os
import shutil
import tempfile
import warnings
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _commands
from ._choices import MachineChoice, ParallelPrediction, ParallelScaling
from ._commands import Error
from ._results import (Comparison, Explanation, Machine, Measurement, Network, Path, Prediction, Record, Result,
                       Roofline, Sweep, Table, Trace, result_of)


class Model:
    """A network, as load returns it."""

    def __init__(self, word: str, name: str, title: str):
        self._word = word
        self.name = name
        self.title = title

    @classmethod
    def of_document(cls, document: Dict[str, Any]) -> "Model":
        """Of a network in Strata's own format, in a file that goes with the model."""
        folder = tempfile.mkdtemp(prefix="strata-")
        path = os.path.join(folder, "network.json")
        with builtins.open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        model = cls(path, document["name"], document.get("title", ""))
        weakref.finalize(model, shutil.rmtree, folder, True)
        return model

    @property
    def parameters(self) -> int:
        """How many numbers training changes."""
        return show(self).parameters

    def __repr__(self) -> str:
        return f"<strata.Model: {self.title or self.name}>"


ModelLike = Union[Model, str, "os.PathLike[str]"]
Input = Union[Model, Result, str, "os.PathLike[str]"]


def _word(given: Input, folder: str) -> str:
    """How a command names it. A result becomes a file in the folder."""
    if isinstance(given, Model):
        return given._word
    if isinstance(given, Result):
        return given.file_in(folder)
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise Error(f"expected a network, a file or a result, got {type(given).__name__}")


def _read(path: str) -> Dict[str, Any]:
    with builtins.open(path, encoding="utf-8") as file:
        return json.load(file)


def _document(command: str, inputs: Sequence[Input], options: Mapping[str, Any]) -> Any:
    with tempfile.TemporaryDirectory(prefix="strata-") as folder:
        words = [_word(given, folder) for given in inputs]
        path = os.path.join(folder, "document.json")
        done = _commands.run(command, words, options, ["--json", path])
        result = result_of(_read(path), done.text, done.messages, done.code)
        result._sources = inputs
        return result


def load(model: ModelLike, *, input: Optional[Mapping[str, Sequence[int]]] = None, no_fuse: bool = False,
         assume_bn: bool = False, strict: bool = False, **options: Any) -> Model:
    """A built-in network by its name, or a file; `input` gives shapes that the file leaves open."""
    if isinstance(model, Model):
        return model
    word = os.fspath(model)
    asked = {"input": input, "no_fuse": no_fuse, "assume_bn": assume_bn, "strict": strict, **options}
    document = converted(word, asked)
    if any(asked.values()):
        return Model.of_document(document)
    return Model(word, document.get("name", word), document.get("title", ""))


def converted(word: str, options: Mapping[str, Any]) -> Dict[str, Any]:
    """The network in Strata's own format. It holds its warnings, which come with every result of it."""
    with tempfile.TemporaryDirectory(prefix="strata-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", _commands.StrataWarning)
        path = os.path.join(folder, "network.json")
        _commands.run("convert", [word], options, ["-o", path])
        return _read(path)


def show(model: ModelLike, *, batch: Optional[int] = None, seq: Optional[int] = None,
         dims: Optional[Mapping[str, int]] = None, dtype: Optional[str] = None, inference: bool = False,
         **options: Any) -> Network:
    """Layers, FLOP, bytes and parameters of a network."""
    return _document("show", [model], {"batch": batch, "seq": seq, "dim": dims, "dtype": dtype,
                                       "inference": inference, **options})


def predict(model: ModelLike, *, on: Union[None, str, Sequence[str]] = None, batch: Optional[int] = None,
            seq: Optional[int] = None, dims: Optional[Mapping[str, int]] = None, dtype: Optional[str] = None,
            **options: Any) -> Union[Prediction, MachineChoice, ParallelPrediction, ParallelScaling]:
    """How long an iteration takes on a machine: the expected time, its interval, the limit, layer by layer. Of a list
    of machines a MachineChoice, of a cluster a ParallelPrediction or ParallelChoice, with `devices` a
    ParallelScaling."""
    return _document("predict", [model], {"on": on, "batch": batch, "seq": seq, "dim": dims, "dtype": dtype, **options})


def measure(model: ModelLike, *, device: Optional[str] = None, iterations: Optional[int] = None,
            on: Optional[str] = None, batch: Optional[int] = None, seq: Optional[int] = None,
            dims: Optional[Mapping[str, int]] = None, dtype: Optional[str] = None, **options: Any) -> Measurement:
    """Trains the network on this machine (device "cpu", "cuda", "cuda:N") and times every layer."""
    return _document("measure", [model], {"device": device, "iterations": iterations, "on": on, "batch": batch,
                                          "seq": seq, "dim": dims, "dtype": dtype, **options})


def explain(what: Input, *, on: Optional[str] = None, **options: Any) -> Explanation:
    """What limits a profile, what it costs and what to do; of a result, a recording, or a network to predict."""
    return _document("explain", [what], {"on": on, **options})


def roofline(*what: Input, on: Optional[str] = None, by: Optional[str] = None, **options: Any) -> Roofline:
    """Rows under the roofs of a machine."""
    return _document("roofline", what, {"on": on, "by": by, **options})


def compare(a: Input, b: Input, **options: Any) -> Comparison:
    """Two results, recordings or files side by side, layer by layer."""
    return _document("compare", [a, b], options)


def trace(*files: Path, model: Optional[ModelLike] = None, on: Optional[str] = None, **options: Any) -> Trace:
    """What recordings show (strata capture, PyTorch's profiler, Nsight); `model` names the network they are of."""
    word = None if model is None else _word(model, "")
    return _document("trace", files, {"model": word, "on": on, **options})


def sweep(*models: ModelLike, **options: Any) -> Sweep:
    """Every combination of networks and values, predicted: sweep("resnet50", on=["h200", "l4"], batch="32:512:x4")."""
    with tempfile.TemporaryDirectory(prefix="strata-") as folder:
        words = [_word(model, folder) for model in models]
        points = os.path.join(folder, "points.jsonl")
        answers = os.path.join(folder, "answers.json")
        asks = any(options.get(name) for name in ("pareto", "knee", "sensitivity", "best_under"))
        outputs = ["--jsonl", points, *(["--json", answers] if asks else ["--summary"])]
        done = _commands.run("sweep", words, options, outputs)
        for model in models:
            if isinstance(model, Model):  # tables say its name, not where its file is
                _replace_in(points, json.dumps(model._word), json.dumps(model.name))
                done = done._replace(text=done.text.replace(model._word, model.name))
        return Sweep.of_file(points, _read(answers) if asks else None, done.text, done.messages, done.code)


def _replace_in(path: str, old: str, new: str) -> None:
    with builtins.open(path, encoding="utf-8") as file:
        text = file.read()
    with builtins.open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))



class Figure(str):
    """A figure: the text of an SVG, which notebooks show."""

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: Path) -> None:
        with builtins.open(path, "w", encoding="utf-8") as file:
            file.write(self)


def plot(*what: Input, kind: str, path: Optional[Path] = None, **options: Any) -> Figure:
    """A figure of results, networks or recordings; with `path` also as that file (.svg, .png, .pdf). The kinds are in
    `strata plot --kind help`: layers, types, timeline, memory, roofline-time, sweep-line, pareto and more."""
    with tempfile.TemporaryDirectory(prefix="strata-") as folder:
        words = [_word(given, folder) for given in what]
        if path is not None:
            _commands.run("plot", words, {"kind": kind, **options}, ["-o", os.fspath(path)])
        return Figure(_commands.run("plot", words, {"kind": kind, **options}, ["-o", "-"]).text)


def _listed(command: str, words: Sequence[str], key: str, caption: str) -> Table:
    table = Table(Record(item) for item in _document(command, words, {})[key])
    table.caption = caption
    return table


def machines() -> Table:
    """The machines that `on` names: those that ship, and those that were measured here."""
    return _listed("machine", ["list"], "machines", "Machines")


def machine(name: str) -> Machine:
    """One machine with the source of every number."""
    return _document("machine", ["show", name], {})


def networks() -> Table:
    """The built-in networks."""
    return _listed("list", ["networks"], "networks", "Networks")


def open(path: Path) -> Result:
    """A stored result: what save or --json wrote, the points of a sweep, or a recording of a program."""
    file = os.fspath(path)
    if file.endswith(".jsonl"):
        return Sweep.of_file(file)
    try:
        document = _read(file)
    except (ValueError, OSError):  # no JSON, or none: a recording, or the error that says what is wrong
        return trace(file)
    is_ours = isinstance(document, dict) and ("schema_version" in document or "strata_machine" in document)
    return result_of(document) if is_ours else trace(file)


def options(command: str) -> List[Dict[str, str]]:
    """The keywords that a function takes, with what they mean: options("predict")."""
    from . import _strata

    return [{"name": name.replace("-", "_"), "value": value, "help": text}
            for name, value, text, _ in _strata.flags(command)]
