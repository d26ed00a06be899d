# SPDX-License-Identifier: Apache-2.0
"""Watches PyTorch and JAX programs with libstrata_inject.so: `capture_study.py LIBRARY RESULTS [STAGE...]`.

Logs and what the programs said go to RESULTS: results.json and one archive of logs per stage, which `strata capture --merge` and
`strata reproduce capture` read on any computer. Every stage has a time limit, and one that fails does not stop the rest.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = ROOT / "python/studies"
library, results = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
logs = results / "logs"
report = {"stages": []}


def metrics_of(preset, session_index=0):
    data = json.loads((ROOT / "data/metrics/gh100.json").read_text())
    columns = {column["key"]: column for column in data["columns"]}
    session = next(p for p in data["presets"] if p["name"] == preset)["sessions"][session_index]
    names = next(s for s in data["sessions"] if s["name"] == session)["columns"]
    return sorted({metric for name in names for metric in columns[name]["terms"]})


KINDS = ["", "name", "info", "kernel", "copy", "fill", "memory", "runtime", "driver", "sync", "marker", "overhead", "device",
         "context", "window", "lost", "counted"]


def summary_of(file):
    """Records of a log by kind, what was lost, and its notes: src/strata/capture/log_format.hpp."""
    data = file.read_bytes()
    if len(data) < 4096:
        return {"bytes": len(data)}
    lost, state, reason_bytes = struct.unpack_from("<QII", data, 64)
    counts, notes, at = {}, [], 4096
    while at + 8 <= len(data):
        kind, mark, words, value = struct.unpack_from("<BBHI", data, at)
        if mark != 0xA5 or words == 0 or at + 8 * words > len(data):
            break
        name = KINDS[kind] if kind < len(KINDS) else str(kind)
        counts[name] = counts.get(name, 0) + 1
        if name == "lost" and value == 0:
            lost += struct.unpack_from("<Q", data, at + 8)[0]
        if name == "info" and value == 4:
            length = struct.unpack_from("<Q", data, at + 8)[0]
            notes.append(data[at + 16:at + 16 + length].decode(errors="replace"))
        at += 8 * words
    return {"bytes": len(data), "state": state, "reason": data[80:80 + reason_bytes].decode(errors="replace"),
            "lost": lost, "torn": len(data) - at, "records": counts, "notes": notes}


def environment(name, settings):
    """What `strata capture` sets."""
    variables = dict(os.environ, PYTHONPATH=str(PROGRAMS), PYTHONUNBUFFERED="1")
    variables.pop("LD_LIBRARY_PATH", None)  # PyTorch brings its own libraries
    if settings is not None:
        lines = {"log": f"{logs}/{name}-%p.log", **settings}
        variables.update(CUDA_INJECTION64_PATH=str(library), NVTX_INJECTION64_PATH=str(library),
                         STRATA_CAPTURE="".join(f"{key}={value}\n" for key, value in lines.items()))
    return variables


def begin(name, command, settings):
    return {"name": name, "begin": time.time(), "process": subprocess.Popen(
        [sys.executable, *command], env=environment(name, settings), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)}


def finish(stage, limit):
    process = stage.pop("process")
    try:
        out, err = process.communicate(timeout=max(1, limit - (time.time() - stage["begin"])))
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        stage["timed_out"] = True
    stage["wall_s"] = round(time.time() - stage.pop("begin"), 2)
    stage["code"] = process.returncode
    answers = [line for line in out.splitlines() if line.startswith("{")]
    stage["answer"] = json.loads(answers[-1]) if answers else None
    stage["stderr"] = err[-1500:]
    files = sorted(logs.glob(f"{stage['name']}-*"))
    stage["logs"] = {file.name: summary_of(file) for file in files}
    report["stages"].append(stage)
    (results / "results.json").write_text(json.dumps(report, indent=1))
    print(stage["name"], stage["code"], stage["wall_s"], "s", stage["answer"] and str(stage["answer"])[:300],
          stage["logs"], flush=True)
    if stage["code"] not in (0, 5, -9):
        print(err[-1500:], flush=True)


PROFILER = {"waits_for_profiler": 1}
TORCH = str(PROGRAMS / "capture_programs.py")
JAX = str(PROGRAMS / "capture_jax.py")


def run(name, command, settings, limit):
    finish(begin(name, command, settings), limit)


def together(stages, limit):
    started = [begin(*stage) for stage in stages]
    for stage in started:
        finish(stage, limit)


def overhead():
    run("overhead-strata", [TORCH, "overhead", "strata"], PROFILER, 40)
    run("overhead-torch", [TORCH, "overhead", "torch"], None, 40)
    run("overhead-none", [TORCH, "overhead", "none"], None, 30)
    # At batch 4 the device waits for the host: all calls, calls given up where they are many, and no calls.
    run("overhead-4-calls", [TORCH, "overhead", "strata", "4"], PROFILER, 30)
    run("overhead-4-default", [TORCH, "overhead", "strata", "4"], {**PROFILER, "may_drop_calls": 1}, 30)
    run("overhead-4-no-calls", [TORCH, "overhead", "strata", "4"],
        {**PROFILER, "traces_calls": 0, "traces_memory": 0}, 30)
    run("overhead-4-torch", [TORCH, "overhead", "torch", "4"], None, 30)
    run("overhead-4-none", [TORCH, "overhead", "none", "4"], None, 30)


def faults():
    together([(f"fault-{kind}", [TORCH, "fault", kind], {}) for kind in ("kill", "_exit", "exception", "fork")] +
             [("graph", [TORCH, "graph"], {}),
              ("range", [TORCH, "layers"], {"range": "step", "skip": 1, "steps": 1})], 45)


def study():
    run("study", [TORCH, "study"], PROFILER, 60)
    run("layers", [TORCH, "layers"], {}, 30)


def counters():
    run("counters-time", [TORCH, "counted"], PROFILER, 30)
    run("counters-roofline", [TORCH, "counted"], {**PROFILER, "metrics": " ".join(metrics_of("roofline"))}, 45)
    run("counters-graph", [TORCH, "graph"], {"metrics": " ".join(metrics_of("roofline"))}, 30)


def references():
    """conv2d and LSTM in both frameworks. XLA tries many kernels for each shape before it runs one."""
    run("references", [TORCH, "references"], PROFILER, 30)
    run("jax-references", [JAX, "references"], PROFILER, 75)


def counted_references():
    """The same with FLOP and bytes of every kernel. Kernels are replayed: their times count from the stage above."""
    counted = {**PROFILER, "metrics": " ".join(metrics_of("roofline"))}
    run("references-counted", [TORCH, "references"], counted, 60)
    run("jax-references-counted", [JAX, "references"], counted, 90)


def jax():
    run("jax-study", [JAX, "study"], PROFILER, 60)


def pack(stage):
    """After every stage, so that a run that is cut short leaves the others. Logs of the overhead are large and alike."""
    if stage != "overhead":
        with tarfile.open(results / f"{stage}.tar.gz", "w:gz", compresslevel=6) as archive:
            for file in sorted(logs.iterdir()):
                archive.add(file, arcname=file.name)
    for file in logs.iterdir():
        file.unlink()


if __name__ == "__main__":
    begun = time.time()
    for stage_name in sys.argv[3:] or ["faults", "overhead", "study", "references", "counted_references", "counters", "jax"]:
        logs.mkdir(parents=True, exist_ok=True)
        globals()[stage_name]()
        pack(stage_name)
        logs.rmdir()
        print(f"{stage_name}: {time.time() - begun:.0f} s since the beginning", flush=True)
