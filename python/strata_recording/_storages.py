# SPDX-License-Identifier: Apache-2.0
"""Blocks of memory behind tensors: which one a tensor lies in, and when one is given back."""
from __future__ import annotations

import weakref
from typing import Any, Dict, List, Tuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

# From PyTorch 2.1 on a storage is one Python object for as long as it lives, and can say that it ends.
_SAYS_WHEN_IT_ENDS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 1)
_POLL_EVERY = 16  # operations; before 2.1 all that are alive are looked at that often


def _storage(tensor: torch.Tensor) -> Any:
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    return tensor.storage()._storage


class Storages:
    """Numbers storages in the order in which they are seen, and notes which have ended since."""

    def __init__(self) -> None:
        self.bytes: List[int] = []
        self._numbers: Dict[int, int] = {}  # of those that are alive, by address
        self._references: Dict[int, Any] = {}
        self._ended: List[int] = []
        self._asked = 0

    def number(self, tensor: torch.Tensor) -> Tuple[int, bool]:
        """Of the storage of a tensor, and whether it is seen for the first time."""
        storage = _storage(tensor)
        address = storage._cdata
        known = self._numbers.get(address)
        if known is not None and not (_SAYS_WHEN_IT_ENDS or not self._references[address].expired()):
            self._end(address)  # another one lies at the same place now
            known = None
        if known is not None:
            if self.bytes[known] < storage.nbytes():
                self.bytes[known] = storage.nbytes()  # it was resized
            return known, False
        number = len(self.bytes)
        self.bytes.append(int(storage.nbytes()))
        self._numbers[address] = number
        if _SAYS_WHEN_IT_ENDS:
            weakref.finalize(storage, self._end, address).atexit = False
        else:
            self._references[address] = StorageWeakRef(storage)
        return number, True

    def _end(self, address: int) -> None:
        number = self._numbers.pop(address, None)
        self._references.pop(address, None)
        if number is not None:
            self._ended.append(number)

    def ended(self) -> List[int]:
        """Those that ended since this was last asked."""
        if not _SAYS_WHEN_IT_ENDS:
            self._asked += 1
            if self._asked % _POLL_EVERY == 0:
                for address in [key for key, reference in self._references.items() if reference.expired()]:
                    self._end(address)
        ended, self._ended = self._ended, []
        return ended
