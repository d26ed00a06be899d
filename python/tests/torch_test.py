# SPDX-License-Identifier: Apache-2.0
"""strata.torch with the PyTorch that is installed: parameters, batch norm, dropout and names of modules."""
import collections
import json
import os
import sys
import tempfile
import unittest
import warnings

DISTRIBUTION = "/usr/bin/python3"


def needs_torch():
    try:
        import torch  # noqa: F401
        import torchvision  # noqa: F401

        import strata  # noqa: F401
    except ImportError as missing:
        # The distribution's PyTorch belongs to the distribution's Python, which may not be the first in PATH.
        if os.path.exists(DISTRIBUTION) and not os.environ.get("STRATA_TORCH_TEST"):
            os.environ["STRATA_TORCH_TEST"] = "again"
            os.execv(DISTRIBUTION, [DISTRIBUTION, *sys.argv])
        print(f"skipped: {missing} (python3-torchvision)")
        sys.exit(77)


needs_torch()
import torch  # noqa: E402
import torchvision  # noqa: E402

import strata  # noqa: E402
import strata.torch  # noqa: E402

torch.set_num_threads(1)  # other tests run at the same time, and the networks are small


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.embedding = torch.nn.Embedding(100, 64)
        self.encoder = torch.nn.TransformerEncoder(layer, 2)
        self.head = torch.nn.Linear(64, 100)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)))


def small_vit():
    return torchvision.models.VisionTransformer(image_size=64, patch_size=16, num_layers=2, num_heads=4, hidden_dim=64,
                                                mlp_dim=128, dropout=0.1)


def leaves(module):
    return {name for name, part in module.named_modules() if name and next(part.children(), None) is None}


class FromPyTorch(unittest.TestCase):
    CASES = {
        "resnet18": (torchvision.models.resnet18, lambda: torch.randn(4, 3, 32, 32), {"batch_norm"}),
        "mobilenet_v2": (torchvision.models.mobilenet_v2, lambda: torch.randn(4, 3, 32, 32), {"batch_norm", "dropout"}),
        "vit": (small_vit, lambda: torch.randn(4, 3, 64, 64), {"layer_norm", "dropout", "attention"}),
        "encoder": (Encoder, lambda: torch.randint(0, 100, (4, 16)), {"layer_norm", "dropout", "attention"}),
    }

    def test_parameters_operators_and_names(self):
        for name, (make, example, operators) in self.CASES.items():
            with self.subTest(name):
                module = make()
                network = strata.show(strata.torch.load(module, example()))
                self.assertEqual(network.parameters, sum(p.numel() for p in module.parameters()))
                self.assertLessEqual(operators, {row["op"] for row in network.rows})
                names = {row["name"] for row in network.rows}
                self.assertEqual(leaves(module) - names, set(), "every module that computes is a layer of its name")
                self.assertEqual(network.model.batch, 4, "the default is the example's batch")

    def test_a_module_that_is_called_again_has_a_number(self):
        names = [row["name"] for row in strata.show(strata.torch.load(
            torchvision.models.resnet18(), torch.randn(2, 3, 32, 32))).rows]
        self.assertEqual(names[:4], ["conv1", "bn1", "relu", "maxpool"])
        for name in ("layer1.0.relu", "layer1.0.relu_1", "layer1.0.Add", "layer2.0.downsample.0", "fc"):
            self.assertIn(name, names)

    def test_the_module_stays_as_it_was(self):
        module, example = torchvision.models.mobilenet_v2().eval(), torch.randn(2, 3, 32, 32)
        before = {name: value.clone() for name, value in module.state_dict().items()}
        numbers = torch.get_rng_state()
        strata.torch.load(module, example)
        self.assertFalse(module.training)
        self.assertTrue(torch.equal(numbers, torch.get_rng_state()))
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)

    def test_predict_takes_the_options_of_predict(self):
        module, example = torchvision.models.resnet18(), torch.randn(2, 3, 224, 224)
        loaded = strata.predict(strata.torch.load(module, example), on="h200", batch=32, amp="bf16")
        built_in = strata.predict("resnet18", on="h200", batch=32, amp="bf16")
        self.assertAlmostEqual(loaded.time_s / built_in.time_s, 1, delta=0.02)
        for result in (loaded, strata.torch.predict(module, example, on="h200", batch=32, amp="bf16")):
            self.assertEqual(result.model.name, "ResNet")
            self.assertGreater(len(strata.explain(result).what_ifs), 0, "it can be made again")

    def test_recordings_match_by_the_names_of_modules(self):
        kernels = {"conv": "void implicit_convolve_sgemm<float>", "bn": "void batch_norm_collect_statistics_kernel<float>",
                   "relu": "void at::native::vectorized_elementwise_kernel<clamp_min>", "fc": "ampere_sgemm_128x64_tn"}
        module = torch.nn.Sequential(collections.OrderedDict(
            conv=torch.nn.Conv2d(3, 8, 3), bn=torch.nn.BatchNorm2d(8), relu=torch.nn.ReLU(),
            flatten=torch.nn.Flatten(), fc=torch.nn.Linear(288, 10)))
        events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 900}]
        for number, (name, kernel) in enumerate(kernels.items(), 1):
            at, link = 100 * number, {"correlation": number}
            events += [
                {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 20},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5, "dur": 5,
                 "args": link},
                {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": at + 30, "dur": 10 * number,
                 "args": {**link, "device": 0, "stream": 7}}]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
                           "traceEvents": events}, file)
            model = strata.torch.load(module, torch.randn(2, 3, 8, 8))
            seen = strata.trace(path, model=model, inference=True)
        times = {row["layer"]: round(1e6 * row["time_s"]) for row in seen.rows}
        self.assertEqual(times, {"conv": 10, "bn": 20, "relu": 30, "fc": 40})

    def test_sweeps_say_the_name(self):
        model = strata.torch.load(torch.nn.Sequential(torch.nn.Linear(8, 8)), torch.randn(2, 8), name="mine")
        points = strata.sweep(model, on="h200", batch=[8, 16], no_limit=True)
        self.assertEqual({row["model"] for row in points.rows}, {"mine"})
        self.assertNotIn("strata-", str(points))

    def test_arguments_by_name(self):
        model = strata.torch.load(Encoder(), {"tokens": torch.randint(0, 100, (2, 8))}, name="mine")
        self.assertEqual(model.name, "mine")
        self.assertEqual(strata.show(model, batch=6).model.batch, 6)

    def test_what_an_exporter_does_not_know_is_said(self):
        class Coin(torch.nn.Module):
            """Stochastic depth, as torchvision has it."""

            def forward(self, x):
                return x * torch.empty(x.shape[0], 1).bernoulli_(0.5) if self.training else x

        module = torch.nn.Sequential(torch.nn.Linear(4, 4), Coin(), torch.nn.Dropout(0.5))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            network = strata.show(strata.torch.load(module, torch.randn(2, 4)))
        self.assertIn("dropout", {row["op"] for row in network.rows}, "layers of PyTorch are as they train")
        said = [str(warning.message) for warning in seen if warning.category is strata.StrataWarning]
        if said:  # newer exporters know it, and then it is an operator without arithmetic of ours
            self.assertRegex(said[0], "cannot export Sequential as it trains|does not know the operator")
            self.assertEqual(os.path.basename(seen[0].filename), os.path.basename(__file__))

    def test_parameters_that_take_no_part_are_said(self):
        class Idle(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.unused = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

            def forward(self, x):
                return self.used(x)

        with self.assertWarnsRegex(strata.StrataWarning, "20 of 40 parameters.*unused.weight"):
            strata.torch.load(Idle(), torch.randn(2, 4))

    def test_errors(self):
        with self.assertRaisesRegex(strata.Error, "holds no tensor"):
            strata.torch.load(torch.nn.Linear(4, 4), (3,))


if __name__ == "__main__":
    unittest.main()
