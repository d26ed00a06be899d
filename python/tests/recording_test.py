# SPDX-License-Identifier: Apache-2.0
"""Recordings of PyTorch modules, without a GPU, with the PyTorch that is installed."""
import os
import tempfile
import unittest

from recorded import Net, recorded, Recorded, small  # first: where PyTorch is missing, the test ends here
import torch
import torch.nn.functional as functional
from torch import nn

import strata
import strata.torch


class Modules(unittest.TestCase):
    def test_layers_are_modules_forward_and_backward(self):
        seen = recorded(Net(), torch.randn(4, 3, 8, 8))
        leaves = {name for name, part in Net().named_modules() if name and next(part.children(), None) is None}
        self.assertLessEqual(leaves, seen.layers("forward"))
        self.assertLessEqual(leaves - {"blocks.0.relu"}, seen.layers("backward"))
        self.assertIn("blocks.0.relu", seen.layers("forward"), "a function is named by its operation")
        self.assertEqual(len(seen.named("convolution")), 3)
        self.assertEqual(len(seen.named("convolution_backward")), 3)
        self.assertEqual({seen.layer(one) for one in seen.named("convolution_backward")},
                         {"stem", "blocks.0.conv", "blocks.1.conv"})
        self.assertEqual(seen.layers("update"), {"optimizer"})

    def test_parameters_are_those_of_the_module(self):
        module = Net()
        model = strata.torch.record(module, torch.randn(4, 3, 8, 8))
        seen = Recorded(model.document)
        self.assertEqual(seen.storages("parameter"), {name: one.numel() * 4 for name, one in module.named_parameters()})
        self.assertEqual(model.parameters, sum(one.numel() for one in module.parameters()))
        self.assertEqual(set(seen.storages("buffer")), {name for name, _ in module.named_buffers()})

    def test_samples_and_another_batch(self):
        module, example = Net(), torch.randn(4, 3, 8, 8)
        self.assertEqual(recorded(module, example).document["samples"], 4)
        seen = recorded(module, example, batch=6)
        self.assertEqual(seen.document["samples"], 6)
        first = seen.named("convolution")[0]
        self.assertEqual(seen.document["tensors"][first["inputs"][0]][1], [6, 3, 8, 8])

    def test_autocast_casts_as_on_a_gpu(self):
        seen = recorded(Net(), torch.randn(4, 3, 8, 8), amp="bf16")
        self.assertEqual(seen.document["autocast"], "bfloat16")
        types = {seen.document["tensors"][one["outputs"][0]][0] for one in seen.named("convolution")}
        self.assertEqual(types, {"bfloat16"})
        losses = {seen.document["tensors"][one["outputs"][0]][0] for one in seen.named("_log_softmax")}
        self.assertEqual(losses, {"float32"})
        with self.assertRaisesRegex(strata.Error, "amp is bf16 or fp16, not int8"):
            recorded(Net(), torch.randn(4, 3, 8, 8), amp="int8")

    def test_inference_has_no_backward(self):
        module = Net()
        seen = recorded(module, torch.randn(4, 3, 8, 8), training=False)
        self.assertFalse(seen.document["training"])
        self.assertEqual({one["pass"] for one in seen.operations}, {"forward"})
        self.assertEqual(seen.named("native_dropout"), [])
        self.assertTrue(module.training)

    def test_optimizers(self):
        states = {"momentum": 1, "sgd": 0, "adam": 3, "none": 0}
        for name, count in states.items():
            seen = recorded(small(), torch.randn(4, 16), optimizer=name)
            self.assertEqual(len(seen.storages("state")), count * 4, name)
            self.assertEqual(bool(seen.layers("update")), name != "none", name)
        with self.assertRaisesRegex(strata.Error, "optimizer 'adagrad' is not known; one of momentum"):
            recorded(small(), torch.randn(4, 16), optimizer="adagrad")

    def test_inputs_by_name(self):
        class Named(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = nn.Embedding(20, 8)

            def forward(self, tokens, mask=None):
                return {"logits": self.words(tokens) * mask[..., None]}

        seen = recorded(Named(), {"tokens": torch.randint(0, 20, (3, 5)), "mask": torch.ones(3, 5)})
        self.assertLessEqual({"tokens", "mask"}, set(seen.storages("input")))

    def test_the_module_stays_as_it_was(self):
        class Shuffled(Net):
            def forward(self, x):
                return super().forward(x[torch.randperm(x.shape[0])])

        module = Shuffled().eval()
        before = {name: value.clone() for name, value in module.state_dict().items()}
        parameters = list(module.parameters())
        torch.manual_seed(1)
        numbers = torch.get_rng_state()
        recorded(module, torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(2)))
        self.assertTrue(torch.equal(torch.get_rng_state(), numbers))
        self.assertFalse(module.training)
        for one, old in zip(module.parameters(), parameters):
            self.assertIs(one, old)
            self.assertIsNone(one.grad)
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)

    def test_what_decides_by_numbers_is_assumed_or_refused_with_its_line(self):
        class Finite(nn.Linear):
            def forward(self, x):
                out = super().forward(x)
                if (out > 3).any():
                    out = out * 2
                return out

        class Sized(nn.Linear):
            def forward(self, x):
                return super().forward(x)[:, :int(super().forward(x).long().sum().item())]

        here = os.path.basename(__file__)
        assumed = strata.torch.record(Finite(4, 4), torch.randn(2, 4)).assumed
        self.assertEqual([os.path.basename(line.split(":")[0]) for line in assumed], [here])
        self.assertRegex(list(assumed.values())[0], "taken as false")
        with self.assertRaises(strata.Error) as seen:
            recorded(Sized(4, 4), torch.randn(2, 4))
        self.assertEqual(seen.exception.kind, "unsupported")
        self.assertRegex(str(seen.exception), here + r":\d+ .*integer.*real=True")

    def test_an_exception_of_the_module_has_its_line_and_changes_nothing(self):
        class Broken(nn.Linear):
            def forward(self, x):
                raise KeyError("nothing there")

        module = Broken(4, 4)
        weight = module.weight
        with self.assertRaisesRegex(strata.Error, os.path.basename(__file__) + r":\d+: KeyError: 'nothing there'"):
            recorded(module, torch.randn(2, 4))
        self.assertIs(module.weight, weight)
        self.assertFalse(torch.cuda.is_available())
        self.assertEqual((torch.ones(2) + 1).tolist(), [2, 2], "nothing is recorded any more")


class Predictions(unittest.TestCase):
    def test_a_module_a_step_and_a_file_say_the_same(self):
        module, x = Net(), torch.randn(4, 3, 32, 32)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9, foreach=True)  # as on a GPU
        y = torch.zeros(4, dtype=torch.long)

        def step():
            functional.cross_entropy(module(x), y).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        of_module = strata.torch.predict(module, x, on="h200")
        of_step = strata.torch.predict(step, on="h200")
        self.assertEqual(of_module.model.name, "Net")
        self.assertAlmostEqual(of_step.time_s / of_module.time_s, 1, delta=0.1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "operations.json")
            model = strata.torch.record(module, x, path=path)
            self.assertEqual(strata.predict(path, on="h200").time_s, of_module.time_s)
            self.assertEqual(strata.predict(model, on="h200").time_s, of_module.time_s)

    def test_what_a_recording_cannot_be_asked_is_asked_of_a_network(self):
        module, x = Net(), torch.randn(4, 3, 32, 32)
        self.assertEqual(strata.torch.predict(module, x, on="h200", micro_batches=2, batch=8).model.batch, 8)
        with self.assertRaisesRegex(strata.Error, "types of the module, not bf16"):
            strata.torch.predict(module, x, on="h200", dtype="bf16")


if __name__ == "__main__":
    unittest.main()
