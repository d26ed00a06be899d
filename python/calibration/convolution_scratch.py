# SPDX-License-Identifier: Apache-2.0
"""Measures the scratch memory of the convolutions of pytorch_cases.py, whose first samples were taken without it: what cuDNN's search picks
takes it while it runs.

    python3 convolution_scratch.py OUT.json [--seconds S] [--first K]

Each entry is one case in one pass: the most bytes that the allocator held beyond what was there before and what is left after.
"""
import argparse
import time

import torch

import more_cases
import pytorch_cases

def cases():
    """Every convolution of the samples; first the types in which workspaces differ most."""
    makers = {**pytorch_cases.GROUPS, **more_cases.GROUPS}
    names = ("convolutions", "more_convolutions", "more_grouped", "network_convolutions", "channels_last_convolutions", "volumes", "half_convolutions")
    found = [case for name in names for case in makers[name]() if case.group in pytorch_cases.WITH_SCRATCH]
    order = ("fp32", "bf16", "tf32", "fp16")
    return sorted(found, key=lambda case: (case.dims.get("channels_last", False), order.index(case.precision)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--first", type=int, default=0, help="go on with this case, where another call found no time left")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    started, written = time.time(), time.time()
    document = {"strata_convolution_scratch": 1, "framework": "pytorch-eager", "versions": {
        "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}, "device": torch.cuda.get_device_name(), "samples": []}
    everything = cases()[options.first:]
    for place, case in enumerate(everything):
        if time.time() - started > options.seconds:
            print("no time left for", len(everything) - place, "of", len(everything), "cases", flush=True)
            break
        pytorch_cases.allow_tf32(case.precision)
        for name, function in case.make():
            function()  # the search, and what libraries keep
            document["samples"].append({"group": case.group, "pass": name, "precision": case.precision, "dims": case.dims,
                                        "bytes": pytorch_cases.scratch_bytes(function)})
        torch.cuda.empty_cache()
        if time.time() - written > 10:
            pytorch_cases.write(options.out, document)
            written = time.time()
    document["seconds"] = round(time.time() - started, 1)
    pytorch_cases.write(options.out, document)


if __name__ == "__main__":
    main()
