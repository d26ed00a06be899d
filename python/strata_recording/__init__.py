# SPDX-License-Identifier: Apache-2.0
"""What PyTorch runs for a training step, asked of PyTorch itself: every ATen operation of one step, with its tensors, its
pass and its layer, recorded on tensors without numbers. No GPU is needed, and no memory for weights."""
