# SPDX-License-Identifier: Apache-2.0
"""Attributes of PyTorch that are others while a step is recorded."""
from __future__ import annotations

import contextlib
import warnings
from typing import Any, Iterator, List, Tuple

_MISSING = object()


class Patches:
    """Sets attributes, and puts all of them back in the end."""

    def __init__(self) -> None:
        self._before: List[Tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def set_if_there(self, owner: Any, name: str, value: Any) -> None:
        if hasattr(owner, name):
            self.set(owner, name, value)

    def put_back(self) -> None:
        while self._before:
            owner, name, value = self._before.pop()
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Warnings of PyTorch about kernels that are replaced, and about GPUs that are not there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
