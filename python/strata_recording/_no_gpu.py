# SPDX-License-Identifier: Apache-2.0
"""torch.cuda as programs see it while a step is recorded: there is one GPU, and it has nothing to do."""
from __future__ import annotations

import contextlib
import types
from typing import Any, Dict

import torch

from ._patches import Patches

_MEMORY_BYTES = 141 * 10 ** 9  # programs ask whether there is enough; the prediction says so for each GPU


class _Event:
    """Of a stream on which everything has happened already."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        return 1.0

    def query(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


class _Region(contextlib.nullcontext):
    """A context that does nothing, whatever it is told."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


def _properties(*_: Any) -> Any:
    return types.SimpleNamespace(name="GPU", major=9, minor=0, total_memory=_MEMORY_BYTES, multi_processor_count=132,
                                 warp_size=32, max_threads_per_multi_processor=2048)


def _answers() -> Dict[str, Any]:
    """By name of the function of torch.cuda: what it returns."""
    return {
        "is_available": True, "device_count": 1, "current_device": 0, "is_initialized": True, "is_bf16_supported": True,
        "get_device_name": "GPU", "get_device_capability": (9, 0), "get_arch_list": ["sm_90"],
        "mem_get_info": (_MEMORY_BYTES, _MEMORY_BYTES), "is_current_stream_capturing": False,
        "utilization": 0, "get_rng_state_all": [], "memory_summary": "", "memory_stats": {}, "seed": None, "initial_seed": 0,
        **{name: 0 for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
                                "memory_cached", "max_memory_cached")},
        **{name: None for name in ("init", "set_device", "synchronize", "empty_cache", "ipc_collect", "manual_seed",
                                   "manual_seed_all", "set_rng_state", "set_rng_state_all", "seed_all",
                                   "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
                                   "reset_accumulated_memory_stats", "set_per_process_memory_fraction", "set_stream",
                                   "_lazy_init")},
    }


def pretend(patches: Patches) -> None:
    for name, answer in _answers().items():
        patches.set_if_there(torch.cuda, name, lambda *args, answer=answer, **kwargs: answer)
    patches.set(torch.cuda, "get_device_properties", _properties)
    patches.set(torch.cuda, "get_rng_state", lambda *args, **kwargs: torch.ByteTensor(16))
    for name in ("current_stream", "default_stream"):
        patches.set(torch.cuda, name, _Event)
    for name in ("Event", "Stream"):
        patches.set(torch.cuda, name, _Event)
    for name in ("device", "stream", "StreamContext", "device_of"):
        patches.set_if_there(torch.cuda, name, _Region)
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        patches.set_if_there(torch.cuda.nvtx, name, lambda *args, **kwargs: 0)
    patches.set_if_there(torch.cuda.nvtx, "range", _Region)
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        patches.set_if_there(accelerator, "is_available", lambda: True)
        patches.set_if_there(accelerator, "device_count", lambda: 1)
        patches.set_if_there(accelerator, "synchronize", lambda *args: None)
        patches.set_if_there(accelerator, "current_accelerator", lambda *args, **kwargs: torch.device("cuda"))
