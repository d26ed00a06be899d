#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_pytorch.py DUMP STRATA: loss and gradients of networks on the GPU, by Strata and by PyTorch.

DUMP is the program strata_training_dump, STRATA the program strata. Both compute one iteration in fp32 from
the same weights, inputs and dropped numbers. Exit code 1 when they do not agree.
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

# Gradients of a deep network in fp32 differ by how sums are ordered: a batch normalisation divides by
# deviations of few numbers, and a ReLU at zero switches. Loss is a mean and does not.
CASES = [
    ("alexnet", 8, [], 1e-4, 5e-3),
    ("resnet18", 8, [], 1e-4, 2e-2),
    ("mobilenet_v2", 8, [], 1e-4, 5e-2),
    ("lstm_stack:layers=2,hidden=128,features=64,classes=10", 8, ["seq=20"], 1e-4, 5e-3),
    ("transformer_base:layers=1,vocabulary=1000", 4, ["seq=24"], 1e-4, 5e-3),
    ("gpt2", 1, ["seq=128"], 1e-4, 5e-3),
]


def compare(dump, strata, model, batch, dims, folder):
    subprocess.run([dump, model, str(batch), "fp32", folder, *dims], check=True, env=same_libraries())
    index = json.loads((pathlib.Path(folder) / "index.json").read_text())
    data = np.fromfile(pathlib.Path(folder) / "data.bin", np.float32)
    own = {}
    for entry in index["tensors"]:
        numbers = torch.from_numpy(data[entry["begin"]:entry["begin"] + entry["count"]].copy())
        kind = torch.int64 if entry["dtype"].startswith("int") else torch.float32
        own[entry["name"]] = numbers.to("cuda", kind).reshape(entry["shape"])
    for entry in index["tensors"]:
        if entry["kind"] == "parameter":
            own[entry["name"]].requires_grad_()
    description = convert(strata, model)
    network = Network(description, own, "cuda", exact_dropout=True)
    logits = network({name: own[name] for name in network.inputs})
    loss = F.cross_entropy(logits.flatten(0, -2), own["targets"].flatten())
    loss.backward()
    worst, worst_name = 0.0, ""
    for entry in index["gradients"]:
        found = data[entry["begin"]:entry["begin"] + entry["count"]]
        expected = own[entry["name"]].grad.flatten().cpu().numpy()
        size = float(np.linalg.norm(expected.astype(np.float64)))
        error = float(np.linalg.norm(found.astype(np.float64) - expected)) / (size + 1e-12)
        if not np.isfinite(error):
            error = float("inf")
        # A bias before a batch normalisation has no gradient but rounding.
        if size > 1e-6 * max(1.0, len(expected) ** 0.5) and error > worst:
            worst, worst_name = error, entry["name"]
    return index, loss.item(), worst, worst_name


def main():
    dump, strata = sys.argv[1:3]
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}")
    is_right = True
    is_first = True
    for model, batch, dims, loss_tolerance, tolerance in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                index, theirs, worst, name = compare(dump, strata, model, batch, dims, folder)
            except Exception as error:  # the others still run
                print(f"{model}: FAILED: {error!r}")
                is_right = False
                continue
        if is_first:
            print("Strata with", ", ".join(index["versions"]))
            is_first = False
        ours, not_run = index["loss"], len(index["not_run"])
        loss_error = abs(ours - theirs) / abs(theirs)
        agrees = loss_error < loss_tolerance and worst < tolerance and not_run == 0
        is_right = is_right and agrees
        print(f"{model} batch {batch}: loss {ours:.7f} / {theirs:.7f} ({loss_error:.1e}), worst gradient "
              f"{worst:.1e} ({name}), {not_run} layers not run: {'agrees' if agrees else 'DIFFERS'}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
