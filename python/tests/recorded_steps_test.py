# SPDX-License-Identifier: Apache-2.0
"""Recordings of training steps of every kind that people write, without a GPU, with the PyTorch that is installed."""
import collections
import copy
import os
import random
import unittest

from recorded import recorded, small  # first: where PyTorch is missing, the test ends here
import torch
import torch.nn.functional as functional
from torch import nn
from torch.utils.checkpoint import checkpoint

import strata
import strata.torch


class Steps(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x, self.y = torch.randn(8, 16), torch.randint(0, 4, (8,))

    def train(self, module, **options):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, **options)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(module(self.x), self.y)
            loss.backward()
            optimizer.step()
            return loss.item()
        return step

    def test_a_plain_step(self):
        seen = recorded(self.train(small(), momentum=0.9))
        self.assertEqual(seen.document["name"], "Sequential")
        self.assertEqual(seen.document["samples"], 8)
        self.assertEqual(len(seen.named("addmm")), 2)
        self.assertEqual(set(seen.storages("gradient")), {"0.weight", "0.bias", "2.weight", "2.bias"})
        self.assertEqual(len(seen.storages("state")), 4, "made in the step that warms up")
        self.assertTrue(seen.document["training"])

    def test_accumulated_gradients_count_all_samples(self):
        module = small()
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad(set_to_none=True)
            for _ in range(3):
                (functional.cross_entropy(module(self.x), self.y) / 3).backward()
            optimizer.step()

        seen = recorded(step)
        self.assertEqual(seen.document["samples"], 24)
        self.assertEqual(len(seen.named("addmm")), 6)
        self.assertIn("0_2", seen.layers("forward"), "the third call")

    def test_checkpoints_are_forward_again(self):
        for options in ({"use_reentrant": True}, {"use_reentrant": False}):
            with self.subTest(options):
                module = small(16, 16)
                head = nn.Linear(16, 4)
                both = nn.ModuleList([module, head])
                optimizer = torch.optim.SGD(both.parameters(), lr=0.1)
                x = self.x.clone().requires_grad_()

                def step():
                    out = checkpoint(lambda t: torch.tanh(module(t)), x, **options)
                    functional.cross_entropy(head(out), self.y).backward()
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=True)

                seen = recorded(step)
                again = [one for one in seen.operations if one.get("recomputed")]
                self.assertEqual(collections.Counter(one["op"] for one in again)["aten::addmm"], 2)
                self.assertEqual(collections.Counter(one["op"] for one in again)["aten::tanh"], 1)
                self.assertEqual({one["pass"] for one in again}, {"forward"})
                self.assertEqual(len(seen.named("addmm")), 5)
                self.assertEqual(seen.document["samples"], 8, "forward again is not another sample")

    def test_a_scaler_works_as_on_a_gpu(self):
        module = small()
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        scaler = torch.cuda.amp.GradScaler()
        self.assertFalse(scaler.is_enabled(), "there is no GPU here")

        def step():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = functional.cross_entropy(module(self.x.cuda()), self.y.cuda())
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

        seen = recorded(step)
        self.assertEqual(seen.document["autocast"], "float16")
        self.assertEqual(len(seen.named("_amp_foreach_non_finite_check_and_unscale_")), 1)
        self.assertEqual(len(seen.named("_amp_update_scale_")), 1)
        updated = [one for one in seen.operations if one["pass"] == "update" and one["op"].startswith("aten::_foreach_add_")
                   or one["op"] == "aten::add_.Tensor" and one["pass"] == "update"]
        self.assertTrue(updated, "the step is not left out")
        self.assertFalse(scaler.is_enabled())

    def test_frozen_parameters_have_no_gradient(self):
        class Adapted(nn.Module):
            def __init__(self):
                super().__init__()
                self.base = small().requires_grad_(False)
                self.down, self.up = nn.Linear(16, 2, bias=False), nn.Linear(2, 4, bias=False)

            def forward(self, x):
                return self.base(x) + self.up(self.down(x))

        module = Adapted()
        optimizer = torch.optim.AdamW([one for one in module.parameters() if one.requires_grad])

        def step():
            module(self.x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        seen = recorded(step)
        self.assertEqual(set(seen.storages("gradient")), {"down.weight", "up.weight"})
        self.assertEqual(len(seen.storages("parameter")), 6)
        self.assertEqual(len(seen.storages("state")), 6)

    def test_two_networks_and_two_optimizers(self):
        class Generator(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = small(8, 16)

            def forward(self, z):
                return self.net(z)

        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = small(16, 1)

            def forward(self, x):
                return self.net(x)

        generator, critic = Generator(), Critic()
        of_generator = torch.optim.Adam(generator.parameters())
        of_critic = torch.optim.Adam(critic.parameters())

        def step():
            x = self.x.to("cuda")
            fake = generator(torch.randn(8, 8, device="cuda"))
            of_critic.zero_grad()
            (functional.softplus(-critic(x)).mean() + functional.softplus(critic(fake.detach())).mean()).backward()
            of_critic.step()
            of_generator.zero_grad()
            functional.softplus(-critic(fake)).mean().backward()
            of_generator.step()

        seen = recorded(step)
        self.assertEqual(seen.document["name"], "Generator+Critic")
        self.assertLessEqual({"Generator.net.0", "Critic.net.0", "Critic.net.0_2"}, seen.layers("forward"))
        self.assertLessEqual({"Generator.net.0", "Critic.net.0", "Critic.net.0_1"}, seen.layers("backward"))
        self.assertEqual(len(seen.storages("parameter")), 8)
        self.assertEqual(seen.document["assumed"], {})

    def test_a_gpu_can_be_named(self):
        module = small().to("cpu")
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        found = []

        def step():
            found.append((torch.cuda.is_available(), torch.cuda.device_count()))
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            out = module(self.x.to(device, non_blocking=True))
            found.append((out.is_cuda, out.device.type))
            loss = functional.cross_entropy(out, self.y.cuda()) + torch.zeros((), device=out.device)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.synchronize()
            found.append(out.argmax(1).cpu().numpy().shape)

        seen = recorded(step)
        self.assertEqual(set(found), {(True, 1), (True, "cuda"), (8,)})
        copies = [one for one in seen.named("_to_copy") if one.get("arguments", {}).get("device") == "cuda"]
        self.assertEqual([one["inputs"] for one in copies], [[None], [None]], "from the host")
        self.assertFalse(torch.cuda.is_available())
        self.assertFalse(torch.ones(1).to("cpu").is_cuda)

    def test_data_is_prepared_with_numbers(self):
        class Data(torch.utils.data.Dataset):
            transform = nn.Sequential(nn.Flatten(0), nn.Identity())

            def __len__(self):
                return 32

            def __getitem__(self, i):
                x = self.transform(torch.full((4, 4), float(i)))
                assert x.numpy()[0] == i and float(x.sum()) == 16 * i
                return x, i % 4

        module = small()
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        for workers in (0, 2):
            loader = iter(torch.utils.data.DataLoader(Data(), 8, shuffle=True, num_workers=workers, pin_memory=True))

            def step():
                x, y = next(loader)
                functional.cross_entropy(module(x.cuda()), y.cuda()).backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

            seen = recorded(step)
            self.assertEqual(seen.document["samples"], 8)
            self.assertEqual(seen.named("stack") + seen.named("sum", **{"pass": "forward"}), [], "the host's work")

    def test_parameters_that_the_program_keeps(self):
        module = small()
        average = copy.deepcopy(module).requires_grad_(False)
        kept, kept_average = list(module.parameters()), list(average.parameters())
        before = [one.clone() for one in kept_average]
        optimizer = torch.optim.SGD(kept, lr=0.1)

        def step():
            module(self.x).mean().backward()
            norm = nn.utils.clip_grad_norm_(kept, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            with torch.no_grad():
                for mean, one in zip(kept_average, kept):
                    mean.mul_(0.9).add_(one, alpha=0.1)
            return norm

        seen = recorded(step)
        self.assertGreater(len(seen.named("norm") + seen.named("linalg_vector_norm") + seen.named("_foreach_norm")), 0)
        self.assertEqual(len([one for one in seen.named("add_") if one["pass"] == "forward"]), 4)
        for mean, old in zip(kept_average, before):
            self.assertTrue(torch.equal(mean, old))
        self.assertIs(type(kept[0]), nn.Parameter)

    def test_a_closure_is_no_update(self):
        module = small()
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

        def step():
            def loss():
                optimizer.zero_grad(set_to_none=True)
                value = functional.cross_entropy(module(self.x), self.y)
                value.backward()
                return value
            optimizer.step(loss)

        seen = recorded(step)
        self.assertEqual({one["pass"] for one in seen.named("addmm")}, {"forward"})
        self.assertEqual({one["pass"] for one in seen.named("mm")}, {"backward"})
        self.assertIn("optimizer", seen.layers("update"))

    def test_gradients_of_inputs(self):
        module = small(16, 1)
        x = self.x.clone().requires_grad_()
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

        def step():
            gradient, = torch.autograd.grad(module(x).sum(), x, create_graph=True)
            (gradient.norm(dim=1) - 1).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        seen = recorded(step)
        self.assertTrue(seen.storages("gradient"))
        self.assertIs(type(x), torch.Tensor)
        self.assertIsNone(x.grad)

    def test_what_is_printed_of_a_loss(self):
        module = small()
        printed = []

        def step():
            loss = module(self.x).square().mean()
            loss.backward()
            printed.append(f"{loss:.2f} {loss.item()} {loss.detach()} {loss.tolist()} {bool(torch.isfinite(loss))}")

        seen = recorded(step)
        self.assertEqual(printed[-1], "1.00 1.0 1.0 1.0 True")
        self.assertEqual(len(seen.document["assumed"]), 1)

    def test_parameters_in_no_module(self):
        weight = torch.randn(16, 4, requires_grad=True)
        optimizer = torch.optim.Adam([weight])

        def step():
            optimizer.zero_grad(set_to_none=True)
            (torch.randn(8, 16, device="cuda") @ weight).sum().backward()
            optimizer.step()

        seen = recorded(step)
        self.assertEqual(len(seen.named("mm")), 2)
        self.assertEqual(len(seen.storages("state")), 3)
        self.assertIs(type(weight), torch.Tensor)
        self.assertEqual(optimizer.state, {})

    def test_collectives_are_written_down(self):
        if not torch.distributed.is_available():
            self.skipTest("this PyTorch has no torch.distributed")
        module = small()

        def step():
            module(self.x).sum().backward()
            for one in module.parameters():
                torch.distributed.all_reduce(one.grad)

        seen = recorded(step)
        exchanged = seen.named("allreduce_")
        self.assertEqual(len(exchanged), 4)
        self.assertTrue(all(one["mutates"] for one in exchanged))
        if torch.__version__.startswith("1."):
            with self.assertRaisesRegex(strata.Error, os.path.basename(__file__) + r":\d+ begins a process group; PyTorch 1.*2.1 or newer"):
                recorded(lambda: torch.distributed.init_process_group("nccl"))

    def test_data_parallel_training_sums_buckets(self):
        if not torch.distributed.is_available():
            self.skipTest("this PyTorch has no torch.distributed")
        module = nn.Sequential(nn.Linear(16, 1024), nn.BatchNorm1d(1024), nn.Linear(1024, 512), nn.Linear(512, 4))
        made = []

        def step():
            if not made:
                parallel = nn.parallel.DistributedDataParallel(module, device_ids=[0])
                made.extend([parallel, torch.optim.SGD(parallel.parameters(), lr=0.1)])
            parallel, optimizer = made
            with parallel.no_sync():
                parallel(self.x).sum().backward()
            parallel(self.x).sum().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        seen = recorded(step)
        self.assertEqual(seen.document["samples"], 16)
        self.assertLessEqual({"0", "3_1"}, seen.layers("forward"), "names without the wrapper's")
        summed = seen.named("allreduce_")
        self.assertEqual(len(summed), 2, "2.1 MB of the last layers, then the rest")
        sizes = [seen.document["tensors"][one["mutates"][0]][1][0] for one in summed]
        self.assertEqual(sum(sizes), sum(one.numel() for one in module.parameters()))
        self.assertEqual(len(seen.named("broadcast_")), 1, "of running means, once per step that is synchronised")
        self.assertEqual({one["pass"] for one in summed}, {"backward"})

    def test_everything_is_put_back(self):
        module = small()
        optimizer = torch.optim.Adam(module.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        module(self.x).sum().backward()
        optimizer.step()
        state = copy.deepcopy(optimizer.state_dict())
        of_scheduler = copy.deepcopy(scheduler.state_dict())
        parameters = list(module.parameters())
        numbers, plain = torch.get_rng_state(), random.getstate()
        gradients = [one.grad.clone() for one in parameters]
        step_of_class = torch.optim.Adam.step

        def work(fails):
            module.eval()
            random.random()
            torch.rand(3)
            optimizer.zero_grad(set_to_none=True)
            module(self.x).sum().backward()
            optimizer.step()
            scheduler.step()
            optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))]})
            if fails:
                raise ValueError("enough")

        for fails in (False, True):
            with self.subTest(fails=fails):
                if fails:
                    with self.assertRaisesRegex(strata.Error, os.path.basename(__file__) + r":\d+: ValueError: enough"):
                        recorded(lambda: work(True))
                else:
                    recorded(lambda: work(False))
                self.assertTrue(module.training)
                self.assertTrue(torch.equal(torch.get_rng_state(), numbers))
                self.assertEqual(random.getstate(), plain)
                self.assertEqual(scheduler.state_dict(), of_scheduler)
                now = optimizer.state_dict()
                self.assertEqual(now["param_groups"], state["param_groups"])
                for key, values in state["state"].items():
                    for name, value in values.items():
                        self.assertTrue(torch.equal(now["state"][key][name], value), name)
                for one, kept, gradient in zip(module.parameters(), parameters, gradients):
                    self.assertIs(one, kept)
                    self.assertIs(type(one), nn.Parameter)
                    self.assertTrue(torch.equal(one.grad, gradient))
                self.assertIs(torch.optim.Adam.step, step_of_class)
        module(self.x).sum().backward()
        optimizer.step()
        self.assertFalse(torch.equal(parameters[0].grad, gradients[0]), "it trains on")

    def test_what_makes_no_step_is_refused(self):
        with self.assertRaisesRegex(strata.Error, "it ran nothing of PyTorch on a network"):
            recorded(lambda: None)
        with self.assertRaisesRegex(strata.Error, "expected a module or a function that does one step, got int"):
            recorded(3)
        with self.assertRaisesRegex(strata.Error, "a step function says itself what runs; amp, inputs is of modules"):
            recorded(lambda: None, self.x, amp="bf16")
        with self.assertRaisesRegex(strata.Error, "real=True runs the step on a GPU"):
            recorded(small(), self.x, real=True)


if __name__ == "__main__":
    unittest.main()
