# SPDX-License-Identifier: Apache-2.0
"""Programs that `strata reproduce capture --run` and tests/device/capture_run watch: `capture_programs.py NAME [ARGUMENTS...]`.

Each prints one line of JSON at its end. Those that record only a part call the CUDA profiler's start and stop.
"""
import json
import os
import signal
import statistics
import sys
import time

import torch

import capture_networks

nvtx = torch.cuda.nvtx
profiler = torch.cuda.cudart()


def recording(is_on):
    torch.cuda.synchronize()
    (profiler.cudaProfilerStart if is_on else profiler.cudaProfilerStop)()
    time.sleep(0.15)  # the recorder's thread looks ten times a second


def timed(training, steps):
    """Wall time of each step, in ms; the device is waited for at the end of each."""
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        training.step()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def whole(training, steps):
    """Wall time per step of a stretch that is waited for only once, as a real loop runs."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        training.step()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - begin) / steps


def overhead(mode, batch=128, rounds=5, steps=12):
    """Plain and watched stretches in turn, in one process: the rest of the computer is the same for both. A small batch
    waits for the host."""
    training = capture_networks.Training("resnet50", int(batch))
    torch.backends.cuda.matmul.allow_tf32 = True
    whole(training, 8)
    plain, watched = [], []
    for _ in range(rounds):
        plain.append(whole(training, steps))
        if mode == "strata":
            recording(True)
            watched.append(whole(training, steps))
            recording(False)
        elif mode == "torch":
            activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
            with torch.profiler.profile(activities=activities):
                watched.append(whole(training, steps))
        else:
            watched.append(whole(training, steps))
    ratio = statistics.median(w / p for w, p in zip(watched, plain))
    return {"mode": mode, "batch": int(batch), "plain_ms": plain, "watched_ms": watched, "overhead": ratio - 1}


def study(batches="4,8,16,32,64", names="alexnet,resnet18,vgg16", steps=5):
    """Every network at every batch; the range around a step says which, the one inside marks what backward is."""
    times = {}
    for name in names.split(","):
        for batch in (int(text) for text in batches.split(",")):
            training = capture_networks.Training(name, batch)
            timed(training, 3)
            times[f"{name}:{batch}"] = statistics.median(timed(training, int(steps)))
            recording(True)
            for _ in range(int(steps)):
                nvtx.range_push(f"study:pytorch:{name}:{batch}")
                training.step(nvtx.range_push, nvtx.range_pop)
                torch.cuda.synchronize()
                nvtx.range_pop()
            recording(False)
            del training
            torch.cuda.empty_cache()
    return {"plain_step_ms": times}


def references(batches="16,32,64", dtypes="fp32,fp16", steps=5):
    """conv2d and LSTM: launches and time of the forward and of the backward pass. fp32 is fp32: no TF32. As in
    `strata reproduce roofline`, the gradient is that of the weights: the kernels stand at the input."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    types = {"fp32": torch.float32, "fp16": torch.float16}
    for dtype in dtypes.split(","):
        for name, (make, data) in capture_networks.REFERENCES.items():
            module = make().cuda().to(types[dtype])
            for batch in (int(text) for text in str(batches).split(",")):
                x = data(batch).to(types[dtype])
                for step in range(5 + int(steps)):
                    if step == 5:
                        recording(True)
                    reference_step(module, x, f"study:pytorch:{name}:{batch}", dtype)
                recording(False)
    return {}


def reference_step(module, x, name, dtype):
    nvtx.range_push(f"{name}:forward:{dtype}")
    y = module(x)
    y = y[0] if isinstance(y, tuple) else y
    torch.cuda.synchronize()
    nvtx.range_pop()
    gradient = torch.ones_like(y)
    torch.cuda.synchronize()
    nvtx.range_push(f"{name}:backward:{dtype}")
    y.backward(gradient)
    torch.cuda.synchronize()
    nvtx.range_pop()


def layers(batch="32"):
    """Names of modules by strata_torch, forward and backward."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    import strata_torch

    training = capture_networks.Training("resnet18", int(batch))
    strata_torch.name_layers(training.model)
    for _ in range(3):
        nvtx.range_push("step")
        training.step()
        torch.cuda.synchronize()
        nvtx.range_pop()
    return {}


def graph():
    """The same work launched one by one, then replayed as a graph; the sum must be what it was."""
    x = torch.ones(1 << 20, device="cuda")
    for _ in range(3):
        y = x * 2 + 1
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        y = x * 2 + 1
    for _ in range(10):
        recorded.replay()
    torch.cuda.synchronize()
    return {"sum": float(y.sum()), "expected": 3.0 * (1 << 20), "replays": 10}


def fault(kind):
    """Ends in the way that is named, some while after its last kernel."""
    x = torch.ones(1 << 20, device="cuda")
    for _ in range(200):
        x = x * 1.0001
    torch.cuda.synchronize()
    time.sleep(0.4)
    print(json.dumps({"launched": 200}), flush=True)
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "_exit":
        os._exit(5)
    if kind == "exception":
        raise RuntimeError("as asked")
    if kind == "fork" and os.fork() == 0:
        sys.exit(0)
    if kind == "fork":
        os.wait()
    return {"kind": kind}


def counted():
    """A window of few kernels: counters replay each of them."""
    training = capture_networks.Training("alexnet", 32)
    timed(training, 3)
    recording(True)
    nvtx.range_push("study:pytorch:alexnet:32")
    loss = training.step()
    torch.cuda.synchronize()
    nvtx.range_pop()
    recording(False)
    return {"loss": float(loss)}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])), flush=True)
