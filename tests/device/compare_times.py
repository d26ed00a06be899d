#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_times.py STRATA [RESULT.json] [MODEL:BATCH:DTYPE...]: kernel time of training iterations by Strata and by
PyTorch eager, one after the other on the same GPU and with the same libraries.

PyTorch runs with cudnn.benchmark; its kernel time is what torch.profiler sees. Strata's is the sum of its layers, which
is what its own tracing sees. Where the two differ by more than 15 % the families of operators that differ are printed
below the table, PyTorch's by the operators that launched the kernels. The table is the result: the exit code is 0 in any
case. Networks are those of point 2 of the plan: within 15 % of what frameworks do, both ways.
"""
import json
import re
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

from torch_network import Network, convert, extent_of, same_libraries

MODELS = ["alexnet", "vgg16", "resnet18", "resnet50", "mobilenet_v2", "vit_b16", "bert_base"]
BATCHES = [32, 128]
DTYPES = ["fp32", "tf32"]
BOUND = 0.15
ITERATIONS = 5

# Families of operators, by what is in the name of the outermost PyTorch operator that matches, and by Strata's operators.
FAMILIES = [
    ("update", r"Optimizer|_foreach", set()),
    ("convolution", r"[Cc]onvolution", {"convolution"}),
    ("linear", r"linear|addmm|Addmm|aten::mm$|MmBackward|TBackward", {"linear", "matmul"}),
    ("batch norm", r"batch_norm|BatchNorm", {"batch_norm"}),
    ("layer norm", r"layer_norm|LayerNorm", {"layer_norm"}),
    ("attention", r"scaled_dot_product|ScaledDotProduct|attention", {"attention"}),
    ("pooling", r"pool|Pool|aten::mean|MeanBackward", {"max_pool", "average_pool", "adaptive_average_pool"}),
    ("activation", r"relu|Relu|gelu|Gelu|hardtanh|Hardtanh|tanh|Tanh|threshold|clamp",
     {"relu", "relu6", "gelu", "tanh"}),
    ("dropout", r"dropout|Dropout", {"dropout"}),
    ("embedding", r"embedding|Embedding", {"embedding"}),
    ("loss", r"cross_entropy|log_softmax|LogSoftmax|nll|Nll", {"softmax_cross_entropy", "loss"}),
    ("element-wise", r"aten::add|AddBackward|aten::mul|MulBackward|AccumulateGrad", {"add", "multiply"}),
    ("movement", r".", {"concat", "split", "slice", "transpose", "reshape", "expand", "flatten"}),
]


class LazyNetwork(Network):
    """Makes weights when they are first asked for: what they are does not matter for the time."""

    def __init__(self, description, own, device, dims):
        super().__init__(description, own, device, exact_dropout=False)
        self.dims = dims
        for layer in self.layers:
            if layer["op"] in ("parameter", "buffer"):
                shape = [extent_of(e, dims) for e in layer["shape"]]
                own[layer["name"]] = (torch.randn(shape, device=device) * 0.02).requires_grad_(layer["op"] == "parameter")
            elif layer["op"] == "constant":
                shape = [extent_of(e, dims) for e in layer["shape"]]
                own[layer["name"]] = torch.arange(shape[-1], device=device).expand(shape)

    def weight(self, layer, which, index):
        return self.own.get(f'{layer["name"]}.{which}')

    def make(self, layer, which, shape, value=None):
        full = f'{layer["name"]}.{which}'
        if full in self.own:
            return
        made = torch.randn(shape, device=self.device) * 0.02 if value is None else torch.full(
            shape, value, device=self.device)
        self.own[full] = made.requires_grad_(which in ("weight", "bias"))

    def run(self, op, layer, x, node):
        if op == "convolution":
            k = layer["kernel"]
            k = [k, k] if isinstance(k, int) else k
            self.make(layer, "weight", [layer["channels"], x[0].shape[1] // layer.get("groups", 1), *k])
            if layer.get("bias", True):
                self.make(layer, "bias", [layer["channels"]], 0.0)
        elif op == "linear":
            self.make(layer, "weight", [layer["features"], x[0].shape[-1]])
            if layer.get("bias", True):
                self.make(layer, "bias", [layer["features"]], 0.0)
        elif op in ("batch_norm", "layer_norm"):
            width = x[0].shape[1 if op == "batch_norm" else -1]
            for which, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
                if op == "batch_norm" or which in ("weight", "bias"):
                    self.make(layer, which, [width], value)
        elif op == "embedding":
            self.make(layer, "weight", [layer["vocabulary"], layer["width"]])
        elif op in ("relu", "relu6"):  # in place, as torchvision's networks have it
            return F.relu_(x[0]) if op == "relu" else F.hardtanh_(x[0], 0.0, 6.0)
        return super().run(op, layer, x, node)


class TorchIteration:
    """One training iteration of a network by PyTorch eager, again and again."""

    def __init__(self, description, batch, device="cuda"):
        self.dims = dict(description["dims"], batch=batch)
        self.device = device
        self.own = {}
        self.network = LazyNetwork(description, self.own, device, self.dims)
        self.given = {name: self.input_of(shape) for name, shape in description["inputs"].items()}
        self.optimizer = None
        self.targets = None

    def input_of(self, described):
        shape = described["shape"] if isinstance(described, dict) else described
        extents = [extent_of(e, self.dims) for e in shape]
        if isinstance(described, dict) and described.get("dtype", "").startswith("int"):
            return torch.randint(0, 2, extents, device=self.device)
        return torch.randn(extents, device=self.device)

    def __call__(self):
        outputs = self.network.outputs_of(self.given)
        if len(outputs) == 1:
            if self.targets is None:
                self.targets = torch.randint(0, outputs[0].shape[-1], (outputs[0].shape[0],), device=self.device)
            roots, gradients = [F.cross_entropy(outputs[0], self.targets)], [None]
        else:
            if self.targets is None:
                self.targets = [torch.randn_like(output) for output in outputs]
            roots, gradients = outputs, self.targets
        if self.optimizer is None:
            self.optimizer = torch.optim.SGD([t for t in self.own.values() if t.requires_grad], lr=0.001, momentum=0.9)
        torch.autograd.backward(roots, gradients)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def family_of(names):
    for name in names:  # the outermost first
        for family, pattern, _ in FAMILIES[:-1]:
            if re.search(pattern, name):
                return family
    return FAMILIES[-1][0]


def torch_families(iterate):
    """Seconds of kernels per iteration, by the family of the operator that launched them."""
    rounds = 2
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(rounds):
            iterate()
        torch.cuda.synchronize()
    families = {}
    for event in profiler.events():
        seconds = sum(kernel.duration for kernel in getattr(event, "kernels", [])) * 1e-6 / rounds
        if seconds == 0:
            continue
        names, at = [], event
        while at is not None:
            names.append(at.name)
            at = at.cpu_parent
        family = family_of(reversed(names))
        families[family] = families.get(family, 0) + seconds
    return families


def pytorch(iterate):
    for _ in range(3):
        iterate()
    torch.cuda.synchronize()
    walls = []
    for _ in range(ITERATIONS):
        begin = time.perf_counter()
        iterate()
        torch.cuda.synchronize()
        walls.append(time.perf_counter() - begin)
    rounds = 3
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(rounds):
            iterate()
        torch.cuda.synchronize()
    kernels = sum(e.self_device_time_total for e in profiler.key_averages()) / rounds * 1e-6
    return sorted(walls)[len(walls) // 2], kernels


def ours(strata, model, batch, dtype):
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as file:
        done = subprocess.run([strata, "measure", model, "--device", "cuda", "--batch", str(batch), "--dtype", dtype,
                               "--iterations", str(ITERATIONS), "--json", file.name],
                              capture_output=True, text=True, env=same_libraries())
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or done.stdout[-500:])
        return json.load(open(file.name))


def our_families(layers):
    families = {}
    for row in layers:
        if row["pass"] == "update":
            family = "update"
        else:
            family = next((name for name, _, operators in FAMILIES if row["op"] in operators), "element-wise")
        families[family] = families.get(family, 0) + (row["time_s"] or 0)
    return families


def compare(strata, model, batch, dtype):
    is_tf32 = dtype == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = is_tf32
    torch.backends.cudnn.allow_tf32 = is_tf32
    iterate = TorchIteration(convert(strata, model), batch)
    wall_s, kernels_s = pytorch(iterate)
    result = {"model": model, "batch": batch, "dtype": dtype, "torch_wall_s": wall_s, "torch_kernels_s": kernels_s}
    try:
        result["torch_families_s"] = torch_families(iterate)
    except Exception as error:  # the totals still count
        result["torch_families_s"] = {}
        result["no_families"] = repr(error)
    del iterate
    torch.cuda.empty_cache()
    begin = time.perf_counter()
    measured = ours(strata, model, batch, dtype)
    result["strata_process_s"] = time.perf_counter() - begin
    result["versions"] = measured["provenance"].get("versions")
    result["notes"] = measured.get("notes", [])
    layers = measured["layers"]
    result["strata_kernels_s"] = sum(row["time_s"] or 0 for row in layers)
    result["strata_families_s"] = our_families(layers)
    result["strata_iteration_s"] = measured["totals"].get("time_s")
    result["ratio"] = result["strata_kernels_s"] / kernels_s
    result["slowest"] = [
        {key: row.get(key) for key in ("layer", "name", "op", "pass", "time_s", "implementation")}
        for row in sorted(layers, key=lambda row: -(row["time_s"] or 0))[:8]]
    result["not_run"] = [row["not_run"] for row in layers if row.get("not_run")]
    return result


def print_difference(result):
    print(f"\n{result['model']} batch {result['batch']} {result['dtype']}: {result['ratio']:.3f} times PyTorch's; ms by family")
    print(f"  {'family':14}{'PyTorch':>10}{'Strata':>10}{'more':>10}")
    theirs, mine = result["torch_families_s"], result["strata_families_s"]
    for family in sorted({*theirs, *mine}, key=lambda f: -abs(mine.get(f, 0) - theirs.get(f, 0))):
        a, b = theirs.get(family, 0) * 1e3, mine.get(family, 0) * 1e3
        print(f"  {family:14}{a:10.3f}{b:10.3f}{b - a:+10.3f}")
    for row in result["slowest"]:
        print(f"  {(row['time_s'] or 0) * 1e3:9.3f} ms  {row.get('layer') or row.get('name')} {row['pass']}: {row['implementation']}")
    for line in (*result["notes"], *result["not_run"]):
        print(f"  {line}")


def main():
    words = sys.argv[1:]
    strata = words.pop(0)
    output = words.pop(0) if words and words[0].endswith(".json") else None
    cases = [word.split(":") for word in words] or [(m, b, d) for d in DTYPES for b in BATCHES for m in MODELS]
    torch.backends.cudnn.benchmark = True
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}; ms of kernels")
    print(f"{'network':14}{'batch':>6} {'type':5}{'PyTorch':>10}{'Strata':>10}{'ratio':>8}   "
          f"{'PyTorch wall':>13}{'Strata wall':>12}{'process s':>10}")
    results = []
    for model, batch, dtype in cases:
        try:
            result = compare(strata, model, int(batch), dtype)
        except Exception as error:  # the others still run
            print(f"{model:14}{batch:>6} {dtype:5}  FAILED: {error!r}", flush=True)
            results.append({"model": model, "batch": int(batch), "dtype": dtype, "failed": repr(error)})
            torch.cuda.empty_cache()
            continue
        if not any("ratio" in r for r in results):
            print("Strata with", result["versions"], flush=True)
        results.append(result)
        mark = "" if abs(result["ratio"] - 1) <= BOUND else " *"
        print(f"{model:14}{batch:>6} {dtype:5}{result['torch_kernels_s'] * 1e3:10.2f}{result['strata_kernels_s'] * 1e3:10.2f}"
              f"{result['ratio']:8.3f}{mark:3}{result['torch_wall_s'] * 1e3:13.2f}"
              f"{(result['strata_iteration_s'] or 0) * 1e3:12.2f}{result['strata_process_s']:10.1f}", flush=True)
        if output:
            with open(output, "w") as file:
                json.dump(results, file, indent=1)
    outside = [r for r in results if "ratio" in r and abs(r["ratio"] - 1) > BOUND]
    print(f"\n{len(results) - len(outside)} of {len(results)} within {BOUND:.0%}; those marked * are not:")
    for result in outside:
        print_difference(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
