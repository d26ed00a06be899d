# SPDX-License-Identifier: Apache-2.0
"""strata record: scripts that nobody has changed. The argument is the program."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from recorded import Recorded  # first: where PyTorch is missing, the test ends here
import torch

import strata

PROGRAM = os.path.abspath(sys.argv.pop(1))

SCRIPT = """
import argparse, os, sys
import torch, torch.nn as nn, torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        with torch.no_grad():
            width = self.conv(torch.zeros(1, 1, 8, 8)).numel()  # runs with numbers
        self.fc = nn.Linear(width, 4)
        assert float(self.fc.weight.abs().sum()) > 0
    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).flatten(1))
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--fail", default="")
options = parser.parse_args()
device = "cuda" if torch.cuda.is_available() else "cpu"
assert device == "cuda" and "STRATA" not in "".join(sys.argv)
if options.fail == "early":
    raise RuntimeError("no data")
data = torch.utils.data.TensorDataset(torch.randn(64, 1, 8, 8), torch.randint(0, 4, (64,)))
loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
model = Net().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for i, (x, y) in enumerate(loader):
    if i == options.steps:
        break
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x.to(device)), y.to(device))
    loss.backward()
    optimizer.step()
    scheduler.step()
    if options.fail == "number":
        torch.arange(int(model(x.to(device)).long().sum()))
    print("step", i, loss.item())
open("ran-on", "w").close()
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with open(os.path.join(self.folder.name, "train.py"), "w", encoding="utf-8") as file:
            file.write(SCRIPT)

    def run_program(self, *words, python=sys.executable, script="train.py"):
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}  # nothing is installed
        return subprocess.run([PROGRAM, "record", *self.before, "--", python, script, *words], cwd=self.folder.name,
                              env=environment, capture_output=True, text=True, timeout=300)

    before = ()

    def document(self, name="operations.json"):
        with open(os.path.join(self.folder.name, name), encoding="utf-8") as file:
            return Recorded(json.load(file))

    def test_an_unmodified_script(self):
        done = self.run_program()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), ["step 0 1.0"], "its second step is the last thing that runs")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "ran-on")))
        seen = self.document()
        self.assertRegex(done.stderr, f"{len(seen.operations)} operations of step 2 of the optimizer, 4 samples")
        self.assertRegex(done.stderr, r"assumed: .*train.py:\d+: a number that depends")
        self.assertEqual((seen.document["name"], seen.document["samples"], seen.document["training"]), ("Net", 4, True))
        self.assertEqual(seen.document["source"], "PyTorch script train.py")
        self.assertLessEqual({"conv", "fc"}, seen.layers("forward") & seen.layers("backward"))
        self.assertEqual(len(seen.named("convolution")), 1)
        self.assertEqual(len(seen.storages("parameter")), 4)
        self.assertEqual(strata.predict(os.path.join(self.folder.name, "operations.json"), on="h200").model.name, "Net")

    def test_the_example_is_what_its_script_runs(self):
        examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "recordings")
        with open(os.path.join(examples, "operations.json"), encoding="utf-8") as file:
            kept = Recorded(json.load(file))
        if kept.document["framework"] != "PyTorch " + torch.__version__:
            self.skipTest(f"the example is of {kept.document['framework']}")
        done = self.run_program(script=os.path.join(examples, "train.py"))
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = self.document()
        self.assertEqual([(one["op"], one["pass"], seen.layer(one)) for one in seen.operations],
                         [(one["op"], one["pass"], kept.layer(one)) for one in kept.operations])
        self.assertEqual(seen.document["samples"], kept.document["samples"])

    def test_a_later_step_to_another_file(self):
        self.before = ("--step", "4", "-o", "later.json")
        done = self.run_program()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 3)
        self.assertRegex(done.stderr, "of step 4 of the optimizer")
        self.assertEqual(len(self.document("later.json").named("convolution")), 1)

    def test_why_there_is_no_recording(self):
        for words, code, message in (
                (("--steps", "1"), 2, "the program ended after 1 of 2 steps of its optimizer"),
                (("--steps", "0"), 2, "the program trained nothing with PyTorch"),
                (("--fail", "early"), 2, "failed before it trained anything: RuntimeError: no data"),
                (("--fail", "number"), 2, r"train.py:\d+ asks for the value of an integer .*real=True")):
            with self.subTest(words):
                done = self.run_program(*words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertRegex(done.stderr, "error: .*" + message)
                self.assertFalse(os.path.exists(os.path.join(self.folder.name, "operations.json")))

    def test_programs_without_pytorch(self):
        with open(os.path.join(self.folder.name, "plain.py"), "w", encoding="utf-8") as file:
            file.write("print('nothing')\n")
        with open(os.path.join(self.folder.name, "wants.py"), "w", encoding="utf-8") as file:
            file.write("import sys\nsys.path = [one for one in sys.path if 'packages' not in one]\nimport torch\n")
        done = self.run_program(script="plain.py")
        self.assertEqual((done.returncode, done.stdout), (2, "nothing\n"))
        self.assertRegex(done.stderr, "never imported PyTorch")
        done = self.run_program(script="wants.py")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, "has no PyTorch; name the Python that has it")
        done = self.run_program(python="/nowhere/python")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "/nowhere/python: cannot be run")


if __name__ == "__main__":
    unittest.main()
