#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_pytorch.py DUMP STRATA: loss and gradients of networks on the GPU, by Strata and by PyTorch.

DUMP is the program strata_training_dump, STRATA the program strata. Both compute one iteration in fp32 from
the same weights, inputs and dropped numbers, and PyTorch once more in double precision, which decides. Exit code 1
when they do not agree.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

from torch_network import Network, convert, same_libraries

# How far a gradient may be from PyTorch's in double precision. In fp32 a ReLU near zero and a maximum among equals switch,
# and each changes a gradient by a step: the distance grows like the root of what the forward pass is off. Convolutions by
# Fourier transforms are off by up to 2e-5, Winograd's by more, a plain sum by some 1e-7. So networks with convolutions are
# computed twice: by cuDNN's fastest engines, and then ours may be ten times as far as PyTorch's own gradients in fp32; and
# with every convolution as a plain sum, and then no more than twice. The last column forces it.
CASES = [
    ("alexnet", 8, [], 1e-5, 10, ""),
    ("alexnet", 8, [], 1e-5, 2, "direct"),
    ("resnet18", 8, [], 1e-5, 10, ""),
    ("resnet18", 8, [], 1e-5, 2, "direct"),
    ("mobilenet_v2", 8, [], 1e-5, 10, ""),
    ("lstm_stack:layers=2,hidden=128,features=64,classes=10", 8, ["seq=20"], 1e-5, 2, ""),
    ("transformer_base:layers=1,vocabulary=1000", 4, ["seq=24"], 1e-5, 2, ""),
    ("llama:layers=1,width=256,heads=4,kv_heads=2,ffn=512,vocabulary=1000", 4, ["seq=24"], 1e-5, 2, ""),
]
# Where PyTorch's own distance is only that of rounding, ours may be this far.
ROUNDING = 1e-3


def iteration(description, tensors, data, kind):
    """Loss and gradients by PyTorch, computed in one data type."""
    own = {}
    for entry in tensors:
        numbers = torch.from_numpy(data[entry["begin"]:entry["begin"] + entry["count"]].copy())
        is_whole = entry["dtype"].startswith("int")
        own[entry["name"]] = numbers.to("cuda", torch.int64 if is_whole else kind).reshape(entry["shape"])
        if entry["kind"] == "parameter":
            own[entry["name"]].requires_grad_()
    network = Network(description, own, "cuda", exact_dropout=True)
    logits = network({name: own[name] for name in network.inputs})
    loss = F.cross_entropy(logits.flatten(0, -2), own["targets"].flatten())
    loss.backward()
    return loss.item(), {name: t.grad.flatten().double().cpu().numpy() for name, t in own.items()
                         if t.requires_grad and t.grad is not None}


def worst_of(found, exact):
    """The largest error of a gradient, relative to it, or to the others where it is zero but for rounding."""
    norms = {name: float(np.linalg.norm(g)) for name, g in exact.items()}
    least = 1e-4 * float(np.linalg.norm(list(norms.values()))) / len(norms) ** 0.5
    errors = {name: float(np.linalg.norm(found[name] - g)) / max(norms[name], least) for name, g in exact.items()}
    name = max(errors, key=lambda n: errors[n] if np.isfinite(errors[n]) else np.inf)
    return (errors[name] if np.isfinite(errors[name]) else float("inf")), name


def compare(dump, strata, model, batch, words, folder):
    subprocess.run([dump, model, str(batch), "fp32", folder, *words], check=True, env=same_libraries())
    index = json.loads((pathlib.Path(folder) / "index.json").read_text())
    data = np.fromfile(pathlib.Path(folder) / "data.bin", np.float32)
    description = convert(strata, model)
    exact_loss, exact = iteration(description, index["tensors"], data, torch.float64)
    loss, theirs = iteration(description, index["tensors"], data, torch.float32)
    ours = {e["name"]: data[e["begin"]:e["begin"] + e["count"]].astype(np.float64) for e in index["gradients"]}
    return index, exact_loss, loss, worst_of(ours, exact), worst_of(theirs, exact)


def main():
    dump, strata = sys.argv[1:3]
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}")
    is_right = True
    is_first = True
    for model, batch, dims, loss_tolerance, times, forced in CASES:
        words = [*dims, f"--conv={forced}"] if forced else dims
        with tempfile.TemporaryDirectory() as folder:
            try:
                index, exact, theirs, (worst, name), (their_worst, their_name) = compare(
                    dump, strata, model, batch, words, folder)
            except Exception as error:  # the others still run
                print(f"{model}: FAILED: {error!r}", flush=True)
                is_right = False
                continue
        if is_first:
            print("Strata with", ", ".join(index["versions"]))
            is_first = False
        not_run = len(index["not_run"])
        loss_error = abs(index["loss"] - exact) / abs(exact)
        agrees = loss_error < loss_tolerance and worst < max(ROUNDING, times * their_worst) and not_run == 0
        is_right = is_right and agrees
        ways = ", ".join(f"{count} {way}" for way, count in index["convolutions"].items())
        print(f"{model} batch {batch}{', ' + forced if forced else ''}: loss {index['loss']:.7f}, PyTorch {theirs:.7f}, "
              f"in double {exact:.7f}; worst gradient {worst:.1e} ({name}), PyTorch's own {their_worst:.1e} ({their_name}), "
              f"at most {times} times; {not_run} layers not run: {'agrees' if agrees else 'DIFFERS'}", flush=True)
        if ways:
            print(f"  convolutions: {ways}", flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
