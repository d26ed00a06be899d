# SPDX-License-Identifier: Apache-2.0
"""More cases for pytorch_cases.py: layers that networks have, and the modes, types and shapes that its first cases leave out."""
import random

import torch
import torch.nn.functional as F

from network_layers import spread
from pytorch_cases import (DENSE, DEPTHWISE, DEVICE, FIRST, GROUPED, MORE_DENSE, MORE_DEPTHWISE, MORE_GROUPED, PRECISIONS, Case, batched, convolution,
                           linear, network_products, products, recurrent_layers, tensor, through_autograd)


def network_convolutions(counts=None):
    """Layers of networks, spread out over their dimensions, in every precision and in both layouts."""
    known = [*DENSE, *FIRST, *DEPTHWISE, *GROUPED, *MORE_DENSE, *MORE_DEPTHWISE, *MORE_GROUPED]
    chosen = spread(counts or {"convolution": 48, "depthwise": 18, "grouped": 16, "first": 6}, known)
    order = [(kind, shape) for kind, shapes in chosen.items() for shape in shapes]
    random.Random(46).shuffle(order)
    for kind, shape in order:
        for precision, channels_last in (("fp32", False), ("tf32", False), ("bf16", False), ("fp16", False), ("fp16", True), ("bf16", True)):
            dims = dict(zip(("n", "c", "hw", "f", "k", "s", "g"), shape), channels_last=channels_last)
            yield Case(kind, precision, dims, convolution(precision, shape, channels_last))


def half_convolutions():
    """The layers of the first samples, in fp16."""
    for group, shapes in (("convolution", DENSE), ("first", FIRST), ("depthwise", DEPTHWISE), ("grouped", GROUPED)):
        for shape in shapes[::2]:
            for channels_last in (False, True):
                dims = dict(zip(("n", "c", "hw", "f", "k", "s", "g"), shape), channels_last=channels_last)
                yield Case(group, "fp16", dims, convolution("fp16", shape, channels_last))


# batch, channels, size of a side of a cube (frames are as many as rows), filters, kernel, stride
VOLUMES = [(4, 3, 64, 64, 7, 2), (8, 64, 28, 64, 3, 1), (8, 64, 28, 128, 3, 2), (8, 128, 14, 128, 3, 1), (8, 128, 14, 256, 3, 2), (8, 256, 7, 256, 3, 1),
           (8, 512, 4, 512, 3, 1), (2, 32, 64, 32, 3, 1), (2, 64, 64, 32, 3, 1), (8, 64, 28, 144, 1, 1), (16, 256, 7, 512, 1, 1), (32, 128, 14, 128, 3, 1)]


def volumes():
    for n, c, size, f, k, s in VOLUMES:
        for precision in (*PRECISIONS, "fp16"):
            yield Case("convolution_3d", precision, {"n": n, "c": c, "hw": size, "f": f, "k": k, "s": s, "g": 1}, volume(precision, n, c, size, f, k, s))


def volume(precision, n, c, size, f, k, s):
    def make():
        x, w = tensor(precision, n, c, size, size, size), tensor(precision, f, c, k, k, k)
        args = ([s] * 3, [k // 2] * 3, [1] * 3, False, [0] * 3, 1)
        dy = torch.randn_like(torch.ops.aten.convolution(x, w, None, *args))

        def backward(mask):
            return torch.ops.aten.convolution_backward(dy, x, w, None, *args, mask)
        return [("forward", lambda: torch.ops.aten.convolution(x, w, None, *args)),
                ("backward_input", lambda: backward([True, False, False])),
                ("backward_weight", lambda: backward([False, True, False]))]
    return make


def norm_modes():
    """Batch norm as training and inference have it, in both layouts: each with a library of its own."""
    shapes = [(8, 64, 56), (32, 64, 112), (32, 256, 56), (32, 512, 7), (64, 16, 112), (128, 96, 56), (128, 1024, 14), (256, 64, 56), (256, 512, 28), (512, 64, 28),
              (512, 32, 56), (512, 256, 14), (512, 2048, 7), (1024, 64, 28), (1024, 1280, 7), (1024, 24, 28)]
    for precision in ("fp32", "bf16", "fp16"):
        for n, c, size in shapes:
            for channels_last in (False, True):
                yield Case("batch_norm_mode", precision, {"n": n, "c": c, "hw": size, "channels_last": channels_last},
                           norm_mode(precision, n, c, size, channels_last))


def norm_mode(precision, n, c, size, channels_last):
    def make():
        layout = torch.channels_last if channels_last else torch.contiguous_format
        x = tensor(precision, n, c, size, size).contiguous(memory_format=layout).requires_grad_(True)
        weight, bias = torch.ones(c, device=DEVICE, requires_grad=True), torch.zeros(c, device=DEVICE, requires_grad=True)
        mean, var = torch.zeros(c, device=DEVICE), torch.ones(c, device=DEVICE)
        y = F.batch_norm(x, mean, var, weight, bias, True, 0.1, 1e-5)
        dy = torch.randn_like(y)

        def inference():
            with torch.no_grad():
                F.batch_norm(x, mean, var, weight, bias, False, 0.1, 1e-5)
        return [("forward", lambda: F.batch_norm(x, mean, var, weight, bias, True, 0.1, 1e-5)),
                ("backward", lambda: torch.autograd.grad(y, (x, weight, bias), dy, retain_graph=True)), ("inference", inference)]
    return make


def narrow_rows():
    """Many rows of few numbers: heads of positions, windows, small widths."""
    for precision in ("fp32", "bf16"):
        for rows, columns in ((1 << 24, 4), (1 << 23, 8), (1 << 22, 16), (1 << 20, 16), (1 << 21, 32), (1 << 19, 64)):
            def summed(precision=precision, rows=rows, columns=columns):
                dy = tensor(precision, rows, columns)
                return [("backward_bias", lambda: dy.sum(0))]
            yield Case("linear", precision, {"m": rows, "n": columns, "k": 1}, summed)
        for rows, columns in ((1 << 20, 16), (1 << 20, 32), (1 << 20, 64), (1 << 18, 64), (1 << 18, 128)):
            def layer(x, columns=columns):
                weight = torch.ones(columns, device=DEVICE, dtype=x.dtype, requires_grad=True)
                bias = torch.zeros(columns, device=DEVICE, dtype=x.dtype, requires_grad=True)
                return lambda x: F.layer_norm(x, (columns,), weight, bias), (weight, bias)
            yield Case("layer_norm", precision, {"rows": rows, "columns": columns}, through_autograd(precision, (rows, columns), layer))
        for rows, columns in ((1 << 21, 16), (1 << 20, 49), (1 << 20, 64), (1 << 22, 4)):
            yield Case("softmax", precision, {"rows": rows, "columns": columns},
                       through_autograd(precision, (rows, columns), lambda x: (lambda x: F.softmax(x, -1), ())))


def half_products():
    """Of the products, each third in fp16."""
    for case in [case for case in (*products(), *network_products()) if case.precision == "bf16"][::3]:
        d = case.dims
        make = batched("fp16", d["b"], d["m"], d["n"], d["k"]) if case.group == "batched" else linear("fp16", d["m"], d["n"], d["k"])
        yield Case(case.group, "fp16", d, make)


def gated_units():
    yield from recurrent_layers((("gru", 32, 100, 512, 512, 2), ("gru", 256, 100, 512, 512, 2), ("gru", 32, 50, 256, 256, 2), ("gru", 64, 200, 128, 128, 1),
                                 ("gru", 20, 35, 650, 650, 2), ("gru", 64, 50, 1024, 1024, 4), ("gru", 16, 400, 512, 512, 1), ("lstm", 256, 100, 512, 512, 2),
                                 ("lstm", 16, 400, 512, 512, 1), ("lstm", 64, 50, 1500, 1500, 2)))


GROUPS = {"norm_modes": norm_modes, "gated_units": gated_units, "volumes": volumes, "half_products": half_products,
          "half_convolutions": half_convolutions, "network_convolutions": network_convolutions, "narrow_rows": narrow_rows}
