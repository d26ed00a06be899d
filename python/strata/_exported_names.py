# SPDX-License-Identifier: Apache-2.0
"""Layers called as the modules of PyTorch that they come from: what the ONNX exporter calls
"/layer1/layer1.0/relu_1/Relu" is the second call of the module layer1.0.relu."""
from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set

NUMBERED = re.compile(r"(.+)_(\d+)")
STORED = ("parameter", "buffer", "constant", "input")


class Place(NamedTuple):
    """A call of a module; number is "_1" of the second one."""

    path: str
    number: str


def _place(scopes: Sequence[str], modules: Mapping[str, Any]) -> Optional[Place]:
    """The module that scopes of the exporter mean. A part of a container repeats the container's name: layer1,
    layer1.0."""
    path, before, number = "", "", ""
    for scope in scopes:
        numbered = NUMBERED.fullmatch(scope)
        candidates = [(scope, "")] + ([(numbered[1], "_" + numbered[2])] if numbered else [])
        for name, call in candidates:
            own = name[len(before) + 1:] if before and name.startswith(before + ".") else name
            full = f"{path}.{own}" if path else own
            if full in modules:
                path, before, number = full, name, number + call
                break
        else:
            return None
    return Place(path, number)


def _owner(layer: Mapping[str, Any], is_leaf: Mapping[str, bool]) -> str:
    """The one module without modules of its own that all weights of the layer are in: functions take weights of
    modules that are never called."""
    owners = {name.rpartition(".")[0] for name in layer.get("weights", [])}
    owner = owners.pop() if len(owners) == 1 else ""
    return owner if is_leaf.get(owner) else ""


def _wanted_names(layers: List[Dict[str, Any]], modules: Mapping[str, Any]) -> Dict[str, str]:
    is_leaf = {path: next(iter(module.children()), None) is None for path, module in modules.items() if path}
    names: Dict[str, str] = {}
    of_call: Dict[Place, List[Dict[str, Any]]] = {}
    for layer in layers:
        *scopes, operator = layer["name"].strip("/").split("/")
        place = _place(scopes, modules)
        owner = _owner(layer, is_leaf)
        if place is None or (owner and place.path != owner):
            names[layer["name"]] = owner or ".".join([*scopes, operator])
            continue
        names[layer["name"]] = f"{place.path}{place.number}.{operator}" if place.path else operator
        if is_leaf.get(place.path):
            of_call.setdefault(place, []).append(layer)
    for place, inside in of_call.items():
        main = inside if len(inside) == 1 else [layer for layer in inside if "weights" in layer]
        if len(main) == 1:
            names[main[0]["name"]] = place.path + place.number
    return names


def _unique(names: Dict[str, str], taken: Set[str]) -> Dict[str, str]:
    unique = {}
    for old, new in names.items():
        name, number = new, 0
        while name in taken:
            number += 1
            name = f"{new}_{number}"
        taken.add(name)
        unique[old] = name
    return unique


def rename(document: Dict[str, Any], module: Any) -> None:
    """Renames the layers of a network document after the modules, wherever they are named. Data that the module holds
    otherwise than as parameters is none."""
    parameters = {name for name, value in module.state_dict(keep_vars=True).items()
                  if type(value).__name__.endswith("Parameter")}
    buffers = {name for name, _ in module.named_buffers()}
    for layer in document["layers"]:
        if layer["op"] == "parameter" and layer["name"] not in parameters:
            layer["op"] = "buffer" if layer["name"] in buffers else "constant"
    stored = {layer["name"] for layer in document["layers"] if layer["op"] in STORED}
    named = [layer for layer in document["layers"] if layer["name"].startswith("/") and layer["op"] not in STORED]
    kept = {layer["name"] for layer in document["layers"]} - {layer["name"] for layer in named}
    names = _unique(_wanted_names(named, dict(module.named_modules())), stored | kept | set(document["inputs"]))

    def renamed(reference: str) -> str:
        if reference in names:
            return names[reference]
        base, mark, output = reference.rpartition(":")  # a further output of a layer
        return names[base] + mark + output if base in names else reference

    for layer in document["layers"]:
        layer["name"] = renamed(layer["name"])
        for key in ("inputs", "outputs", "weights", "weights_of"):
            value = layer.get(key)
            if isinstance(value, str):
                layer[key] = renamed(value)
            elif value is not None:
                layer[key] = [renamed(reference) for reference in value]
    if "outputs" in document:
        document["outputs"] = [renamed(reference) for reference in document["outputs"]]
