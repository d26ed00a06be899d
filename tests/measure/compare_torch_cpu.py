#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_torch_cpu.py STRATA [MODEL:BATCH...]: training iterations on this CPU by Strata and by PyTorch eager, in turn,
by family of operators, as the table of docs/engine-cpu.md. The machine should do nothing else meanwhile.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "device"))
from compare_times import TorchIteration, family_of, our_families  # noqa: E402
from torch_network import convert  # noqa: E402

MODELS = ["resnet18:8", "mobilenet_v2:8", "bert_base:8"]
ROUNDS = 5


def attention(q, k, v, is_causal=False):
    """What PyTorch 1 has instead of scaled_dot_product_attention: the products written out."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if is_causal:
        scores = scores + torch.full(scores.shape[-2:], float("-inf")).triu(1)
    return scores.softmax(-1) @ v


def pytorch(strata, model, batch):
    """-> seconds of the median iteration, and by family"""
    iterate = TorchIteration(convert(strata, model), batch, "cpu")
    for _ in range(2):
        iterate()
    walls = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        iterate()
        walls.append(time.perf_counter() - begin)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(ROUNDS):
            iterate()
    families = {}
    for event in profiler.events():
        if event.cpu_parent is None:
            family = family_of([event.name])
            families[family] = families.get(family, 0) + event.cpu_time_total * 1e-6 / ROUNDS
    return sorted(walls)[ROUNDS // 2], families


def ours(strata, model, batch):
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as file:
        subprocess.run([strata, "measure", model, "--device", "cpu", "--batch", str(batch), "--iterations", str(ROUNDS),
                        "--json", file.name], check=True, capture_output=True)
        measured = json.load(open(file.name))
    return measured["totals"]["time_s"], our_families(measured["layers"]), measured["provenance"].get("versions")


def main():
    strata, *cases = sys.argv[1:]
    if not hasattr(F, "scaled_dot_product_attention"):
        F.scaled_dot_product_attention = attention
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads; ms per iteration\n")
    print("| network, batch | operators | PyTorch | Strata | Strata / PyTorch |\n|---|---|---|---|---|")
    for case in cases or MODELS:
        model, batch = case.split(":")
        theirs_s, theirs = pytorch(strata, model, int(batch))
        mine_s, mine, versions = ours(strata, model, int(batch))
        print(f"| **{model}, {batch}** | iteration | {theirs_s * 1e3:.0f} | {mine_s * 1e3:.0f} | {mine_s / theirs_s:.2f} |")
        for family in sorted({*theirs, *mine}, key=lambda f: -theirs.get(f, 0)):
            a, b = theirs.get(family, 0), mine.get(family, 0)
            if max(a, b) > 0.005 * theirs_s:
                ratio = f"{b / a:.2f}" if a > 0 else ""
                print(f"| | {family} | {a * 1e3:.1f} | {b * 1e3:.1f} | {ratio} |", flush=True)
    print(f"\n{versions}")
    return 0


sys.exit(main())
