# SPDX-License-Identifier: Apache-2.0
"""Convolutions that networks have, spread out: which to time when there is time for few.

The layers are those of torchvision's classifiers and of networks of timm drawn with a seed, without the networks that expected
times are held against. Of all of them those are taken, one after the other, that lie farthest from every layer taken before,
in logarithms of their dimensions."""
import math
import random

import torch

HELD_AGAINST = ("alexnet", "resnet18", "resnet50", "mobilenet_v2", "googlenet", "vit_b_16", "squeezenet1_1", "vgg16", "densenet121",
                "efficientnet_b0", "convnext_tiny", "resnext50_32x4d", "inception_v3", "wide_resnet50_2", "mnasnet1_0", "swin_t", "vgg19_bn",
                "deit_small_patch16_224", "mixer_b16_224", "regnety_016")
BATCHES = (8, 32, 64, 128, 256, 512, 1024)
MOST_NUMBERS = 1 << 27  # of input and output
MOST_FLOP = 8e10


def _networks(seed, count):
    try:
        import torchvision
    except ImportError:
        return
    names = [n for n in torchvision.models.list_models(module=torchvision.models) if n not in HELD_AGAINST and "quantized" not in n]
    for name in names:
        more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        yield name, lambda name=name, more=more: getattr(torchvision.models, name)(weights=None, **more)
    try:
        import timm
    except ImportError:
        return
    others = [n for n in timm.list_models() if n not in HELD_AGAINST]
    for name in random.Random(seed).sample(others, count):
        yield name, lambda name=name: timm.create_model(name)


def _layers_of(make):
    """[(channels, size, filters, kernel, stride, groups)] of the convolutions whose padding keeps the size."""
    with torch.device("meta"):
        module = make().eval()
    found = []

    def saw(layer, inputs, _):
        x, k, s = inputs[0], layer.kernel_size, layer.stride
        pad = 0 if k[0] == s[0] or k[0] == 1 else k[0] // 2
        if len(set(k)) == len(set(s)) == 1 and x.dim() == 4 and x.shape[2] == x.shape[3] and set(layer.dilation) == {1} and layer.padding == (pad, pad):
            found.append((x.shape[1], x.shape[2], layer.out_channels, k[0], s[0], layer.groups))
    for layer in module.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_forward_hook(saw)
    size = getattr(module, "default_cfg", {}).get("input_size", (3, 224, 224))
    with torch.no_grad():
        module(torch.empty(1, *size, device="meta"))
    return found


def kind_of(layer):
    channels, _, _, _, _, groups = layer
    if groups == 1:
        return "first" if channels <= 4 else "convolution"
    return "depthwise" if groups == channels else "grouped"


def _place(sample):
    n, c, size, f, k, s, g = sample
    return [math.log(x) for x in (n, c, f, size * size, max(1, size // s) ** 2, k * k, g)]


def _fits(sample):
    n, c, size, f, k, s, g = sample
    out = max(1, size // s) ** 2
    return n * max(c * size * size, f * out) <= MOST_NUMBERS and 2.0 * n * out * f * (c // g) * k * k <= MOST_FLOP


def spread(counts, known, seed=46, networks=30):
    """{kind: [(batch, channels, size, filters, kernel, stride, groups)]}, so many of each kind; `known`: those timed already."""
    layers = set()
    for _, make in _networks(seed, networks):
        try:
            layers.update(_layers_of(make))
        except Exception:  # of the network's own: what meta tensors cannot do
            continue
    chosen = {}
    for kind, count in counts.items():
        pool = [(n, *layer) for layer in sorted(layers) if kind_of(layer) == kind for n in BATCHES if _fits((n, *layer))]
        places = [_place(sample) for sample in pool]
        apart = [min((math.dist(place, _place(k)) for k in known if kind_of(k[1:]) == kind), default=9.0) for place in places]
        chosen[kind] = []
        for _ in range(min(count, len(pool))):
            farthest = max(range(len(pool)), key=apart.__getitem__)
            chosen[kind].append(pool[farthest])
            apart = [min(a, math.dist(p, places[farthest])) for a, p in zip(apart, places)]
    return chosen
