#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py STRATA ROOT: what the program writes as JSON fits the schemas of docs/schemas, and the schemas are strict.

Every schema is met by something that the program writes, and refuses it once a key is missing, is of another type or
is not known."""
import json
import os
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: the Python module jsonschema is not there (package python3-jsonschema)")
    sys.exit(77)

strata, root = (os.path.abspath(word) for word in sys.argv[1:3])
schemas_folder = os.path.join(root, "docs", "schemas")
profiles = os.path.join(root, "data", "profiles", "nvidia-h200")

# What is run, in this order, and which of its files fits which schema. A list of files shares one.
commands = [
    ("predict lenet5 --json p.json", {"p.json": "prediction"}),
    ("predict resnet18 --inference --json i.json", {"i.json": "prediction"}),
    ("predict lenet5 --on rtx-2080-ti --capacity 64KiB --json small.json", {"small.json": "prediction"}),
    ("predict gpt2 --batch 64 --on l4 --bounds never --json oom.json", {"oom.json": "prediction"}),
    ("predict lenet5 --on h200,l40s,grace --price 3,1,1 --json mc.json", {"mc.json": "machine_choice"}),
    ("predict gpt2:layers=2 --on 2x2xh200 --parallel dp=2,pp=2,micro=2 --batch 8 --json pp.json", {"pp.json": "parallel_prediction"}),
    ("predict resnet18 --on 4xh200 --parallel dp=4,zero=3 --json pz.json", {"pz.json": "parallel_prediction"}),
    ("predict gpt2:layers=2 --on 2x2xh200 --parallel auto --batch 8 --json pc.json", {"pc.json": "parallel_choice"}),
    ("predict llama3_70b --on 2xl4 --parallel auto --batch 2 --json none.json", {"none.json": "parallel_choice"}),
    ("explain gpt2:layers=2 --on 2x2xh200 --parallel pp=4,micro=2 --batch 8 --json ep.json", {"ep.json": "explanation"}),
    ("measure lenet5 --iterations 2 --on grace --json m.json", {"m.json": "measurement"}),
    ("measure lenet5 lstm --iterations 1 --json nw.json", {"nw.json": "networks"}),
    (f"trace {root}/examples/traces/event-sync.json --json t.json", {"t.json": "trace"}),
    (f"trace {root}/examples/traces/event-sync.json --model lenet5 --json tm.json", {"tm.json": "trace"}),
    ("explain p.json --json e.json", {"e.json": "explanation"}),
    ("explain m.json --on h200 --json em.json", {"em.json": "explanation"}),
    ("explain oom.json --json eo.json", {"eo.json": "explanation"}),
    ("explain t.json --json et.json", {"et.json": "explanation"}),
    ("compare t.json t.json --json ct.json", {"ct.json": "comparison"}),
    ("compare p.json p.json --json cp.json", {"cp.json": "comparison"}),
    ("compare p.json m.json --json c.json", {"c.json": "comparison"}),
    ("roofline p.json i.json --json r.json", {"r.json": "roofline"}),
    ("roofline m.json --on h200 --by type --json rm.json", {"rm.json": "roofline"}),
    (f"roofline {profiles}/training/conv2d-b32-fp32.json --json rc.json", {"rc.json": "roofline"}),
    (f"explain {profiles}/training/conv2d-b32-fp32.json --json ec.json", {"ec.json": "explanation"}),
    ("show lenet5 --json s.json", {"s.json": "model"}),
    ("show gpt2 --json g.json", {"g.json": "model"}),
    (f"show {root}/tests/recordings/resnet18.json --json sr.json", {"sr.json": "model"}),
    (f"predict {root}/examples/recordings/operations.json --on h200 --json pr.json",
     {"pr.json": "prediction"}),
    ("convert lenet5 -o n.json", {"n.json": "network"}),
    ("convert gpt2 -o ng.json", {"ng.json": "network"}),
    ("machine list --json ml.json", {"ml.json": "machines"}),
    ("machine show h200 --json h200.json", {"h200.json": "machine"}),
    ("machine show 8x8xh100-sxm --json cl.json", {"cl.json": "cluster"}),
    ("predict lenet5 --on 2xh200 --devices 1,2,3 --price 2 --samples 90M --json ps.json", {"ps.json": "parallel_scaling"}),
    ("predict gpt2:layers=2 --on 2xh200 --devices 1,2 --batch 4 --json pt.json", {"pt.json": "parallel_scaling"}),
    ("machine diff h200 v100 --json md.json", {"md.json": "machine_diff"}),
    ("list --json l.json", {"l.json": "catalogue"}),
    ("list operators --json lo.json", {"lo.json": "catalogue"}),
    ("list frameworks --json lf.json", {"lf.json": "catalogue"}),
    ("doctor --json d.json", {"d.json": "readiness"}),
    ("doctor --networks --json do.json", {"do.json": "trained_networks"}),
    ("reproduce roofline --json rep.json", {"rep.json": "reproduction"}),
    ("reproduce layerwise --json repl.json", {"repl.json": "reproduction"}),
    ("validate pytorch-h200-host --json v.json", {"v.json": "validation"}),
    ("validate megatron-published --json vp.json", {"vp.json": "parallel_validation"}),
    (
        "conv --base 2,12,4,3,1 --sweep k=2:4 --strategies direct,unroll,winograd2 --samples 1 --json conv.json",
        {"conv.json": "convolutions"},
    ),
    ("sweep lenet5 --capacity 1MiB,2MiB,4MiB --jsonl sw.jsonl", {"sw.jsonl": "sweep_point"}),
    ("sweep lenet5 --on h200,grace --batch 8,16 --no-limit --jsonl sx.jsonl", {"sx.jsonl": "sweep_point"}),
    ("sweep gpt2:layers=2 --on 4xh200 --batch 8 --axis tp=1,2,3 --jsonl ss.jsonl", {"ss.jsonl": "sweep_point"}),
    (
        "sweep lenet5 --on h200,grace --batch 8,16 --pareto --sensitivity --best-under batch<9 --json sy.json",
        {"sy.json": "sweep_answers"},
    ),
    (
        "sweep lenet5 --capacity 1MiB,2MiB,4MiB --pareto --knee --sensitivity --best-under area_mm2<1 --json sa.json",
        {"sa.json": "sweep_answers"},
    ),
]
# What ships was written by the program, too, some of it on other machines.
shipped = {os.path.join(profiles, "machine.json"): "machine", os.path.join(profiles, "conv", "paper.json"): "convolutions"}
# Recordings are written by its Python package.
for recording in ("examples/recordings/operations.json", "tests/recordings/resnet18.json"):
    shipped[os.path.join(root, recording)] = "operations"
for machine in os.listdir(os.path.dirname(profiles)):
    table = os.path.join(os.path.dirname(profiles), machine, "networks.json")
    if os.path.exists(table):
        shipped[table] = "networks"
for folder, kind in ((os.path.join(profiles, "training"), "measurement"), (os.path.join(root, "data", "machines"), "machine")):
    shipped.update({os.path.join(folder, name): kind for name in os.listdir(folder) if name.endswith(".json")})

faults = []


def validator_of(kind):
    with open(os.path.join(schemas_folder, kind + ".schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def expect_fit(kind, document, name):
    for error in list(validators[kind].iter_errors(document))[:3]:
        place = "/".join(str(word) for word in error.absolute_path)
        faults.append(f"{name}: not as {kind} has it: {place}: {error.message[:200]}")


def expect_strict(kind, document, name):
    """A schema that takes anything would check nothing."""
    validator = validators[kind]
    # Its own keys are at stake, not the thousands of rows below them, which were held against the schema already.
    few = {key: value[:2] if isinstance(value, list) else value for key, value in document.items()}
    if validator.is_valid(few):
        document = few
    for key in validator.schema["required"]:
        changed = dict(document)
        del changed[key]
        if validator.is_valid(changed):
            faults.append(f"{kind}: takes {name} without its '{key}'")
        changed[key] = {"a": ["wrong", "type"]}
        if validator.is_valid(changed) and validator.schema["properties"][key].get("type") != "object":
            faults.append(f"{kind}: takes {name} with an object for its '{key}'")
    if validator.schema.get("additionalProperties") is False:
        if validator.is_valid({**document, "unknown_key": 1}):
            faults.append(f"{kind}: takes {name} with a key that nobody knows")


validators = {
    name[: -len(".schema.json")]: validator_of(name[: -len(".schema.json")])
    for name in sorted(os.listdir(schemas_folder))
    if name.endswith(".schema.json")
}
met = {}
with tempfile.TemporaryDirectory() as scratch:
    for command, files in commands:
        done = subprocess.run([strata, *command.split()], cwd=scratch, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            faults.append(f"strata {command}: exit code {done.returncode}: {done.stderr.strip()[:300]}")
            continue
        for name, kind in files.items():
            with open(os.path.join(scratch, name), encoding="utf-8") as file:
                lines = [file.read()] if not name.endswith(".jsonl") else file.read().splitlines()
            documents = [json.loads(line) for line in lines]
            if name.endswith(".jsonl"):
                met.setdefault("sweep_head", (documents[0], name))
                expect_fit("sweep_head", documents.pop(0), name)
            for document in documents:
                met.setdefault(kind, (document, name))
                expect_fit(kind, document, f"{name} of strata {command}")
for path, kind in shipped.items():
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    expect_fit(kind, document, os.path.relpath(path, root))
    if kind == "operations":  # which a Python with PyTorch writes
        met.setdefault(kind, (document, os.path.relpath(path, root)))

for kind, (document, name) in met.items():
    expect_strict(kind, document, name)
faults += [f"{kind}: nothing that the program writes was held against it" for kind in validators if kind not in met]
print("\n".join(faults) if faults else f"{len(validators)} schemas, {len(commands)} commands, {len(shipped)} shipped files")
sys.exit(1 if faults else 0)
