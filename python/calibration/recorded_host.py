# SPDX-License-Identifier: Apache-2.0
"""What the host takes for each operation of a recording, from what pytorch_recordings.py measured.

    python3 recorded_host.py HOST.json CALIBRATION.json [--measured OUT.json.gz] [--level 1.42]

An operation's time is its median over all networks, taken inside PyTorch's dispatch; what Python and autograd add, and what
they save while nothing is watched, is one factor per pass, fitted to whole iterations at a batch of 2, which wait for the
host. HOST.json keeps both, and without `--measured` they are read from it. The calibration gets
the kinds "aten::NAME" of its host times, and the kinds that rules name as sums of them. `--level`: how much slower the host
is that the calibration speaks of, here that of data/truth/, than the one that was measured."""
import argparse
import collections
import gzip
import json
import statistics

PASSES = ("forward", "backward", "update", "inference")
AUTOGRAD = 1.4  # forward with gradients over forward without, beside what is fitted
LIST_US, TENSOR_US = 44.8, 2.6  # of an update of lists: the calibration's update.momentum
LAUNCH_US = 9.0  # of a kernel of a recurrent layer


# What a kind of operator that rules name is in operations, forward and backward; casts of autocast are a kind of their own.
KINDS = {"relu": ("relu_", "threshold_backward"), "add": ("add", "add"), "cast": ("_to_copy", "_to_copy"), "view": ("view", "view"),
         "convolution": ("convolution", "convolution_backward"),
         "batch_norm": ("add_ empty cudnn_batch_norm", "cudnn_batch_norm_backward"),
         "linear": ("t addmm", "t mm t mm t sum view"), "layer_norm": ("native_layer_norm", "native_layer_norm_backward"),
         "max_pool": ("max_pool2d_with_indices", "max_pool2d_with_indices_backward"),
         "cross_entropy": ("_log_softmax nll_loss_forward zeros", "ones_like nll_loss_backward _log_softmax_backward_data"),
         "softmax": ("_softmax", "_softmax_backward_data"), "dropout": ("native_dropout", "native_dropout_backward"),
         "matmul": ("expand view expand view bmm _unsafe_view", "view transpose bmm transpose bmm view view"),
         "attention": ("_scaled_dot_product_efficient_attention", "_scaled_dot_product_efficient_attention_backward")}
# Other operations run under autocast.
LOW = {"cudnn_batch_norm": "native_batch_norm", "cudnn_batch_norm_backward": "native_batch_norm_backward",
       "_scaled_dot_product_efficient_attention": "_scaled_dot_product_cudnn_attention",
       "_scaled_dot_product_efficient_attention_backward": "_scaled_dot_product_cudnn_attention_backward"}


def kinds_of(operations):
    """The kinds of operators as sums of their operations, so that rules and recordings say the same of the host."""
    def total(names, work, is_low=False):
        times = [operations["aten::" + (LOW.get(name, name) if is_low else name)][work] for name in names.split()]
        return float(f"{sum(times):.4g}")
    return {kind: {"forward_s": total(forward, "forward_s"), "backward_s": total(backward, "backward_s"),
                   "autocast_forward_s": total(forward, "forward_s", True),
                   "autocast_backward_s": total(backward, "backward_s", True), "inference_s": total(forward, "inference_s")}
            for kind, (forward, backward) in KINDS.items()}


def rows_of(measured):
    for network in measured["networks"]:
        for name, host in network["host"].items():
            is_inference = name.endswith("-inference")
            source = network["inference" if is_inference else "real"][name.replace("-inference", "")]
            launches = collections.Counter(kernel[0] for kernel in source["kernels"])
            operations = source["document"]["operations"]
            yield {"network": network["network"], "of": name, "iteration_us": host["iteration_ms"] * 1e3,
                   "operations": [(one["op"].split("::")[-1], "inference" if is_inference else one["pass"], us,
                                   max([len(x) for x in one["inputs"] if isinstance(x, list)] + [0]), launches[i])
                                  for i, (one, us) in enumerate(zip(operations, host["host_us"]))]}


def medians(rows):
    times = collections.defaultdict(list)
    for row in rows:
        for name, _, us, _, _ in row["operations"]:
            times[name].append(us)
    return {name: statistics.median(values) for name, values in times.items()}


def sums(row, times):
    """By pass; then the step itself."""
    found = dict.fromkeys((*PASSES, "step"), 0.0)
    for name, work, _, tensors, launches in row["operations"]:
        if work == "update" and tensors > 1:
            found["update"] += (LIST_US + TENSOR_US * tensors) / 3
        else:
            found["forward" if work == "update" else work] += LAUNCH_US * launches if "rnn" in name else times[name]
    found["step"] = 20.0 if row["of"].endswith("-inference") else 60.0
    return [AUTOGRAD * found["forward"] + found["inference"], found["backward"], found["update"], found["step"]]


def fit(rows, times, rounds=8, steps=4000):
    """Factors that are not negative, of least absolute error relative to the iteration."""
    table = [[value / row["iteration_us"] for value in sums(row, times)] for row in rows]
    weights, factors = [1.0] * len(table), [0.1] * 4
    for _ in range(rounds):
        gram = [[sum(w * r[i] * r[j] for w, r in zip(weights, table)) for j in range(4)] for i in range(4)]
        right = [sum(w * r[i] for w, r in zip(weights, table)) for i in range(4)]
        for _ in range(steps):
            factors = [f * right[i] / max(sum(g * x for g, x in zip(gram[i], factors)), 1e-12) for i, f in enumerate(factors)]
        weights = [1 / max(abs(sum(f * x for f, x in zip(factors, r)) - 1), 0.02) for r in table]
    return factors


def host_times(times, factors, level, host_factor):
    def entry(us):
        scale = 1e-6 * level / host_factor
        return {"forward_s": float(f"{us * AUTOGRAD * factors[0] * scale:.4g}"),
                "backward_s": float(f"{us * factors[1] * scale:.4g}"), "inference_s": float(f"{us * factors[0] * scale:.4g}")}
    base = collections.defaultdict(list)
    for name, us in times.items():
        if not name.startswith("_foreach") and "rnn" not in name:
            base[name.split(".")[0]].append(us)
    base = {name: statistics.median(values) for name, values in base.items()}
    made = {"aten::" + name: entry(us) for name, us in base.items()}
    made["aten::any"] = entry(statistics.median(us for us in base.values() if us > 12))
    made["aten::launch"] = entry(LAUNCH_US)
    step = 1e-6 * level / host_factor * factors[3]
    made["aten::step"] = {"forward_s": float(f"{60 * step:.4g}"), "inference_s": float(f"{20 * step:.4g}")}
    return made


def measured_times(measured, host):
    """Medians of the operations and the factors of each pass, written to the file `host`."""
    with gzip.open(measured) as file:
        measured = json.load(file)
    rows = list(rows_of(measured))
    times = medians(rows)
    factors = fit(rows, times)
    errors = []
    for left_out in sorted({row["network"] for row in rows}):
        others = [row for row in rows if row["network"] != left_out]
        known = collections.defaultdict(lambda: 22.0, medians(others))
        apart = fit(others, known)
        errors += [abs(sum(f * x for f, x in zip(apart, sums(row, known))) / row["iteration_us"] - 1)
                   for row in rows if row["network"] == left_out]
    print(f"factors {[round(f, 3) for f in factors]}; networks left out: median error {statistics.median(errors):.1%}")
    with open(host, "w", encoding="utf-8") as file:
        json.dump({"what": "microseconds of the host per operation of PyTorch, medians over networks, and whole iterations "
                           "at a batch of 2; python/calibration/recorded_host.py",
                   "torch": measured["torch"], "device": measured["device"], "operation_us": dict(sorted(times.items())),
                   "factors": dict(zip(("forward and inference", "backward", "update", "step"), factors)),
                   "median_error_left_out": statistics.median(errors),
                   "iterations": [{"network": row["network"], "of": row["of"], "iteration_us": round(row["iteration_us"], 1),
                                   "sums_us": [round(x, 1) for x in sums(row, times)]} for row in rows]}, file, indent=1)
        file.write("\n")
    return times, factors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", metavar="OUT.json.gz")
    parser.add_argument("host")
    parser.add_argument("calibration")
    parser.add_argument("--level", type=float, default=1.42)
    options = parser.parse_args()
    if options.measured is None:
        with open(options.host, encoding="utf-8") as file:
            kept = json.load(file)
        times, factors = kept["operation_us"], list(kept["factors"].values())
    else:
        times, factors = measured_times(options.measured, options.host)
    with open(options.calibration, encoding="utf-8") as file:
        text = file.read()
    document = json.loads(text)
    kinds = {name: time for name, time in document["host_times"].items() if not name.startswith("aten::")}
    operations = host_times(times, factors, options.level, document["host_factor"])
    kinds.update(operations)
    kinds.update(kinds_of(operations))
    # Only this part of the file changes: a class of kernels is a line in it.
    begin = text.index("{", text.index('"host_times"'))
    end = begin + json.JSONDecoder().raw_decode(text[begin:])[1]
    written = json.dumps(dict(sorted(kinds.items())), indent=1).replace("\n", "\n ")
    with open(options.calibration, "w", encoding="utf-8") as file:
        file.write(text[:begin] + written + text[end:])


main()
