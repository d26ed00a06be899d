# SPDX-License-Identifier: Apache-2.0
"""A network in Strata's own format (strata convert), computed by PyTorch.

Only what PyTorch itself would be written with is called, so that times can be compared too.
"""
import json
import os
import pathlib
import subprocess

import numpy as np
import torch
import torch.nn.functional as F


def same_libraries():
    """An environment in which Strata loads the libraries that PyTorch brings with it."""
    site = pathlib.Path(torch.__file__).parent.parent
    folders = []
    for name in ("libcudnn.so.9", "libcublasLt.so.*"):
        for found in [*site.glob(f"nvidia/**/{name}"), *site.glob(f"torch/lib/{name}")]:
            if str(found.parent) not in folders:
                folders.append(str(found.parent))
    return dict(os.environ, LD_LIBRARY_PATH=":".join(folders))


def convert(strata, model):
    return json.loads(subprocess.run([strata, "convert", model, "-o", "-"], check=True,
                                     capture_output=True, text=True).stdout)


def extent_of(extent, dims):
    """An extent of a shape as the format writes it: a number, or an expression of dims such as min(seq, 512)."""
    if isinstance(extent, int):
        return extent
    return int(eval(extent, {"__builtins__": {}, "min": min, "max": max}, dict(dims)))


def second_product(x):
    x = np.asarray(x, np.uint32)
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x21F0AAAD)
    x = x ^ (x >> np.uint32(15))
    return x * np.uint32(0xD35A2D97)


def mixed_bits(x):
    x = second_product(x)
    return x ^ (x >> np.uint32(15))


def kept_by_dropout(node, count, probability):
    """Which numbers Strata keeps: measure/engine/constants.hpp."""
    places = np.arange(count, dtype=np.uint32)
    numbers = places // np.uint32(32) * np.uint32(16) + places % np.uint32(16)
    with np.errstate(over="ignore"):
        key = mixed_bits(np.uint32(node) * np.uint32(0x9E3779B9) + mixed_bits(np.uint32(1)))
        hashes = second_product(numbers ^ key)
    halves = np.where(places // 16 % 2 == 0, hashes & np.uint32(0xFFFF), hashes >> np.uint32(16))
    return halves >= int(probability * 65536 + 0.5)


class Network:
    """Layers by name; `own` maps the names of weights to tensors."""

    def __init__(self, description, own, device, exact_dropout):
        self.layers = description["layers"]
        self.outputs = description["outputs"]
        self.inputs = list(description["inputs"])
        self.own = own
        self.device = device
        self.exact_dropout = exact_dropout
        self.masks = {}
        self.dims = dict(description.get("dims", {}))

    def __call__(self, given):
        return self.outputs_of(given)[0]

    def outputs_of(self, given):
        values = dict(given)
        previous = self.inputs[0]
        node = 0
        for layer in self.layers:
            name, op = layer["name"], layer["op"]
            if op in ("constant", "parameter", "buffer"):
                values[name] = self.own[name]
                continue
            inputs = [values[i] for i in layer.get("inputs", [previous])]
            result = self.run(op, layer, inputs, node)
            parts = result if isinstance(result, (tuple, list)) else [result]
            values[name] = parts[0]
            for i, part in enumerate(parts):
                values[f"{name}:{i}"] = part
            previous = name
            node += 1
        return [values[name] for name in self.outputs]

    def weight(self, layer, which, index):
        if "weights" in layer:  # of another layer; what it has not, this one has not either
            return self.own[layer["weights"][index]] if index < len(layer["weights"]) else None
        return self.own.get(f'{layer["name"]}.{which}')

    def run(self, op, layer, x, node):
        a = x[0]
        if op == "convolution":
            pad = layer.get("pad", 0)
            return F.conv2d(a, self.weight(layer, "weight", 0), self.weight(layer, "bias", 1),
                            layer.get("stride", 1), pad, layer.get("dilation", 1), layer.get("groups", 1))
        if op == "batch_norm":
            w = [self.weight(layer, n, i) for i, n in
                 enumerate(["weight", "bias", "running_mean", "running_var"])]
            return F.batch_norm(a, w[2], w[3], w[0], w[1], training=True)
        if op == "linear":
            return F.linear(a, self.weight(layer, "weight", 0), self.weight(layer, "bias", 1))
        if op == "relu":
            return F.relu(a)
        if op == "relu6":
            return F.relu6(a)
        if op == "gelu":
            return F.gelu(a)
        if op == "tanh":
            return torch.tanh(a)
        if op == "gelu_tanh":
            return F.gelu(a, approximate="tanh")
        if op == "max_pool":
            return F.max_pool2d(a, layer["kernel"], layer.get("stride", 1), layer.get("pad", 0),
                                ceil_mode=layer.get("ceil_mode", False))
        if op == "adaptive_average_pool":
            return F.adaptive_avg_pool2d(a, layer.get("output", 1))
        if op == "flatten":
            return torch.flatten(a, layer.get("axis", 1))
        if op == "add":
            return sum(x[1:], a)
        if op == "multiply":
            return a * x[1]
        if op == "concat":
            return torch.cat(x, layer.get("axis", 1))
        if op == "split":
            axis = layer.get("axis", 1)
            return torch.split(a, layer.get("sizes") or a.shape[axis] // layer["parts"], axis)
        if op == "reshape":
            return a.reshape([extent_of(e, self.dims) for e in layer["shape"]])
        if op == "expand":
            return a.expand([extent_of(e, self.dims) for e in layer["shape"]])
        if op == "transpose":
            return a.permute(layer.get("permutation") or list(range(a.dim()))[::-1])
        if op == "slice":
            for axis, begin, end in zip(layer["axes"], layer["begin"], layer["end"]):
                a = a.narrow(axis, begin, end - begin)
            return a
        if op == "dropout":
            return self.dropout(a, layer.get("probability", 0.5), node)
        if op == "embedding":
            return F.embedding(a, self.weight(layer, "weight", 0))
        if op == "layer_norm":
            w = self.weight(layer, "weight", 0)
            return F.layer_norm(a, w.shape, w, self.weight(layer, "bias", 1))
        if op == "rms_norm":  # PyTorch's epsilon in fp32, also in the run in double precision
            w = self.weight(layer, "weight", 0)
            return F.rms_norm(a, w.shape, w, 2.0 ** -23)
        if op == "silu":
            return F.silu(a)
        if op == "rotary_embedding":
            return self.rotate(a, layer)
        if op == "attention":
            return self.attention(x, layer)
        if op == "lstm":
            return self.lstm(a, layer)
        raise NotImplementedError(op)

    def dropout(self, a, probability, node):
        if not self.exact_dropout:
            return F.dropout(a, probability, training=True)
        if node not in self.masks:
            kept = kept_by_dropout(node, a.numel(), probability)
            self.masks[node] = torch.from_numpy(kept).to(self.device).reshape(a.shape)
        return torch.where(self.masks[node], a / (1 - probability), torch.zeros_like(a))

    def rotate(self, a, layer):
        """Pairs are half a head apart; the tables are [time, pair]."""
        cosine, sine = (self.own[f'{layer["name"]}.{which}'][None, :, None, :] for which in ("cosine", "sine"))
        first, second = a.unflatten(2, (layer["heads"], 2, -1)).unbind(3)
        turned = torch.cat([first * cosine - second * sine, first * sine + second * cosine], 3)
        return turned.flatten(2)

    @staticmethod
    def attention(x, layer):
        heads = layer["heads"]
        kv_heads = layer.get("kv_heads") or heads
        q, k, v = (t.unflatten(2, (n, -1)).transpose(1, 2) for t, n in zip(x, (heads, kv_heads, kv_heads)))
        if kv_heads != heads:
            k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=layer.get("causal", False))
        return y.transpose(1, 2).flatten(2)

    def lstm(self, a, layer):
        width = layer["hidden"]
        layers = layer.get("layers", 1)
        names = [f"{kind}_l{i}" for i in range(layers)
                 for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        flat = [self.own[f'{layer["name"]}.{n}'] for n in names]
        zero = a.new_zeros(layers, a.shape[0], width)
        return torch.lstm(a, (zero, zero), flat, True, layers, 0.0, True, False, True)
