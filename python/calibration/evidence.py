# SPDX-License-Identifier: Apache-2.0
"""Counts how far expected times are off on each machine, for what a result says of itself: makes data/evidence/expected.json.

    python3 evidence.py STRATA OUT.json SET|TRUTH.json... [--runs RUNS.json]...

Sets and truth files are asked with `strata validate`; their form is in docs/formats/truth.md. RUNS has runs that were asked
elsewhere, [{"machine", "framework", "passes", "model", "error", "inside", "source"}]. No expected time was fitted to any of them but for what
the sets themselves say.
"""
import argparse
import collections
import json
import os
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def asked(strata, name):
    path = name if os.path.exists(name) else os.path.join(ROOT, "data", "truth", name + ".json")
    with open(path, encoding="utf-8") as file:
        truth = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        subprocess.run([strata, "validate", name, "--json", out], check=True, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            answer = json.load(file)["sets"][0]
    by_key = {(run["model"], run["machine"], run["precision"], run["batch"], run["measured"]["iteration_s"]): run for run in answer["runs"]
              if "expected" in run}
    for run in truth["runs"]:
        machine = run.get("machine", truth.get("machine"))
        found = by_key.get((run["model"], machine, run.get("precision"), run.get("batch", 1), run["iteration_s"]))
        if found is None:  # it could not be predicted
            continue
        yield {"machine": machine, "framework": truth["framework"], "passes": "inference" if run.get("passes") == "inference" else "training",
               "model": run["model"], "error": found["expected"]["time_s"] / run["iteration_s"] - 1, "inside": found["is_inside"], "source": truth["name"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strata")
    parser.add_argument("out")
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--runs", action="append", default=[])
    options = parser.parse_args()
    runs = [run for name in options.sets for run in asked(options.strata, name)]
    for path in options.runs:
        with open(path, encoding="utf-8") as file:
            runs += json.load(file)
    groups = collections.defaultdict(list)
    for run in runs:
        groups[run["machine"], run["framework"], run["passes"]].append(run)
    lines = []
    for (machine, framework, passes), found in sorted(groups.items()):
        sources = sorted({run["source"] for run in found})
        lines.append(json.dumps({"machine": machine, "framework": framework, "passes": passes, "runs": len(found), "networks": len({run["model"] for run in found}),
                                 "median_error": round(statistics.median(abs(run["error"]) for run in found), 3),
                                 "inside": round(sum(run["inside"] for run in found) / len(found), 3), "source": "; ".join(sources)}))
    with open(options.out, "w", encoding="utf-8") as file:
        file.write('{\n "strata_evidence": 1,\n "checked": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n")


main()
