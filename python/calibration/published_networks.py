# SPDX-License-Identifier: Apache-2.0
"""Makes truth sets of published throughput of image networks, and the networks in Strata's own format.

    python3 published_networks.py STRATA TIMM.json OUT

TIMM.json has rows {"set", "model", "size", "batch", "step_ms"} with exports of the networks (.onnx.gz, training mode, without weights) beside it.
OUT is data/truth: a set per GPU, mode and layout goes there, networks go to OUT/networks, packed.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

SETS = {  # name in the table: name here, machine, framework, passes, channels last
    "train-3090-nchw": ("timm-training-rtx-3090", "rtx-3090", "pytorch-eager", "training", False),
    "train-3090-nhwc": ("timm-training-rtx-3090-channels-last", "rtx-3090", "pytorch-eager", "training", True),
    "infer-3090-nchw": ("timm-inference-rtx-3090", "rtx-3090", "pytorch-eager", "inference", False),
    "infer-4090-nchw": ("timm-inference-rtx-4090", "rtx-4090", "pytorch-eager", "inference", False),
    "infer-4090-compile": ("timm-inference-rtx-4090-compile", "rtx-4090", "pytorch-compile", "inference", False),
    "infer-5090-nchw": ("timm-inference-rtx-5090", "rtx-5090", "pytorch-eager", "inference", False),
    "infer-5090-compile": ("timm-inference-rtx-5090-compile", "rtx-5090", "pytorch-compile", "inference", False),
}
SOURCE = "huggingface/pytorch-image-models, results/benchmark-*.csv (Apache-2.0), as of August 2026"


def write_networks(strata, folder, models, out):
    os.makedirs(out, exist_ok=True)
    for model in sorted(models):
        with tempfile.TemporaryDirectory() as scratch:
            export, network = os.path.join(scratch, model + ".onnx"), os.path.join(scratch, model + ".json")
            with gzip.open(os.path.join(folder, model + ".onnx.gz")) as packed, open(export, "wb") as file:
                file.write(packed.read())
            subprocess.run([strata, "convert", export, "-o", network], check=True, stderr=subprocess.DEVNULL)
            with open(network, "rb") as file:
                text = file.read()
        with open(os.path.join(out, model + ".json.gz"), "wb") as file:
            file.write(gzip.compress(text, 9, mtime=0))  # the same bytes every time


def write_sets(table, out):
    for key, (name, machine, framework, passes, channels_last) in SETS.items():
        runs = []
        for row in table["rows"]:
            if row["set"] != key:
                continue
            run = {"model": "networks/" + row["model"], "precision": "amp-fp16", "batch": row["batch"], "iteration_s": row["step_ms"] / 1e3,
                   "parameters": table["parameters"][row["model"]]}
            if passes != "training":
                run["passes"] = passes
            if channels_last:
                run["channels_last"] = True
            runs.append(run)
        what = f"Published throughput of image networks: {table['sets'][key]}; {SOURCE}. Clocks and power limits are not known"
        if key != "train-3090-nchw" and table["sets"][key].startswith("the same"):
            other = {"train-3090-nhwc": "train-3090-nchw", "infer-4090-compile": "infer-4090-nchw", "infer-5090-compile": "infer-5090-nchw"}[key]
            what = what.replace("the same", table["sets"][other], 1)
        head = {"strata_truth": 1, "name": name, "machine": machine, "framework": framework, "what": what}
        lines = ",\n".join("  " + json.dumps(run) for run in runs)
        with open(os.path.join(out, name + ".json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(head, indent=1)[:-2] + ",\n \"runs\": [\n" + lines + "\n ]\n}\n")


def main():
    strata, source, out = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        table = json.load(file)
    write_networks(strata, os.path.dirname(source), {row["model"] for row in table["rows"]}, os.path.join(out, "networks"))
    write_sets(table, out)


main()
