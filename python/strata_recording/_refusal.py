# SPDX-License-Identifier: Apache-2.0
"""What a recording refuses."""
from __future__ import annotations

from ._lines import line_of

WAY_OUT = "record the real step on a machine with a GPU (real=True), or change that line"


class Refusal(Exception):
    """Says what cannot be recorded, the line of the user's code that asks for it, and the way out."""


def refusal_of(error: BaseException, name: str) -> Refusal:
    """What to say of an exception that the user's code, or PyTorch below it, raised while a step ran on shapes."""
    if isinstance(error, Refusal):
        return error
    sentence = (str(error).strip().splitlines() or [""])[0].rstrip(".")
    return Refusal(f"{line_of(error) or name}: {type(error).__name__}: {sentence}; tensors have no numbers while a step is "
                   f"recorded: {WAY_OUT}")
