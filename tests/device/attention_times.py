# SPDX-License-Identifier: Apache-2.0
"""attention_times.py STRATA [NETWORK:BATCH:LENGTH:DTYPE...]: networks measured with each way to compute attention;
the time of their attention, of an iteration, and the memory."""
import json
import subprocess
import sys
import tempfile

CASES = ["gpt2:8:512:fp32", "gpt2:8:512:bf16", "bert_base:32:128:fp32", "bert_base:32:128:bf16",
         "transformer_base:16:256:fp32", "transformer_base:16:256:bf16", "gpt2:2:1024:fp32", "gpt2:8:1024:bf16"]
WAYS = ["products", "fused", "cudnn:sdpa", None]


def measured(strata, network, batch, length, dtype, way):
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        command = [strata, "measure", network, "--device", "cuda", "-b", batch, "-s", length, "-t", dtype,
                   "--iterations", "5", "--json", file.name]
        done = subprocess.run(command + (["--attention", way] if way else []), capture_output=True, text=True,
                              timeout=60)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or done.stdout[-300:])
        return json.load(open(file.name))


def main():
    strata = sys.argv[1]
    print(f"{'network':18}{'batch':>6}{'length':>7} {'type':5}{'way':12}{'forward ms':>11}{'backward':>10}{'whole':>9}"
          f"{'memory MB':>11}  implementation")
    for case in sys.argv[2:] or CASES:
        network, batch, length, dtype = case.split(":")
        for way in WAYS:
            line = f"{network:18}{batch:>6}{length:>7} {dtype:5}{way or 'fastest':12}"
            try:
                profile = measured(strata, network, batch, length, dtype, way)
            except Exception as error:  # one that fails leaves the others
                print(line, "failed:", str(error)[:300], flush=True)
                continue
            rows = [row for row in profile["layers"] if row["op"] == "attention"]
            times = [sum(row["time_s"] or 0 for row in rows if (row["pass"] == "forward") == is_forward) * 1e3
                     for is_forward in (True, False)]
            names = sorted({row.get("not_run") or str(row.get("implementation")) for row in rows})
            totals = profile["totals"]
            print(f"{line}{times[0]:11.3f}{times[1]:10.3f}{(totals['time_s'] or 0) * 1e3:9.2f}"
                  f"{totals['peak_memory_bytes'] / 1e6:11.0f}  {'; '.join(names)[:120]}", flush=True)
            if way is None:
                print("  versions:", ", ".join(profile["provenance"]["versions"]), flush=True)


main()
