# SPDX-License-Identifier: Apache-2.0
"""Records networks without a GPU and on this GPU, and says which kernels each operation launched, how long they took and how
long the host took to dispatch it.

    python3 pytorch_recordings.py OUT.json.gz [--seconds S] NAME[:BATCH] ...

Of each network: `shapes`, the recording on shapes, and for each precision `real`, the recording of the step that really
ran, with the kernels of each operation (CUPTI, by the profiler), beside it the time of an iteration, its memory, and the same
for inference; `host`, microseconds of the host per operation at a small batch.
"""
import argparse
import contextlib
import gc
import gzip
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import torch
from torch.profiler import ProfilerActivity, profile

from networks import network

AMP = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}


def allow_tf32(precision):
    for place in (torch.backends.cuda.matmul, torch.backends.cudnn):
        place.allow_tf32 = precision != "fp32"


def logits_of(output):
    return output.logits if hasattr(output, "logits") else output


def plain_step(module, inputs, precision, training):
    """The step as people write it, nothing watched."""
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-4, momentum=0.9) if training else None
    amp = AMP.get(precision)

    def step():
        if not training:
            with torch.no_grad(), torch.autocast("cuda", amp, enabled=amp is not None):
                module(**inputs)
            return
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", amp, enabled=amp is not None):
            out = logits_of(module(**inputs))
            out = out.reshape(-1, out.shape[-1])
            loss = torch.nn.functional.cross_entropy(out, torch.zeros(out.shape[0], dtype=torch.long, device="cuda"))
        loss.backward()
        optimizer.step()
    return step


def iteration(step, count=11):
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(count):
        begin.record()
        step()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        step()
        torch.cuda.synchronize()
    kernels = [e for e in seen.profiler.kineto_results.events() if "CUDA" in str(e.device_type())]
    return {"iteration_ms": statistics.median(times), "times_ms": [round(t, 4) for t in times],
            "peak_bytes": torch.cuda.max_memory_allocated(), "launches": len(kernels),
            "kernels_ms": sum(e.duration_ns() for e in kernels) / 1e6}


def kernels_by_operation(seen, names):
    """[operation, kernel, ns] of a profile in which every operation ran in a range "strata#NUMBER"."""
    events = list(seen.profiler.kineto_results.events())
    started = {e.correlation_id(): e for e in events if "CPU" in str(e.device_type()) and not e.name().startswith("cu")}
    ranges = {}
    for e in events:
        if e.name().startswith("strata#") and "CPU" in str(e.device_type()):
            ranges.setdefault(e.start_thread_id(), []).append((e.start_ns(), e.start_ns() + e.duration_ns(), int(e.name()[7:])))
    for rows in ranges.values():
        rows.sort()
    found = []
    import bisect
    for e in events:
        if "CUDA" not in str(e.device_type()) or e.name().startswith("strata#"):
            continue
        cause = started.get(e.linked_correlation_id())
        operation = -1
        if cause is not None:
            rows = ranges.get(cause.start_thread_id(), [])
            at = bisect.bisect_right(rows, (cause.start_ns(), float("inf"), 0)) - 1
            if at >= 0 and rows[at][1] >= cause.start_ns():
                operation = rows[at][2]
        name = names.setdefault(e.name()[:90], len(names))
        found.append([operation, name, e.duration_ns()])
    return found


class Clock:
    """Microseconds of the host per operation."""

    def __init__(self):
        self.ns = {}

    @contextlib.contextmanager
    def __call__(self, number):
        begin = time.perf_counter_ns()
        yield
        self.ns.setdefault(number, []).append(time.perf_counter_ns() - begin)


class Scratch:
    """Bytes that each operation takes while it runs, beyond what it leaves."""

    def __init__(self):
        self.bytes = {}

    @contextlib.contextmanager
    def __call__(self, number):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        yield
        left = torch.cuda.memory_allocated()
        self.bytes[number] = [left - before, torch.cuda.max_memory_allocated() - max(left, before)]


def real(record_module, module, inputs, precision, training, names):
    amp = AMP.get(precision)
    row = iteration(plain_step(module, inputs, precision, training))
    module.train(training)
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
        document = record_module(module, (), inputs, training=training, autocast=amp, real=True,
                                 around=lambda number: torch.profiler.record_function(f"strata#{number}"))
        torch.cuda.synchronize()
    row["kernels"] = kernels_by_operation(seen, names)
    row["operations"] = [operation["op"] for operation in document["operations"]]
    row["document"] = document
    scratch = Scratch()
    record_module(module, (), inputs, training=training, autocast=amp, real=True, around=scratch)
    row["scratch"] = [scratch.bytes.get(i, [0, 0]) for i in range(len(row["operations"]))]
    return row


def host(record_module, module, inputs, precision, training):
    row = iteration(plain_step(module, inputs, precision, training))
    clock = Clock()
    module.train(training)
    for _ in range(3):
        torch.cuda.synchronize()
        document = record_module(module, (), inputs, training=training, autocast=AMP.get(precision), real=True, around=clock)
    torch.cuda.synchronize()
    row["operations"] = [operation["op"] for operation in document["operations"]]
    row["host_us"] = [round(statistics.median(clock.ns.get(i, [0])) / 1e3, 2) for i in range(len(row["operations"]))]
    return row


def moved(value, device):
    return {key: one.to(device) for key, one in value.items()}


def measure(name, batch, precisions, small, record_module, names):
    result = {"network": name, "batch": batch, "real": {}, "inference": {}, "host": {}, "shapes": {}}
    torch.manual_seed(0)
    module, make = network(name)
    result["parameters"] = sum(one.numel() for one in module.parameters())
    for amp in (None, torch.bfloat16):
        for training in (True, False):
            begin = time.time()
            try:
                document = record_module(module, (), make(batch), training=training, autocast=amp)
            except Exception as error:
                result["shapes"][f"{amp} {training}"] = {"error": str(error)[:2000]}
                continue
            result["shapes"][f"{amp} {training}"] = {"seconds": time.time() - begin, "document": document}
    if not torch.cuda.is_available():
        return result
    torch.backends.cudnn.benchmark = True
    module = module.cuda()
    for precision in precisions:
        allow_tf32(precision)
        for kind, training in (("real", True), ("inference", False)):
            if not training and precision == "tf32":
                continue
            module.train(training)
            result[kind][precision] = real(record_module, module, moved(make(batch), "cuda"), precision, training, names)
            if precision != "fp32":
                result["host"][precision + ("" if training else "-inference")] = host(
                    record_module, module, moved(make(small), "cuda"), precision, training)
            gc.collect()
            torch.cuda.empty_cache()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--precisions", default="tf32,amp-bf16,fp32")
    options = parser.parse_args()
    from strata_recording._record import record_module
    begun, names, rows = time.time(), {}, []
    for word in options.networks:
        name, _, batch = word.partition(":")
        if time.time() - begun > options.seconds:
            print("no time left for", name, file=sys.stderr)
            continue
        started = time.time()
        try:
            rows.append(measure(name, int(batch or 32), options.precisions.split(","), 2, record_module, names))
            row = rows[-1]
            print(name, f"{time.time() - started:.1f} s", {k: (round(v["iteration_ms"], 2), v["launches"], len(v["operations"]))
                                                          for k, v in row["real"].items()},
                  {k: v.get("error", round(v.get("seconds", 0), 2)) for k, v in row["shapes"].items()}, flush=True)
        except Exception as error:
            import traceback
            print("failed:", name, str(error)[:300], traceback.format_exc()[-1500:], flush=True)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    about = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
             "kernels": list(names), "networks": rows}
    with gzip.open(options.out, "wt", compresslevel=6) as file:
        json.dump(about, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
