# SPDX-License-Identifier: Apache-2.0
"""Runs networks forward on this GPU, nothing kept for backward, and writes what an iteration takes.

    python3 inference_runs.py OUT.json [--seconds S] NAME:BATCH[,BATCH...] ...

Each run has its network anew, so that no gradient is left over: the time of an iteration (median of 30, with a synchronisation each), all
samples of it, its kernels, their time, and the largest memory that PyTorch held."""
import argparse
import gc
import json
import sys
import time

import torch

from networks import network
from pytorch_recordings import allow_tf32, iteration, plain_step


def run(name, batch, precision):
    torch.manual_seed(0)
    allow_tf32(precision)
    torch.backends.cudnn.benchmark = True
    module, make = network(name)
    module = module.cuda().eval()
    inputs = {key: value.cuda() for key, value in make(batch).items()}
    row = iteration(plain_step(module, inputs, precision, False), 30)
    return {"model": name, "batch": batch, "precision": precision, "parameters": sum(p.numel() for p in module.parameters()), **row}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--precisions", default="fp32,tf32,amp-bf16")
    options = parser.parse_args()
    began, runs = time.time(), []
    for word in options.networks:
        name, _, batches = word.partition(":")
        for precision in options.precisions.split(","):
            for batch in map(int, batches.split(",")):
                if time.time() - began > options.seconds:
                    print("no time left for", name, precision, batch, file=sys.stderr)
                    continue
                try:
                    runs.append(run(name, batch, precision))
                except (RuntimeError, ValueError, TypeError) as error:
                    print("failed:", name, precision, batch, str(error)[:200], file=sys.stderr)
                gc.collect()
                torch.cuda.empty_cache()
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name(), "runs": runs}, file, indent=1)
    print(len(runs), "runs,", round(time.time() - began, 1), "s")


main()
