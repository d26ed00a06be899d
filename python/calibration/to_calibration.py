# SPDX-License-Identifier: Apache-2.0
"""Turns the samples of pytorch_cases.py into a calibration without fits, which `strata machine fit` completes.

    python3 to_calibration.py SAMPLES.json[.gz]... -o CALIBRATION.json [--scratch SCRATCH.json[.gz]] --machine h200 --host "16 virtual CPU cores" --date 2026-11-17

Each class of kernels has the dimensions of its form (src/strata/framework/operation_classes.cpp), and each sample is
[dimensions..., busy microseconds, microseconds of all kernels, kernels]. Host times are the least of many. SCRATCH is what
convolution_scratch.py writes, for samples without their own.
"""
import argparse
import gzip
import json
import statistics


def convolution(d, axes=2):
    pad = 0 if d["k"] == d["s"] or d["k"] == 1 else d["k"] // 2
    out = (d["hw"] + 2 * pad - d["k"]) // d["s"] + 1
    return [d["n"], d["c"], d["f"], d["hw"] ** axes, out ** axes, d["k"] ** axes, d["g"]]


def pool(d):
    pad = {2: 0}.get(d["k"], 0 if d["hw"] in (55, 27) else 1)
    out = (d["hw"] + 2 * pad - d["k"]) // d["s"] + 1
    return [d["n"] * d["c"] * d["hw"] ** 2, d["n"] * d["c"] * out ** 2, d["k"] ** 2]


def class_and_dims(sample):
    group, name, d = sample["group"], sample["pass"], sample["dims"]
    if group == "linear":
        m, n, k = d["m"], d["n"], d["k"]
        if name == "backward_bias":
            return "column_sum", [m, n]
        order = {"backward_input": [1, m, k, n], "backward_weight": [1, n, k, m]}.get(name, [1, m, n, k])
        return f"linear.{name}", order
    if group == "batched":
        return f"batched.{name}", [d["b"], d["m"], d["n"], d["k"]]
    if group in ("convolution", "first", "grouped", "depthwise"):
        layout = "_nhwc" if d["channels_last"] else ""
        return f"{group}{layout}.{name}", convolution(d)
    if group == "convolution_3d":
        return f"{group}.{name}", convolution(d, 3)
    if group == "batch_norm_mode":
        place = [d["n"] * d["c"], d["hw"] ** 2] if name == "inference" else [d["c"], d["n"] * d["hw"] ** 2]
        return f"batch_norm{'_nhwc' if d['channels_last'] else ''}.{name}", place
    if group == "batch_norm":
        return f"batch_norm.{name}", [d["c"], d["n"] * d["hw"] ** 2]
    if group in ("layer_norm", "softmax", "log_softmax"):
        return f"{group}.{name}", [d["rows"], d["columns"]]
    if group == "cross_entropy":
        return f"{group}.{name}", [d["rows"], d["classes"]]
    if group == "group_norm":
        return f"group_norm.{name}", [d["n"] * d["groups"], d["c"] // d["groups"] * d["hw"] ** 2]
    if group in ("max_pool", "average_pool"):
        return f"{group}.{name}", pool(d)
    if group == "global_pool" or (group == "channels" and name in ("mean", "sum_to_scales")):
        return f"{group}.{name}", [d["n"] * d["c"], d["hw"] ** 2]
    if group == "channels":
        return f"channels.{name}", [d["n"] * d["c"] * d["hw"] ** 2]
    if group == "heads" and name == "sum_rows":
        return "heads.sum_rows", [d["b"] * d["s"], d["h"] * d["d"]]
    if group == "heads":
        return f"heads.{name}", [d["b"] * d["h"] * d["s"] * (d["s"] if name in ("add_mask", "scores_scale") else d["d"])]
    if group == "concat":
        return "concat", [d["parts"] * d["n"] * d["c"] * d["hw"] ** 2]
    if group == "embedding":
        return f"embedding.{name}", [d["tokens"], d["rows"], d["width"]]
    if group in ("lstm", "gru"):
        return f"{group}.{name}", [d["b"], d["t"], d["width"], d["hidden"], d["layers"]]
    if group == "update":
        return f"update.{name}", [d["count"], d["count"] * d["elements"]]
    if group == "sdpa":
        return f"attention.{name}", [d["b"], d["h"], d["s"], d["s"], d["d"], 2 if d["causal"] else 1]
    return f"{group}.{name}", [d["elements"]]


def read(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        return json.load(file)


HOST_KINDS = ("relu", "add", "convolution", "batch_norm", "linear", "view", "layer_norm", "softmax", "dropout", "matmul", "attention")


def host_times(dispatch):
    least = {name: entry["least_us"] * 1e-6 for name, entry in dispatch.items()}
    times = {}
    for name in HOST_KINDS:
        times[name] = {
            "forward_s": least[f"{name} forward"],
            "backward_s": least[f"{name} forward and backward"] - least[f"{name} forward"],
            "autocast_forward_s": least[f"{name} forward under autocast"],
            "autocast_backward_s": least[f"{name} forward and backward under autocast"] - least[f"{name} forward under autocast"]}
    for name in ("momentum", "adam"):
        per_tensor = (least[f"update {name} of 200"] - least[f"update {name} of 20"]) / 180
        times[f"update.{name}"] = {"forward_s": least[f"update {name} of 20"] - 20 * per_tensor, "per_tensor_s": per_tensor}
    times["update.sgd"] = times["update.momentum"]
    times["launch"] = {"forward_s": least["launch"]}
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", nargs="+")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--scratch")
    for name in ("machine", "host", "date"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    classes, first, dispatch = {}, None, {}
    scratch = {}
    for sample in read(options.scratch)["samples"] if options.scratch else []:
        name, dims = class_and_dims(sample)
        scratch[(name, sample["precision"], *dims)] = sample["bytes"]
    for path in options.samples:
        document = read(path)
        first = first or document
        if f"{HOST_KINDS[-1]} forward" in document["dispatch"]:  # earlier samples have fewer kinds
            dispatch = document["dispatch"]
        for sample in document["samples"]:
            if sample["pass"] == "transpose_cast":  # takes as long as a transpose without a cast
                continue
            # Products take as long in fp16 as in bf16, of which there are more samples.
            if sample["precision"] == "fp16" and sample["group"] in ("linear", "batched"):
                continue
            name, dims = class_and_dims(sample)
            total = statistics.median(sample["us"])
            if "scratch_bytes" in sample:
                scratch[(name, sample["precision"], *dims)] = sample["scratch_bytes"]
            entry = [*dims, sample["busy_us"], round(total, 2), len(sample["kernels"])]
            if total > 0:
                classes.setdefault((name, sample["precision"]), []).append(entry)
    lines = []
    for (name, precision), samples in sorted(classes.items()):
        one = {"class": name, "precision": precision, "samples": samples}
        taken = [scratch.get((name, precision, *sample[:-3]), 0) for sample in samples]
        if any(taken):
            one["scratch_bytes"] = taken
        lines.append(json.dumps(one))
    lines = ",\n".join(lines)
    # In whole networks the host takes longer: 1.75 lies between what data/truth/pytorch-h200.json (more) and pytorch-h200-host.json (less) ask
    # for. The widths are set by both sets, too.
    head = {"strata_calibration": 1, "name": f"{options.machine}-{first['framework']}", "machine": options.machine,
            "framework": first["framework"], "versions": {k: str(v) for k, v in first["versions"].items()},
            "host": options.host, "date": options.date, "host_factor": 1.75, "host_sigma": 0.35, "class_sigma": 0.1, "host_times": host_times(dispatch)}
    with open(options.out, "w") as file:
        file.write(json.dumps(head, indent=1)[:-2] + ',\n "classes": [\n' + lines + "\n]}\n")


main()
