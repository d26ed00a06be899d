# SPDX-License-Identifier: Apache-2.0
"""Times the kernels that PyTorch launches for single operators on this GPU, and the host's dispatch.

    python3 pytorch_cases.py OUT.json [--seconds S] [--only GROUP[,GROUP...]]

Each sample is one operator in one pass with one shape: the time of every kernel that it launched (CUPTI, by the
profiler), the median over repetitions. The file keeps all
samples, so that classes of kernels can be fitted to them, and again.
"""
import argparse
import json
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

DEVICE = "cuda"
REPETITIONS = 5
PRECISIONS = ("fp32", "tf32", "bf16")


def stored_type(precision):
    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)


def allow_tf32(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def tensor(precision, *shape):
    return torch.randn(*shape, device=DEVICE, dtype=stored_type(precision))


class Case:
    """One operator with one shape: `make()` returns [(pass, function)], allocated only while the case runs."""

    def __init__(self, group, precision, dims, make):
        self.group, self.precision, self.dims, self.make = group, precision, dims, make


# --- products ------------------------------------------------------------------------------------------------


def products():
    squares = [(n, n, n) for n in (512, 1024, 2048, 4096, 8192)]
    skinny = [(m, n, k) for m in (32, 128, 512, 1600, 6304)
              for n, k in ((768, 768), (3072, 768), (768, 3072), (1000, 2048), (4096, 4096))]
    depths = [(2048, 2048, k) for k in (64, 128, 256, 512, 1024, 4096)]
    waves = [(128 * blocks, 2048, 1024) for blocks in (16, 33, 66, 99, 131, 132, 133, 198)]
    odd = [(2048, n, 768) for n in (1001, 30522, 50257, 50304)]
    for precision in PRECISIONS:
        for m, n, k in squares + skinny + depths + waves + odd:
            yield Case("linear", precision, {"m": m, "n": n, "k": k}, linear(precision, m, n, k))
        for batch, m, n, k in ((384, 128, 128, 64), (384, 128, 64, 128), (96, 512, 512, 64), (96, 512, 64, 512),
                               (1536, 128, 128, 64), (384, 197, 197, 64), (384, 197, 64, 197), (32, 1024, 1024, 128)):
            yield Case("batched", precision, {"b": batch, "m": m, "n": n, "k": k}, batched(precision, batch, m, n, k))


def network_products():
    """Products as networks have them: heads, transformers, classifiers."""
    shapes = [(m, n, k) for m in (1024, 4096, 25216) for n, k in ((768, 768), (2304, 768), (3072, 768), (768, 3072))]
    shapes += [(6304, 2304, 768), (4096, 30522, 768), (1024, 30522, 768), (4096, 768, 30522), (32, 4096, 25088), (32, 4096, 9216),
               (128, 4096, 25088), (128, 4096, 9216), (128, 1000, 4096), (32, 1000, 1280), (2048, 1600, 1600), (2048, 6400, 1600),
               (2048, 4096, 4096), (2048, 11008, 4096), (100352, 96, 96), (100352, 384, 96), (25088, 192, 768)]
    for precision in PRECISIONS:
        for m, n, k in shapes:
            yield Case("linear", precision, {"m": m, "n": n, "k": k}, linear(precision, m, n, k))


# Samples times heads, length, width of a head: windows, images, sentences, documents; lengths that no vector divides.
ATTENTIONS = [(6144, 49, 32), (384, 128, 64), (384, 144, 32), (192, 196, 64), (384, 197, 64), (192, 197, 64), (192, 256, 64), (256, 384, 64),
              (96, 512, 64), (96, 577, 64), (128, 512, 128), (80, 1000, 64), (96, 1024, 64), (40, 1024, 80), (32, 2048, 64), (32, 2048, 128)]


def attention_products():
    for precision in PRECISIONS:
        for batch, length, width in ATTENTIONS:
            for n, k in ((length, width), (width, length)):
                dims = {"b": batch, "m": length, "n": n, "k": k}
                yield Case("batched", precision, dims, batched(precision, batch, length, n, k))


def linear(precision, m, n, k):
    def make():
        x, w, bias, dy = tensor(precision, m, k), tensor(precision, n, k), tensor(precision, n), tensor(precision, m, n)
        return [("forward", lambda: torch.addmm(bias, x, w.t())), ("forward_no_bias", lambda: torch.mm(x, w.t())),
                ("backward_input", lambda: torch.mm(dy, w)), ("backward_weight", lambda: torch.mm(dy.t(), x)),
                ("backward_bias", lambda: dy.sum(0))]
    return make


def batched(precision, batch, m, n, k):
    def make():
        a, b, bt = tensor(precision, batch, m, k), tensor(precision, batch, k, n), tensor(precision, batch, n, k)
        at = tensor(precision, batch, k, m)
        return [("nn", lambda: torch.bmm(a, b)), ("nt", lambda: torch.bmm(a, bt.transpose(1, 2))),
                ("tn", lambda: torch.bmm(at.transpose(1, 2), b))]
    return make


# --- convolutions ---------------------------------------------------------------------------------------------

# batch, input channels, size, output channels, kernel, stride, groups
DENSE = [(32, 64, 56, 64, 1, 1, 1), (32, 64, 56, 256, 1, 1, 1), (32, 256, 56, 64, 1, 1, 1), (32, 512, 28, 128, 1, 1, 1),
         (32, 128, 28, 512, 1, 1, 1), (32, 1024, 14, 256, 1, 1, 1), (32, 2048, 7, 512, 1, 1, 1), (32, 512, 7, 2048, 1, 1, 1),
         (32, 256, 56, 512, 1, 2, 1), (32, 1024, 14, 2048, 1, 2, 1), (128, 64, 56, 256, 1, 1, 1), (128, 1024, 14, 256, 1, 1, 1),
         (32, 64, 56, 64, 3, 1, 1), (32, 128, 28, 128, 3, 1, 1), (32, 256, 14, 256, 3, 1, 1), (32, 512, 7, 512, 3, 1, 1),
         (128, 64, 56, 64, 3, 1, 1), (128, 256, 14, 256, 3, 1, 1), (32, 64, 224, 64, 3, 1, 1), (32, 128, 112, 128, 3, 1, 1),
         (32, 256, 56, 256, 3, 1, 1), (32, 512, 28, 512, 3, 1, 1), (32, 512, 14, 512, 3, 1, 1), (32, 128, 56, 128, 3, 2, 1),
         (32, 256, 28, 256, 3, 2, 1), (32, 512, 14, 512, 3, 2, 1), (32, 64, 27, 192, 5, 1, 1), (128, 64, 27, 192, 5, 1, 1),
         (32, 192, 13, 384, 3, 1, 1), (32, 160, 28, 320, 3, 1, 1), (32, 48, 35, 64, 5, 1, 1), (32, 24, 56, 144, 1, 1, 1),
         (32, 144, 56, 24, 1, 1, 1), (32, 96, 14, 576, 1, 1, 1), (32, 576, 14, 96, 1, 1, 1), (32, 32, 112, 16, 1, 1, 1),
         (32, 128, 28, 32, 3, 1, 1), (32, 512, 14, 128, 1, 1, 1)]
FIRST = [(32, 3, 224, 64, 7, 2, 1), (128, 3, 224, 64, 7, 2, 1), (32, 3, 224, 64, 11, 4, 1), (128, 3, 224, 64, 11, 4, 1),
         (32, 3, 224, 64, 3, 1, 1), (32, 3, 224, 32, 3, 2, 1), (128, 3, 224, 32, 3, 2, 1), (32, 3, 299, 32, 3, 2, 1),
         (32, 3, 224, 96, 4, 4, 1), (32, 3, 224, 768, 16, 16, 1), (128, 3, 224, 768, 16, 16, 1)]
DEPTHWISE = [(32, 32, 112, 32, 3, 1, 32), (32, 96, 112, 96, 3, 2, 96), (32, 144, 56, 144, 3, 1, 144), (32, 192, 28, 192, 3, 1, 192),
             (32, 384, 14, 384, 3, 1, 384), (32, 576, 14, 576, 3, 2, 576), (32, 960, 7, 960, 3, 1, 960), (128, 144, 56, 144, 3, 1, 144),
             (32, 240, 28, 240, 5, 1, 240), (32, 672, 14, 672, 5, 1, 672), (32, 240, 28, 240, 5, 2, 240), (32, 96, 56, 96, 7, 1, 96),
             (32, 384, 14, 384, 7, 1, 384), (128, 192, 28, 192, 3, 1, 192)]
GROUPED = [(32, 128, 56, 128, 3, 1, 32), (32, 256, 28, 256, 3, 1, 32), (32, 512, 14, 512, 3, 1, 32), (32, 1024, 7, 1024, 3, 1, 32),
           (32, 256, 56, 256, 3, 1, 32), (32, 232, 28, 232, 3, 1, 2), (32, 64, 28, 64, 3, 1, 4), (32, 168, 28, 168, 3, 1, 21)]


# The same for larger batches, and layers that widen or narrow.
MORE_DENSE = [(128, 256, 56, 64, 1, 1, 1), (128, 512, 28, 128, 1, 1, 1), (128, 128, 28, 512, 1, 1, 1), (128, 256, 14, 1024, 1, 1, 1),
              (128, 2048, 7, 512, 1, 1, 1), (128, 512, 7, 2048, 1, 1, 1), (128, 128, 28, 128, 3, 1, 1), (128, 512, 7, 512, 3, 1, 1),
              (128, 128, 56, 128, 3, 2, 1), (128, 16, 112, 96, 1, 1, 1), (128, 144, 56, 24, 1, 1, 1), (128, 24, 56, 144, 1, 1, 1),
              (128, 192, 28, 32, 1, 1, 1), (128, 64, 14, 384, 1, 1, 1), (128, 384, 14, 64, 1, 1, 1), (128, 576, 14, 96, 1, 1, 1),
              (128, 160, 7, 960, 1, 1, 1), (128, 960, 7, 160, 1, 1, 1), (128, 320, 7, 1280, 1, 1, 1), (32, 16, 112, 96, 1, 1, 1),
              (32, 192, 28, 32, 1, 1, 1), (32, 64, 14, 384, 1, 1, 1), (32, 160, 7, 960, 1, 1, 1), (32, 960, 7, 160, 1, 1, 1),
              (32, 64, 55, 16, 1, 1, 1), (32, 16, 55, 64, 3, 1, 1), (32, 480, 14, 192, 1, 1, 1), (32, 672, 1, 28, 1, 1, 1), (128, 16, 55, 64, 3, 1, 1)]
MORE_DEPTHWISE = [(128, 32, 112, 32, 3, 1, 32), (128, 96, 112, 96, 3, 2, 96), (128, 384, 14, 384, 3, 1, 384), (128, 576, 14, 576, 3, 1, 576),
                  (128, 960, 7, 960, 3, 1, 960), (128, 672, 14, 672, 5, 1, 672), (128, 96, 56, 96, 7, 1, 96), (64, 144, 56, 144, 3, 2, 144)]


# Groups of 24, 16 and 8 channels, and of a network twice as wide.
MORE_GROUPED = [(32, 48, 56, 48, 3, 1, 2), (32, 120, 28, 120, 3, 1, 5), (32, 120, 56, 120, 3, 2, 5), (32, 336, 14, 336, 3, 1, 14), (32, 336, 28, 336, 3, 2, 14),
                (32, 888, 7, 888, 3, 1, 37), (32, 208, 28, 208, 3, 1, 13), (32, 440, 14, 440, 3, 1, 55), (128, 256, 28, 256, 3, 1, 32), (128, 512, 14, 512, 3, 1, 32),
                (32, 512, 28, 512, 3, 2, 32), (32, 512, 28, 512, 3, 1, 64)]


def more_grouped():
    for shape in MORE_GROUPED:
        for precision in PRECISIONS:
            dims = dict(zip(("n", "c", "hw", "f", "k", "s", "g"), shape), channels_last=False)
            yield Case("grouped", precision, dims, convolution(precision, shape, False))


def channels_last_convolutions():
    """Layers that networks with views as N H W C have, in every precision."""
    depthwise = [(n, c, size, c, 7, 1, c) for n in (32, 128) for c, size in ((96, 56), (192, 28), (384, 14), (768, 7))]
    depthwise += [(32, 144, 56, 144, 3, 1, 144), (32, 576, 14, 576, 3, 1, 576), (32, 672, 14, 672, 5, 1, 672)]
    for group, shapes in (("depthwise", depthwise), ("convolution", DENSE[1::4] + [(32, 96, 56, 192, 2, 2, 1), (32, 384, 14, 768, 2, 2, 1)]), ("first", FIRST[::3])):
        for shape in shapes:
            for precision in PRECISIONS:
                dims = dict(zip(("n", "c", "hw", "f", "k", "s", "g"), shape), channels_last=True)
                yield Case(group, precision, dims, convolution(precision, shape, True))


def transposes():
    for precision in ("fp32", "bf16"):
        for b, rows, columns in ((32, 196, 768), (128, 196, 768), (32, 197, 384), (32, 3136, 96), (32, 784, 192), (32, 49, 768), (8, 1024, 1024)):
            def moved(precision=precision, b=b, rows=rows, columns=columns):
                a = tensor(precision, b, rows, columns)
                other = torch.float32 if precision == "bf16" else torch.bfloat16
                return [("transpose_contiguous", lambda: a.transpose(1, 2).contiguous()), ("transpose_cast", lambda: a.transpose(1, 2).to(other, memory_format=torch.contiguous_format))]
            yield Case("heads", precision, {"b": b, "s": rows, "h": 1, "d": columns}, moved)


def more_convolutions():
    for group, shapes in (("depthwise", MORE_DEPTHWISE), ("convolution", MORE_DENSE)):
        for shape in shapes:
            for precision in PRECISIONS:
                dims = dict(zip(("n", "c", "hw", "f", "k", "s", "g"), shape), channels_last=False)
                yield Case(group, precision, dims, convolution(precision, shape, False))


def convolutions():
    for group, shapes in (("convolution", DENSE), ("first", FIRST), ("depthwise", DEPTHWISE), ("grouped", GROUPED)):
        for place, shape in enumerate(shapes):
            for precision in PRECISIONS:
                for channels_last in (False, True):
                    if channels_last and (precision == "fp32" or place % 3 != 0):  # cuDNN's search takes most of the time
                        continue
                    names = ("n", "c", "hw", "f", "k", "s", "g")
                    dims = dict(zip(names, shape), channels_last=channels_last)
                    yield Case(group, precision, dims, convolution(precision, shape, channels_last))


def convolution(precision, shape, channels_last):
    def make():
        n, c, size, f, k, s, g = shape
        pad = 0 if k == s or k == 1 else k // 2
        x, w = tensor(precision, n, c, size, size), tensor(precision, f, c // g, k, k)
        if channels_last:
            x, w = (t.to(memory_format=torch.channels_last) for t in (x, w))
        args = ([s, s], [pad, pad], [1, 1], False, [0, 0], g)
        y = torch.ops.aten.convolution(x, w, None, *args)
        dy = torch.randn_like(y)

        def backward(mask):
            return torch.ops.aten.convolution_backward(dy, x, w, None, *args, mask)
        return [("forward", lambda: torch.ops.aten.convolution(x, w, None, *args)),
                ("backward_input", lambda: backward([True, False, False])),
                ("backward_weight", lambda: backward([False, True, False]))]
    return make


# --- everything else: forward, and backward through autograd ------------------------------------------------------


def through_autograd(precision, shape, build):
    """build(x) -> (function of x, further tensors that want gradients)"""
    def make():
        x = tensor(precision, *shape).requires_grad_(True)
        function, more = build(x)
        y = function(x)
        dy = torch.randn_like(y)
        wanted = [x, *more]
        return [("forward", lambda: function(x)),
                ("backward", lambda: torch.autograd.grad(y, wanted, dy, retain_graph=True))]
    return make


BATCH_NORMS = [(32, 32, 112), (32, 64, 112), (32, 64, 56), (32, 256, 56), (32, 128, 28), (32, 512, 28), (32, 1024, 14), (32, 256, 14),
               (32, 2048, 7), (32, 512, 7), (128, 64, 56), (128, 256, 14), (128, 1024, 14), (128, 512, 7), (8, 64, 56),
               (8, 512, 7), (32, 1280, 7), (32, 24, 56), (32, 144, 56)]
MORE_BATCH_NORMS = [(128, 32, 112), (128, 96, 112), (128, 96, 56), (128, 16, 112), (128, 24, 56), (128, 144, 56), (128, 192, 28), (128, 384, 14),
                    (128, 576, 14), (128, 960, 7), (128, 1280, 7), (128, 256, 56), (128, 512, 28), (128, 2048, 7), (128, 64, 112), (32, 96, 112),
                    (32, 16, 112), (32, 384, 14), (32, 960, 7), (8, 256, 14)]


def batch_norms(shapes, precision):
    for n, c, size in shapes:
        def build(x, c=c):
            weight = torch.ones(c, device=DEVICE, requires_grad=True)
            bias = torch.zeros(c, device=DEVICE, requires_grad=True)
            mean, var = torch.zeros(c, device=DEVICE), torch.ones(c, device=DEVICE)
            return lambda x: F.batch_norm(x, mean, var, weight, bias, True, 0.1, 1e-5), (weight, bias)
        yield Case("batch_norm", precision, {"n": n, "c": c, "hw": size}, through_autograd(precision, (n, c, size, size), build))


def more_norms():
    for precision in ("fp32", "bf16"):
        yield from batch_norms(MORE_BATCH_NORMS, precision)


def norms():
    for precision in ("fp32", "bf16"):
        yield from batch_norms(BATCH_NORMS, precision)
        for rows in (512, 1600, 6304, 25216, 100352, 401408):
            for columns in (96, 384, 768, 1024, 4096):
                if rows * columns > 1.7e8:
                    continue

                def layer(x, columns=columns):
                    weight = torch.ones(columns, device=DEVICE, dtype=x.dtype, requires_grad=True)
                    bias = torch.zeros(columns, device=DEVICE, dtype=x.dtype, requires_grad=True)
                    return lambda x: F.layer_norm(x, (columns,), weight, bias), (weight, bias)
                yield Case("layer_norm", precision, {"rows": rows, "columns": columns}, through_autograd(precision, (rows, columns), layer))
        for rows, columns in ((49152, 128), (76800, 197), (49152, 512), (12288, 1024), (1536, 128), (32, 1000), (128, 1000), (4096, 30522), (16384, 50257)):
            yield Case("softmax", precision, {"rows": rows, "columns": columns},
                       through_autograd(precision, (rows, columns), lambda x: (lambda x: F.softmax(x, -1), ())))
            yield Case("log_softmax", "fp32", {"rows": rows, "columns": columns},
                       through_autograd("fp32", (rows, columns), lambda x: (lambda x: F.log_softmax(x, -1), ())))
        for n, c, size, groups in ((32, 64, 56, 32), (32, 256, 28, 32), (32, 512, 14, 32), (32, 1024, 7, 32)):
            def group(x, c=c, groups=groups):
                weight = torch.ones(c, device=DEVICE, dtype=x.dtype, requires_grad=True)
                bias = torch.zeros(c, device=DEVICE, dtype=x.dtype, requires_grad=True)
                return lambda x: F.group_norm(x, groups, weight, bias), (weight, bias)
            yield Case("group_norm", precision, {"n": n, "c": c, "hw": size, "groups": groups}, through_autograd(precision, (n, c, size, size), group))


def pools():
    for precision in ("fp32", "bf16"):
        for n, c, size, k, s, p in ((32, 64, 112, 3, 2, 1), (128, 64, 112, 3, 2, 1), (32, 64, 55, 3, 2, 0), (32, 192, 27, 3, 2, 0), (32, 64, 224, 2, 2, 0),
                                    (32, 256, 56, 2, 2, 0), (32, 512, 14, 2, 2, 0), (32, 192, 28, 3, 1, 1), (32, 512, 14, 3, 1, 1)):
            dims = {"n": n, "c": c, "hw": size, "k": k, "s": s}
            yield Case("max_pool", precision, dims, through_autograd(
                precision, (n, c, size, size), lambda x, k=k, s=s, p=p: (lambda x: F.max_pool2d(x, k, s, p), ())))
        for n, c, size, k, s, p in ((32, 192, 35, 3, 1, 1), (32, 128, 56, 2, 2, 0), (32, 768, 17, 3, 1, 1)):
            yield Case("average_pool", precision, {"n": n, "c": c, "hw": size, "k": k, "s": s}, through_autograd(
                precision, (n, c, size, size), lambda x, k=k, s=s, p=p: (lambda x: F.avg_pool2d(x, k, s, p), ())))
        for n, c, size in ((32, 512, 7), (32, 2048, 7), (128, 2048, 7), (32, 1280, 7), (32, 96, 112), (32, 144, 56), (32, 672, 14)):
            yield Case("global_pool", precision, {"n": n, "c": c, "hw": size}, through_autograd(
                precision, (n, c, size, size), lambda x: (lambda x: F.adaptive_avg_pool2d(x, 1), ())))


def streams():
    sizes = [1 << n for n in range(14, 29)]
    for precision in ("fp32", "bf16"):
        for elements in sizes:
            dims = {"elements": elements}
            for name, function in (("relu", F.relu), ("gelu", F.gelu), ("silu", F.silu), ("hardswish", F.hardswish), ("sigmoid", torch.sigmoid),
                                   ("tanh", torch.tanh), ("relu6", lambda x: F.hardtanh(x, 0.0, 6.0)), ("dropout", lambda x: F.dropout(x, 0.1, True))):
                if name not in ("relu", "gelu", "dropout") and elements not in (1 << 18, 1 << 22, 1 << 25):
                    continue
                yield Case(name, precision, dims, through_autograd(precision, (elements,), lambda x, f=function: (f, ())))

            def plain(precision=precision, elements=elements):
                a, b = tensor(precision, elements), tensor(precision, elements)
                return [("add", lambda: a + b), ("mul", lambda: a * b), ("add_", lambda: a.add_(b)), ("copy", lambda: a.clone()),
                        ("cast", lambda: a.to(torch.float32 if precision == "bf16" else torch.bfloat16)), ("fill", lambda: a.zero_()),
                        ("scale", lambda: a * 0.125), ("sum", lambda: a.sum())]
            yield Case("stream", precision, dims, plain)
        for n, c, size in ((32, 64, 56), (32, 256, 14), (128, 256, 56)):
            def channel(precision=precision, n=n, c=c, size=size):
                a, b, s = tensor(precision, n, c, size, size), tensor(precision, 1, c, 1, 1), tensor(precision, n, c, 1, 1)
                return [("add_bias", lambda: a.add_(b)), ("sum_to_channels", lambda: a.sum((0, 2, 3))), ("scale_channels", lambda: a * s),
                        ("sum_to_scales", lambda: a.sum((2, 3), keepdim=True)), ("to_channels_last", lambda: a.contiguous(memory_format=torch.channels_last)),
                        ("mean", lambda: a.mean((2, 3)))]
            yield Case("channels", precision, {"n": n, "c": c, "hw": size}, channel)
        for b, s, h, d in ((32, 128, 12, 64), (32, 197, 12, 64), (128, 197, 12, 64), (8, 1024, 16, 64), (32, 512, 16, 64)):
            def heads(precision=precision, b=b, s=s, h=h, d=d):
                a, e, m = tensor(precision, b, s, h, d), tensor(precision, b, h, s, s), tensor(precision, b, 1, 1, s)
                return [("permute_contiguous", lambda: a.permute(0, 2, 1, 3).contiguous()), ("add_mask", lambda: e + m), ("scores_scale", lambda: e / 8.0),
                        ("sum_rows", lambda: a.sum((0, 1)))]
            yield Case("heads", precision, {"b": b, "s": s, "h": h, "d": d}, heads)
        for parts, n, c, size in ((2, 32, 64, 56), (4, 32, 32, 28), (8, 32, 32, 14), (16, 32, 32, 28)):
            def joined(precision=precision, parts=parts, n=n, c=c, size=size):
                pieces = [tensor(precision, n, c, size, size) for _ in range(parts)]
                return [("concat", lambda: torch.cat(pieces, 1))]
            yield Case("concat", precision, {"parts": parts, "n": n, "c": c, "hw": size}, joined)


def attentions():
    yield from fused_attentions(((32, 12, 128, 64), (32, 12, 197, 64), (128, 12, 197, 64), (16, 12, 512, 64), (4, 16, 2048, 64), (4, 16, 2048, 128), (8, 12, 1024, 64),
                                 (32, 16, 384, 64)))


def fused_attentions(shapes):
    for precision in ("fp32", "tf32", "bf16"):
        for b, h, s, d in shapes:
            for causal in (False, True):
                def make(precision=precision, b=b, h=h, s=s, d=d, causal=causal):
                    q, k, v = (tensor(precision, b, h, s, d).requires_grad_(True) for _ in range(3))
                    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
                    dy = torch.randn_like(y)
                    return [("forward", lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)),
                            ("backward", lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True))]
                yield Case("sdpa", precision, {"b": b, "h": h, "s": s, "d": d, "causal": causal}, make)


def more_attentions():
    yield from fused_attentions(((2048, 3, 49, 32), (512, 6, 49, 32), (32, 6, 197, 64), (32, 12, 256, 64), (8, 12, 512, 64), (16, 16, 577, 64),
                                 (8, 32, 512, 128), (32, 8, 128, 64), (4, 16, 1024, 80)))


def recurrent_layers(shapes):
    for precision in ("fp32", "tf32", "bf16"):
        for kind, b, t, width, hidden, layers in shapes:
            def recurrent(precision=precision, kind=kind, b=b, t=t, width=width, hidden=hidden, layers=layers):
                net = (torch.nn.LSTM if kind == "lstm" else torch.nn.GRU)(width, hidden, layers, batch_first=True).to(DEVICE, stored_type(precision))
                x = tensor(precision, b, t, width).requires_grad_(True)
                y = net(x)[0]
                dy = torch.randn_like(y)
                wanted = [x, *net.parameters()]
                return [("forward", lambda: net(x)), ("backward", lambda: torch.autograd.grad(y, wanted, dy, retain_graph=True))]
            yield Case(kind, precision, {"b": b, "t": t, "width": width, "hidden": hidden, "layers": layers}, recurrent)


def more_recurrent():
    yield from recurrent_layers((("lstm", 32, 50, 1024, 1024, 4), ("lstm", 128, 50, 1024, 1024, 1), ("lstm", 32, 50, 1024, 1024, 2), ("lstm", 64, 100, 512, 512, 1),
                                 ("lstm", 32, 100, 256, 256, 2), ("lstm", 20, 35, 650, 650, 2), ("lstm", 64, 50, 2048, 2048, 1), ("lstm", 128, 25, 512, 512, 4),
                                 ("gru", 64, 25, 512, 512, 1), ("gru", 128, 50, 512, 512, 2), ("gru", 32, 100, 256, 256, 1)))


def others():
    for precision in ("fp32", "bf16"):
        for tokens, rows, width in ((4096, 30522, 768), (16384, 30522, 768), (4096, 50257, 768), (8192, 50257, 1600), (4096, 2, 768)):
            def lookup(precision=precision, tokens=tokens, rows=rows, width=width):
                table = tensor(precision, rows, width).requires_grad_(True)
                index = torch.randint(0, rows, (tokens,), device=DEVICE)
                y = F.embedding(index, table)
                dy = torch.randn_like(y)
                return [("forward", lambda: F.embedding(index, table)),
                        ("backward", lambda: torch.autograd.grad(y, table, dy, retain_graph=True))]
            yield Case("embedding", precision, {"tokens": tokens, "rows": rows, "width": width}, lookup)
    for rows, classes in ((32, 1000), (128, 1000), (4096, 30522), (8192, 50257)):
        def loss(rows=rows, classes=classes):
            x = tensor("fp32", rows, classes).requires_grad_(True)
            target = torch.randint(0, classes, (rows,), device=DEVICE)
            y = F.cross_entropy(x, target)
            return [("forward", lambda: F.cross_entropy(x, target)), ("backward", lambda: torch.autograd.grad(y, x, retain_graph=True))]
        yield Case("cross_entropy", "fp32", {"rows": rows, "classes": classes}, loss)
    yield from recurrent_layers((("lstm", 32, 50, 1024, 1024, 1), ("lstm", 128, 50, 1024, 1024, 4), ("lstm", 64, 25, 512, 512, 2), ("gru", 32, 50, 1024, 1024, 2)))
    for count, elements in ((10, 1 << 20), (160, 1 << 17), (400, 1 << 15), (20, 1 << 23), (100, 1 << 8)):
        def update(count=count, elements=elements):
            parameters = [torch.nn.Parameter(tensor("fp32", elements)) for _ in range(count)]
            for p in parameters:
                p.grad = torch.randn_like(p)
            passes = []
            for name, optimizer in (("sgd", torch.optim.SGD(parameters, 1e-4)), ("momentum", torch.optim.SGD(parameters, 1e-4, momentum=0.9)),
                                    ("adam", torch.optim.Adam(parameters, 1e-4)), ("adamw_fused", torch.optim.AdamW(parameters, 1e-4, fused=True))):
                optimizer.step()
                passes.append((name, optimizer.step))
            return passes
        yield Case("update", "fp32", {"count": count, "elements": elements}, update)


# --- timing -----------------------------------------------------------------------------------------------------

MARKER = "lgamma"  # a kernel that no case launches; it stands between the passes


def scratch_bytes(function):
    """The most that the allocator holds while it runs, beyond what is there before and what is left after."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = function()
    torch.cuda.synchronize()
    most, after = torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()
    del result
    return most - max(before, after)


def timed(cases, marker):
    """-> samples of one batch of cases, or of fewer where one fails"""
    ready = []
    for case in cases:
        allow_tf32(case.precision)
        try:
            passes = case.make()
            for _ in range(3):
                for _, function in passes:
                    function()
            torch.cuda.synchronize()
            scratch = [scratch_bytes(function) if case.group in WITH_SCRATCH else 0 for _, function in passes]
            ready.append((case, passes, scratch))
        except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
            print("left out:", case.group, case.precision, case.dims, str(error).splitlines()[0][:120], file=sys.stderr)
    order = [(i, name, scratch) for i, (_, passes, took) in enumerate(ready) for (name, _), scratch in zip(passes, took)]
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(REPETITIONS):
            for case, passes, _ in ready:
                allow_tf32(case.precision)
                for _, function in passes:
                    marker.lgamma_()
                    function()
        marker.lgamma_()
        torch.cuda.synchronize()
    events = sorted((e for e in recorded.events() if e.device_type == torch.autograd.DeviceType.CUDA), key=lambda e: e.time_range.start)
    spans, current = [], None
    for event in events:
        if MARKER in event.name:
            current = []
            spans.append(current)
        elif current is not None:
            current.append((event.name, event.time_range.elapsed_us(), event.time_range.start, event.time_range.end))
    if len(spans) != REPETITIONS * len(order) + 1:
        print("lost markers:", len(spans), "of", REPETITIONS * len(order) + 1, "in", cases[0].group, file=sys.stderr)
        return []
    samples = []
    for at, (i, name, scratch) in enumerate(order):
        runs = [spans[r * len(order) + at] for r in range(REPETITIONS)]
        totals = [sum(us for _, us, _, _ in run) for run in runs]
        middle = min(range(REPETITIONS), key=lambda r: abs(totals[r] - statistics.median(totals)))
        busy, end = 0.0, float("-inf")
        for _, _, a, b in sorted(runs[middle], key=lambda k: k[2]):
            busy += max(0.0, b - max(a, end))
            end = max(end, b)
        case = ready[i][0]
        samples.append({"group": case.group, "pass": name, "precision": case.precision, "dims": case.dims,
                        "us": [round(t, 2) for t in totals], "busy_us": round(busy, 2), "scratch_bytes": scratch,
                        "kernels": [[n[:160], round(us, 2)] for n, us, _, _ in runs[middle]]})
    return samples


def dispatch():
    """Host time per operation on tiny tensors, in microseconds: forward, with autograd's backward, under autocast."""
    small = torch.randn(2, 8, 4, 4, device=DEVICE)
    conv, norm, linear_layer = (m.to(DEVICE) for m in (torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.Linear(8, 8)))

    def host_us(function, count):
        for _ in range(20):
            function()
        best = []
        for _ in range(15):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(10):
                function()
            best.append((time.perf_counter() - begin) / 10 / count * 1e6)
            torch.cuda.synchronize()
        return {"least_us": round(min(best), 3), "median_us": round(statistics.median(best), 3)}

    def chain(step, length=20, start=small):
        def run():
            x = start.clone().requires_grad_(True)
            for _ in range(length):
                x = step(x)
            return x
        return run

    results = {}
    for name, step in (("relu", F.relu), ("add", lambda x: x + x), ("convolution", conv), ("batch_norm", norm)):
        forward = chain(step)
        results[f"{name} forward"] = host_us(forward, 20)
        results[f"{name} forward and backward"] = host_us(lambda f=forward: f().sum().backward(), 20)
        with torch.autocast("cuda", torch.bfloat16):
            results[f"{name} forward under autocast"] = host_us(forward, 20)
            results[f"{name} forward and backward under autocast"] = host_us(lambda f=forward: f().sum().backward(), 20)
    square, heads = torch.randn(2, 8, 8, device=DEVICE), torch.randn(2, 2, 8, 8, device=DEVICE)
    layer_norm = torch.nn.LayerNorm(8).to(DEVICE)
    for name, start, step in (("linear", square, linear_layer), ("view", square, lambda x: x.transpose(1, 2)), ("layer_norm", square, layer_norm),
                              ("softmax", square, lambda x: F.softmax(x, -1)), ("dropout", square, lambda x: F.dropout(x, 0.1, True)),
                              ("matmul", heads, lambda x: torch.matmul(x, x)), ("attention", heads, lambda x: F.scaled_dot_product_attention(x, x, x))):
        forward = chain(step, start=start)
        results[f"{name} forward"] = host_us(forward, 20)
        results[f"{name} forward and backward"] = host_us(lambda f=forward: f().sum().backward(), 20)
        with torch.autocast("cuda", torch.bfloat16):
            results[f"{name} forward under autocast"] = host_us(forward, 20)
            results[f"{name} forward and backward under autocast"] = host_us(lambda f=forward: f().sum().backward(), 20)
    for count in (20, 200):
        parameters = [torch.nn.Parameter(torch.randn(16, device=DEVICE)) for _ in range(count)]
        for p in parameters:
            p.grad = torch.randn_like(p)
        for name, optimizer in (("momentum", torch.optim.SGD(parameters, 1e-4, momentum=0.9)), ("adam", torch.optim.Adam(parameters, 1e-4))):
            results[f"update {name} of {count}"] = host_us(optimizer.step, 1)
            results[f"zero_grad of {count}"] = host_us(lambda o=optimizer: o.zero_grad(set_to_none=True), 1)
            for p in parameters:
                p.grad = torch.randn_like(p)
    empty = torch.zeros(1, device=DEVICE)
    results["launch"] = host_us(lambda: [empty.zero_() for _ in range(50)], 50)
    results["item"] = host_us(lambda: empty.item(), 1)
    return results


# What every class needs comes first: whoever has five minutes gets all of that.
GROUPS = {"products": products, "transposes": transposes, "attentions": attentions, "norms": norms, "pools": pools, "streams": streams, "others": others,
          "convolutions": convolutions, "attention_products": attention_products, "network_products": network_products, "more_norms": more_norms,
          "more_attentions": more_attentions, "more_recurrent": more_recurrent, "more_grouped": more_grouped,
          "channels_last_convolutions": channels_last_convolutions, "more_convolutions": more_convolutions}


WITH_SCRATCH = ("convolution", "first", "grouped", "depthwise", "convolution_3d")
AT_ONCE = 12  # cases, which lie in memory together


def write(path, document):
    """At once or not at all: whoever is stopped keeps what was measured before."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(document, file)
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=300)
    from more_cases import GROUPS as MORE  # which builds on this file
    groups = {**GROUPS, **MORE}
    parser.add_argument("--only", default=",".join(groups))
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    started = time.time()
    marker = torch.ones(3, device=DEVICE)
    document = {"strata_calibration_samples": 1, "framework": "pytorch-eager", "versions": {
        "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}, "device": torch.cuda.get_device_name(), "samples": []}
    document["dispatch"] = dispatch()
    for name in options.only.split(","):
        begun = time.time()
        cases = list(groups[name]())
        for first in range(0, len(cases), AT_ONCE):
            if time.time() - started > options.seconds:
                print("no time left for", len(cases) - first, "of", len(cases), "cases of", name, file=sys.stderr)
                break
            document["samples"] += timed(cases[first:first + AT_ONCE], marker)
            torch.cuda.empty_cache()
            write(options.out, document)
        print(f"{name}: {len(cases)} cases, {time.time() - begun:.1f} s", flush=True)
    document["seconds"] = round(time.time() - started, 1)
    write(options.out, document)


if __name__ == "__main__":
    main()
