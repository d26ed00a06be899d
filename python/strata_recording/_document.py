# SPDX-License-Identifier: Apache-2.0
"""A recording as the document `strata_operations`, which every command reads."""
from __future__ import annotations

from typing import Any, Dict, List, Optional

import torch

from ._layers import Layer
from ._recorder import Recorder

VERSION = 1


def _number(numbers: Dict[Any, int], rows: List[Any], key: Any, row: Any) -> int:
    if key not in numbers:
        numbers[key] = len(rows)
        rows.append(row)
    return numbers[key]


def document_of(recorder: Recorder, *, name: str, title: str = "", source: str = "", training: bool = True, samples: int = 0,
                autocast: Optional[torch.dtype] = None, assumed: Optional[Dict[str, str]] = None,
                is_real: bool = False) -> Dict[str, Any]:
    layers: List[Dict[str, str]] = []
    lines: List[str] = []
    numbers: Dict[Any, int] = {}
    operations = []
    for one in recorder.operations:
        layer = one["layer"]
        if layer is None:
            base = one["op"].split("::")[-1].split(".")[0].strip("_")
            layer = Layer(base, base)
        operation = {"op": one["op"], "pass": one["pass"],
                     "layer": _number(numbers, layers, layer, {"name": layer.name, "type": layer.type}),
                     "inputs": one["inputs"], "outputs": one["outputs"]}
        for key in ("mutates", "arguments", "frees"):
            if one[key]:
                operation[key] = one[key]
        if one.get("recomputed"):
            operation["recomputed"] = True
        if one.get("line"):
            operation["line"] = _number(numbers, lines, one["line"], one["line"])
        operations.append(operation)
    storages = [{"bytes": count} for count in recorder.storages.bytes]
    for storage, (kind, called) in recorder.roles.items():
        storages[storage].update({"kind": kind, "name": called})
    tensors = [[one["dtype"], one["shape"], one["stride"], one["storage"], one["offset"]] for one in recorder.tensors]
    return _of_this_step({
        "strata_operations": VERSION, "name": name, "title": title or name, "source": source,
        "framework": "PyTorch " + torch.__version__, "recorded_on": "cuda" if is_real else "shapes", "training": training,
        "samples": samples, "autocast": str(autocast).replace("torch.", "") if autocast else None,
        "tf32": bool(torch.backends.cuda.matmul.allow_tf32), "assumed": assumed or {}, "lines": lines, "layers": layers,
        "storages": storages, "tensors": tensors, "operations": operations,
    })


def _flat(value: Any) -> List[int]:
    if isinstance(value, list):
        return [item for one in value for item in _flat(one)]
    return [] if value is None else [value]


def _of_this_step(document: Dict[str, Any]) -> Dict[str, Any]:
    """Without tensors of steps before, numbered anew."""
    tensors: Dict[int, int] = {}
    for operation in document["operations"]:
        for key in ("inputs", "outputs", "mutates"):
            for number in _flat(operation.get(key, [])):
                tensors.setdefault(number, len(tensors))
    storages: Dict[int, int] = {}
    for number in tensors:
        storages.setdefault(document["tensors"][number][3], len(storages))
    for number, storage in enumerate(document["storages"]):
        if storage.get("kind") in ("parameter", "buffer", "state"):  # there is, even where nothing reads it
            storages.setdefault(number, len(storages))

    def renumbered(value: Any) -> Any:
        if isinstance(value, list):
            return [renumbered(item) for item in value]
        return None if value is None else tensors[value]

    for operation in document["operations"]:
        for key in ("inputs", "outputs", "mutates"):
            if key in operation:
                operation[key] = renumbered(operation[key])
        if "frees" in operation:
            operation["frees"] = [storages[number] for number in operation["frees"] if number in storages]
    document["tensors"] = [[*document["tensors"][number][:3], storages[document["tensors"][number][3]],
                            document["tensors"][number][4]] for number in tensors]
    document["storages"] = [document["storages"][number] for number in storages]
    return document
