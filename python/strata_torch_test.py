# SPDX-License-Identifier: Apache-2.0
"""strata_torch without a GPU: on modules made up here, and on PyTorch itself where it is installed."""
import sys
import unittest

import strata_torch


class Ranges:
    """NVTX that writes down what it is told."""

    def __init__(self):
        self.log, self.open = [], []

    def range_push(self, name):
        self.open.append(name)
        self.log.append("+" + name)

    def range_pop(self):
        self.log.append("-" + self.open.pop())


class Node:
    """A gradient function: what it leads to, and its hooks."""

    def __init__(self, *leads_to):
        self.next_functions = [(node, 0) for node in leads_to]
        self.before, self.behind = [], []
        self.metadata = {}

    def register_prehook(self, hook):
        self.before.append(hook)

    def register_hook(self, hook):
        self.behind.append(hook)

    def run(self):
        for hook in self.before:
            hook(None)
        for hook in self.behind:
            hook(None, None)


class AccumulateGrad(Node):
    pass


class Tensor:
    def __init__(self, grad_fn=None):
        self.grad_fn = grad_fn


class Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook
        hooks.append(hook)

    def remove(self):
        self.hooks.remove(self.hook)


class Module:
    """A module of PyTorch, as far as strata_torch looks at one."""

    def __init__(self, compute=None, **children):
        self.compute, self._children = compute, children
        self.before, self.behind = [], []

    def children(self):
        return iter(self._children.values())

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in self._children.items():
            yield from child.named_modules(prefix + "." + name if prefix else name)

    def register_forward_pre_hook(self, hook, with_kwargs=False):
        return Handle(self.before, hook)

    def register_forward_hook(self, hook, with_kwargs=False, always_call=False):
        return Handle(self.behind, hook)

    def __call__(self, x):
        for hook in self.before:
            hook(self, (x,), {})
        result = self.compute(x)
        for hook in self.behind:
            hook(self, (x,), {}, result)
        return result


def made_up_model():
    """conv (two gradient functions and a weight), then a ReLU that changes its input in place."""
    weight = AccumulateGrad()
    nodes = {}

    def conv(x):
        nodes["multiply"] = Node(x.grad_fn, weight) if x.grad_fn else Node(weight)
        nodes["bias"] = Node(nodes["multiply"])
        return Tensor(nodes["bias"])

    def relu(x):
        nodes["relu"] = Node(x.grad_fn)
        x.grad_fn = nodes["relu"]
        return x

    block = Module(conv=Module(conv), relu=Module(relu))

    def run_block(x):
        nodes["add"] = Node(block._children["relu"](block._children["conv"](x)).grad_fn)
        return Tensor(nodes["add"])  # a function, no module

    block.compute = run_block
    model = Module(block=block)
    model.compute = block
    return model, nodes, weight


class NamesLayers(unittest.TestCase):
    def test_forward_and_backward(self):
        model, nodes, weight = made_up_model()
        ranges = Ranges()
        strata_torch.name_layers(model, nvtx=ranges)
        model(Tensor())
        self.assertEqual(ranges.log, ["+block.conv", "-block.conv", "+block.relu", "-block.relu"])
        ranges.log.clear()
        for node in ("relu", "bias", "multiply"):
            nodes[node].run()
        self.assertEqual(ranges.log, ["+block.relu backward", "-block.relu backward"] +
                         2 * ["+block.conv backward", "-block.conv backward"])
        self.assertEqual(weight.before, [], "hooks on what outlives the step would pile up")

    def test_can_be_taken_back(self):
        model, nodes, _ = made_up_model()
        ranges = Ranges()
        with strata_torch.name_layers(model, prefix="net.", nvtx=ranges):
            model(Tensor())
        self.assertIn("+net.block.conv", ranges.log)
        ranges.log.clear()
        model(Tensor())
        nodes["relu"].run()
        self.assertEqual(ranges.log, [])

    def test_every_module(self):
        model, nodes, _ = made_up_model()
        ranges = Ranges()
        strata_torch.name_layers(model, leaves_only=False, nvtx=ranges)
        model(Tensor())
        self.assertEqual(ranges.log[0], "+block")
        self.assertEqual(ranges.open, [])
        ranges.log.clear()
        for node in ("add", "relu", "multiply"):
            nodes[node].run()
        self.assertEqual([word for word in ranges.log if word.startswith("+")],
                         ["+block backward", "+block.relu backward", "+block.conv backward"],
                         "what a module inside has marked stays its own")


class WithPyTorch(unittest.TestCase):
    def test_gradients_stay_the_same(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(True),
                                    torch.nn.Flatten(), torch.nn.Linear(144, 2))
        x = torch.randn(2, 3, 8, 8)
        model(x).sum().backward()
        expected = [p.grad.clone() for p in model.parameters()]
        ranges = Ranges()
        strata_torch.name_layers(model, nvtx=ranges)
        for _ in range(2):
            model.zero_grad()
            ranges.log.clear()
            model(x).sum().backward()
            for p, gradient in zip(model.parameters(), expected):
                self.assertTrue(torch.allclose(p.grad, gradient, atol=1e-5))
            for name in "01234":
                self.assertIn("+" + name, ranges.log)
                self.assertIn(f"+{name} backward", ranges.log)
            self.assertEqual(ranges.open, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
