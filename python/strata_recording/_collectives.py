# SPDX-License-Identifier: Apache-2.0
"""torch.distributed while a step is recorded: nobody else is there, and what would be exchanged is written down."""
from __future__ import annotations

import inspect
import os
from typing import Any, Callable, Dict, List, Tuple

import torch
import torch.distributed as distributed

from ._lines import user_line
from ._patches import Patches
from ._recorder import Recorder, has_fake, paused
from ._refusal import Refusal

# Of each function of torch.distributed: the operation, and which of its arguments are written and read.
_EXCHANGES: Dict[str, Tuple[str, Tuple[str, ...], Tuple[str, ...]]] = {
    "all_reduce": ("allreduce_", ("tensor",), ("tensor",)),
    "reduce": ("reduce_", ("tensor",), ("tensor",)),
    "broadcast": ("broadcast_", ("tensor",), ("tensor",)),
    "all_gather": ("allgather_", ("tensor_list",), ("tensor",)),
    "all_gather_into_tensor": ("_allgather_base_", ("output_tensor",), ("input_tensor",)),
    "_all_gather_base": ("_allgather_base_", ("output_tensor",), ("input_tensor",)),
    "reduce_scatter": ("reduce_scatter_", ("output",), ("input_list",)),
    "reduce_scatter_tensor": ("_reduce_scatter_base_", ("output",), ("input",)),
    "_reduce_scatter_base": ("_reduce_scatter_base_", ("output",), ("input",)),
    "all_to_all": ("alltoall_", ("output_tensor_list",), ("input_tensor_list",)),
    "all_to_all_single": ("alltoall_base_", ("output",), ("input",)),
    "send": ("send", (), ("tensor",)),
    "isend": ("send", (), ("tensor",)),
    "recv": ("recv_", ("tensor",), ()),
    "irecv": ("recv_", ("tensor",), ()),
}
_BUCKETS_BYTES = (1 << 20, 25 << 20)  # the first, which is ready early, and the others (DistributedDataParallel)


class _Done:
    """The handle of an exchange that is over."""

    def wait(self, *args: Any) -> bool:
        return True

    def is_completed(self) -> bool:
        return True


def _flat(value: Any) -> List[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [one for item in value for one in _flat(item)] if isinstance(value, (tuple, list)) else []


class Collectives:
    """Watches them while it is entered."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._patches = Patches()
        self.is_recording = False
        self._reducers: Dict[int, _Reducer] = {}

    def __enter__(self) -> "Collectives":
        if not distributed.is_available():
            return self
        for name, (operation, written, read) in _EXCHANGES.items():
            if hasattr(distributed, name):
                call = self._exchange(getattr(distributed, name), operation, written, read)
                self._patches.set(distributed, name, call)
        self._patches.set(distributed, "barrier", self._barrier(distributed.barrier))
        self._patches.set(distributed, "init_process_group", self._begin(distributed.init_process_group))
        parallel = torch.nn.parallel.DistributedDataParallel
        self._patches.set(parallel, "__init__", self._wrap)
        self._patches.set(parallel, "forward", self._forward(parallel.forward))
        alone = torch.nn.DataParallel
        self._patches.set(alone, "forward", lambda module, *args, **kwargs: module.module(*args, **kwargs))
        return self

    def __exit__(self, *_: Any) -> None:
        self._patches.put_back()

    def _exchange(self, before: Any, operation: str, written: Tuple[str, ...], read: Tuple[str, ...]) -> Any:
        signature = inspect.signature(before)

        def call(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            tensors = [value for key, value in given.items() if key in written or key in read]
            if not self.is_recording or not has_fake(tensors):
                return before(*args, **kwargs)
            self.note(operation, [given.get(key) for key in read], _flat([given.get(key) for key in written]),
                      given.get("group"))
            is_started = given.get("async_op") or before.__name__ in ("isend", "irecv")
            return _Done() if is_started else None
        call.__name__ = getattr(before, "__name__", operation)
        return call

    def note(self, operation: str, inputs: List[Any], written: List[torch.Tensor], group: Any = None) -> None:
        ranks = distributed.get_world_size(group) if distributed.is_initialized() else 1
        self._recorder.note(f"c10d::{operation}", [*inputs, written], [], {"ranks": ranks}, tuple(written), operation.strip("_"))

    def _barrier(self, before: Any) -> Any:
        return lambda *args, **kwargs: None if self.is_recording else before(*args, **kwargs)

    @staticmethod
    def _begin(before: Any) -> Any:
        def begin(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
            try:
                from torch.testing._internal.distributed.fake_pg import FakeStore
            except ImportError:
                raise Refusal(f"{user_line()} begins a process group; PyTorch {torch.__version__} cannot make one without "
                              "the other processes: record with PyTorch 2.1 or newer, or one process by itself") from None
            ranks = kwargs.get("world_size", -1)
            rank = kwargs.get("rank", -1)
            return before("fake", store=FakeStore(), rank=int(os.environ.get("RANK", 0)) if rank < 0 else rank,
                          world_size=int(os.environ.get("WORLD_SIZE", 1)) if ranks < 0 else ranks)
        return begin

    def _forward(self, before: Any) -> Callable[..., Any]:
        def forward(parallel: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.is_recording:
                return before(parallel, *args, **kwargs)
            if id(parallel) not in self._reducers:
                self._reducers[id(parallel)] = _Reducer(parallel, self, self._recorder)
            reducer = self._reducers[id(parallel)]
            reducer.is_on = bool(parallel.require_backward_grad_sync) and torch.is_grad_enabled()
            buffers = list(parallel.module.buffers())
            if buffers and reducer.is_on and parallel.broadcast_buffers:
                self.note("broadcast_", [], buffers, parallel.process_group)
            return parallel.module(*args, **kwargs)
        return forward

    @staticmethod
    def _wrap(parallel: Any, module: torch.nn.Module, *args: Any, process_group: Any = None, broadcast_buffers: bool = True,
              gradient_as_bucket_view: bool = False, **kwargs: Any) -> None:
        """What is made of a module without asking the other processes, nor whether it is on a GPU."""
        torch.nn.Module.__init__(parallel)
        parallel.module = module
        parallel.process_group, parallel.broadcast_buffers = process_group, broadcast_buffers
        parallel.gradient_as_bucket_view = gradient_as_bucket_view
        parallel.require_backward_grad_sync = parallel.require_forward_param_sync = True
        parallel.device_ids = parallel.output_device = parallel.device = None


class _Reducer:
    """What DistributedDataParallel adds to backward: gradients are copied into buckets, each of which is summed over all
    ranks as soon as it is full, and copied back in the end."""

    def __init__(self, parallel: Any, collectives: Collectives, recorder: Recorder) -> None:
        self._collectives, self._recorder = collectives, recorder
        self._group = parallel.process_group
        self._keeps_views = bool(getattr(parallel, "gradient_as_bucket_view", False))
        self.is_on = True
        self._views: Dict[int, torch.Tensor] = {}
        self._left: List[int] = []
        self._buckets: List[List[torch.Tensor]] = []
        self._memory: List[torch.Tensor] = []
        self._make_buckets([one for one in parallel.module.parameters() if one.requires_grad][::-1])

    def _make_buckets(self, parameters: List[torch.Tensor]) -> None:
        limit = _BUCKETS_BYTES[0]
        bucket: List[torch.Tensor] = []
        for number, parameter in enumerate(parameters):
            bucket.append(parameter)
            is_full = sum(one.numel() * one.element_size() for one in bucket) >= limit
            if is_full or number + 1 == len(parameters) or parameters[number + 1].dtype != parameter.dtype:
                self._add(bucket)
                bucket, limit = [], _BUCKETS_BYTES[1]

    def _add(self, bucket: List[torch.Tensor]) -> None:
        number = len(self._buckets)
        self._buckets.append(bucket)
        self._left.append(len(bucket))
        with paused(self._recorder):
            memory = torch.empty(sum(one.numel() for one in bucket), dtype=bucket[0].dtype)
            self._memory.append(memory)
            begin = 0
            for one in bucket:
                self._views[id(one)] = memory[begin:begin + one.numel()].view(one.shape)
                begin += one.numel()
        for one in bucket:
            one.register_hook(lambda gradient, of=one: self._has_gradient(of, gradient, number))

    def _has_gradient(self, parameter: torch.Tensor, gradient: torch.Tensor, number: int) -> None:
        if not self.is_on:
            return
        view = self._views[id(parameter)]
        self._recorder.note("aten::mul.out", [gradient, None, view], [view], {}, (view,), "buckets")
        self._left[number] -= 1
        if self._left[number]:
            return
        self._left[number] = len(self._buckets[number])
        self._collectives.note("allreduce_", [], [self._memory[number]], self._group)
        if not self._keeps_views:
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self._copy_back(number))

    def _copy_back(self, number: int) -> None:
        for one in self._buckets[number]:
            if one.grad is not None:
                self._recorder.note("aten::copy_", [one.grad, self._views[id(one)]], [one.grad], {},
                                    (one.grad,), "buckets")
