# SPDX-License-Identifier: Apache-2.0
"""Trains a small residual network on pictures that are made up: mixed precision, two micro-batches per step."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.short = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.short(x))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, padding=1)
        self.blocks = nn.Sequential(Block(64, 64, 1), Block(64, 128, 2), Block(128, 256, 2))
        self.fc = nn.Linear(256, 10)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 1024

    def __getitem__(self, i):
        return torch.randn(3, 64, 64), i % 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=128)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = Network().to(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    data = torch.utils.data.DataLoader(Pictures(), batch_size=options.batch // 2, shuffle=True)
    for i, (pictures, labels) in enumerate(data):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = F.cross_entropy(network(pictures.to(device)), labels.to(device))
        (loss / 2).backward()
        if i % 2:
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            print("loss", loss.item())


main()
