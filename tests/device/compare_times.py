#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_times.py STRATA [MODEL:BATCH...]: training iterations in fp32 by Strata and by PyTorch eager, one after
the other on the same GPU.

PyTorch runs with cudnn.benchmark and without TF32; its kernel time is what torch.profiler sees. Strata's is what its
own tracing sees where it has one, and else the recorded graph, which has no gaps to speak of.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

from torch_network import Network, convert, same_libraries

MODELS = ["alexnet", "vgg16", "resnet18", "resnet50", "mobilenet_v2"]
BATCHES = [32, 128]


def pytorch(strata, model, batch, iterations=10):
    description = convert(strata, model)
    own = {}
    x = torch.randn(batch, 3, 224, 224, device="cuda")
    network = LazyNetwork(description, own, "cuda", exact_dropout=False)
    targets = torch.randint(0, 1000, (batch,), device="cuda")
    parameters = None

    def iterate():
        nonlocal parameters
        loss = F.cross_entropy(network({network.inputs[0]: x}), targets)
        if parameters is None:
            parameters = [t for t in own.values() if t.requires_grad]
            iterate.optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
        loss.backward()
        iterate.optimizer.step()
        iterate.optimizer.zero_grad(set_to_none=True)

    for _ in range(3):
        iterate()
    torch.cuda.synchronize()
    walls = []
    for _ in range(iterations):
        begin = time.perf_counter()
        iterate()
        torch.cuda.synchronize()
        walls.append(time.perf_counter() - begin)
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(3):
            iterate()
        torch.cuda.synchronize()
    kernels = sum(e.self_device_time_total for e in profiler.key_averages()) / 3 * 1e-6
    return sorted(walls)[len(walls) // 2], kernels


class LazyNetwork(Network):
    """Makes weights when they are first asked for: what they are does not matter for the time."""

    def weight(self, layer, which, index):
        return self.own.get(f'{layer["name"]}.{which}')

    def run(self, op, layer, x, node):
        name = layer["name"]

        def make(which, shape, value=None):
            full = f"{name}.{which}"
            if full not in self.own:
                t = torch.randn(shape, device=self.device) * 0.02 if value is None else torch.full(
                    shape, value, device=self.device)
                self.own[full] = t.requires_grad_(which in ("weight", "bias"))

        if op == "convolution":
            k = layer["kernel"]
            k = [k, k] if isinstance(k, int) else k
            make("weight", [layer["channels"], x[0].shape[1] // layer.get("groups", 1), *k])
            if layer.get("bias", True):
                make("bias", [layer["channels"]], 0.0)
        elif op == "linear":
            make("weight", [layer["features"], x[0].shape[-1]])
            if layer.get("bias", True):
                make("bias", [layer["features"]], 0.0)
        elif op == "batch_norm":
            make("weight", [x[0].shape[1]], 1.0)
            make("bias", [x[0].shape[1]], 0.0)
            make("running_mean", [x[0].shape[1]], 0.0)
            make("running_var", [x[0].shape[1]], 1.0)
        elif op in ("relu", "relu6"):  # in place, as torchvision's networks have it
            return F.relu_(x[0]) if op == "relu" else F.hardtanh_(x[0], 0.0, 6.0)
        return super().run(op, layer, x, node)


def ours(strata, model, batch, iterations=10):
    folder = os.environ.get("PROFILES")  # where they are kept
    with (open(f"{folder}/{model}-{batch}.json", "w+") if folder else
          tempfile.NamedTemporaryFile("w+", suffix=".json")) as file:
        done = subprocess.run([strata, "measure", model, "--device", "cuda", "--batch", str(batch), "--dtype", "fp32",
                               "--iterations", str(iterations), "--graph", "--json", file.name],
                              capture_output=True, text=True, env=same_libraries())
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or done.stdout[-500:])
        return json.load(open(file.name))


def main():
    strata = sys.argv[1]
    cases = [c.split(":") for c in sys.argv[2:]] or [(m, b) for b in BATCHES for m in MODELS]
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}; ms")
    print(f"{'network':14}{'batch':>6}{'torch wall':>12}{'kernels':>10}{'strata wall':>13}{'kernels':>10}{'layers':>10}"
          f"{'graph':>10}{'ratio':>8}{'set-up s':>10}")
    is_said = False
    for model, batch in cases:
        batch = int(batch)
        try:
            wall, kernels = pytorch(strata, model, batch)
            torch.cuda.empty_cache()
            begin = time.perf_counter()
            profile = ours(strata, model, batch)
            totals = profile["totals"]
            spent = time.perf_counter() - begin
        except Exception as error:  # the others still run
            print(f"{model:14}{batch:6}  FAILED: {error!r}", flush=True)
            continue
        if not is_said:
            print("Strata with", profile["provenance"].get("versions"), flush=True)
            is_said = True
        graph = totals.get("recorded_time_s") or float("nan")
        own = totals["busy_time_s"] or graph
        print(f"{model:14}{batch:6}{wall * 1e3:12.2f}{kernels * 1e3:10.2f}{totals['time_s'] * 1e3:13.2f}{own * 1e3:10.2f}"
              f"{totals['busy_time_s'] * 1e3:10.2f}{graph * 1e3:10.2f}{own / kernels:8.3f}{spent:10.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
