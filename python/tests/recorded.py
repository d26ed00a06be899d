# SPDX-License-Identifier: Apache-2.0
"""Small networks, and recordings with what tests ask of them; where PyTorch is missing, the test that imports this is
skipped, and says so."""
import os
import sys

DISTRIBUTION = "/usr/bin/python3"


def needs_torch():
    try:
        import torch  # noqa: F401

        import strata  # noqa: F401
    except ImportError as missing:
        # The distribution's PyTorch belongs to the distribution's Python, which may not be the first in PATH.
        if os.path.exists(DISTRIBUTION) and not os.environ.get("STRATA_TORCH_TEST"):
            os.environ["STRATA_TORCH_TEST"] = "again"
            os.execv(DISTRIBUTION, [DISTRIBUTION, *sys.argv])
        print(f"skipped: {missing} (python3-torch)")
        sys.exit(77)


needs_torch()
import torch  # noqa: E402
import torch.nn.functional as functional  # noqa: E402
from torch import nn  # noqa: E402

import strata.torch  # noqa: E402

torch.set_num_threads(1)  # other tests run at the same time


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(width)

    def forward(self, x):
        return functional.relu(self.bn(self.conv(x)) + x)


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(width, 10)

    def forward(self, x):
        return self.fc(self.drop(self.blocks(self.stem(x)).mean((2, 3))))


def small(inputs=16, outputs=4):
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))


class Recorded:
    """A document with what tests ask of it."""

    def __init__(self, document):
        self.document = document
        self.operations = document["operations"]

    def layer(self, operation):
        return self.document["layers"][operation["layer"]]["name"]

    def named(self, name, **wanted):
        """The operations of that name."""
        return [one for one in self.operations if one["op"].split("::")[-1].split(".")[0] == name
                and all(one.get(key) == value for key, value in wanted.items())]

    def layers(self, which):
        return {self.layer(one) for one in self.operations if one["pass"] == which}

    def storages(self, kind):
        return {one["name"]: one["bytes"] for one in self.document["storages"] if one.get("kind") == kind}


def recorded(what, *args, **options):
    return Recorded(strata.torch.record(what, *args, **options).document)
