# SPDX-License-Identifier: Apache-2.0
"""AlexNet, VGG-16 and ResNets as torchvision has them, and the two reference kernels, in plain PyTorch."""
import torch
from torch import nn


def alexnet(classes=1000):
    return nn.Sequential(
        nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(True), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(True),
        nn.MaxPool2d(3, 2), nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(True), nn.Conv2d(384, 256, 3, padding=1),
        nn.ReLU(True), nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(3, 2), nn.Flatten(), nn.Dropout(),
        nn.Linear(256 * 36, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True),
        nn.Linear(4096, classes))


def vgg16(classes=1000):
    layers, channels = [], 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if width == 0:
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(True)]
            channels = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(True), nn.Dropout(),
                         nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, classes))


class Block(nn.Module):
    """A residual block: two 3x3 convolutions, or 1x1, 3x3, 1x1 with four times the width."""

    def __init__(self, channels, width, stride, is_bottleneck):
        super().__init__()
        out = width * (4 if is_bottleneck else 1)
        if is_bottleneck:
            convolutions = [nn.Conv2d(channels, width, 1, bias=False), nn.Conv2d(width, width, 3, stride, 1, bias=False),
                            nn.Conv2d(width, out, 1, bias=False)]
        else:
            convolutions = [nn.Conv2d(channels, width, 3, stride, 1, bias=False),
                            nn.Conv2d(width, width, 3, 1, 1, bias=False)]
        layers = []
        for convolution in convolutions:
            layers += [convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU(True)]
        self.main = nn.Sequential(*layers[:-1])
        self.short = nn.Identity()
        if stride != 1 or channels != out:
            self.short = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        self.relu = nn.ReLU(True)

    def forward(self, x):
        return self.relu(self.main(x) + self.short(x))


def resnet(blocks, is_bottleneck, classes=1000):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            layers.append(Block(channels, width, 2 if stage > 0 and block == 0 else 1, is_bottleneck))
            channels = width * (4 if is_bottleneck else 1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


NETWORKS = {
    "alexnet": alexnet,
    "vgg16": vgg16,
    "resnet18": lambda: resnet([2, 2, 2, 2], False),
    "resnet50": lambda: resnet([3, 4, 6, 3], True),
}


class Training:
    """One network with its optimizer and one batch of made-up images, on the GPU."""

    def __init__(self, name, batch):
        torch.manual_seed(1)
        self.model = NETWORKS[name]().cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9)
        self.host_images = torch.randn(batch, 3, 224, 224).pin_memory()
        self.host_labels = torch.randint(0, 1000, (batch,)).pin_memory()
        self.loss = nn.CrossEntropyLoss()

    def step(self, push=lambda _: None, pop=lambda: None):
        images = self.host_images.cuda(non_blocking=True)
        labels = self.host_labels.cuda(non_blocking=True)
        loss = self.loss(self.model(images), labels)
        push("backward part")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        pop()
        return loss


def lstm():
    """features 32, hidden 16: the reference kernel's defaults."""
    return nn.LSTM(32, 16)


def conv2d():
    """64 filters of 3x3 on 64 channels, stride 2, no padding."""
    return nn.Conv2d(64, 64, 3, stride=2)


REFERENCES = {
    "conv2d": (conv2d, lambda batch: torch.randn(batch, 64, 112, 112, device="cuda")),
    "lstm": (lstm, lambda batch: torch.randn(16, batch, 32, device="cuda")),
}
