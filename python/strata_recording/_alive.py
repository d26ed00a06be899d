# SPDX-License-Identifier: Apache-2.0
"""What the user's program holds: its modules, optimizers and the like, and how they were before a step was recorded."""
from __future__ import annotations

import gc
import random
import sys
from typing import Any, Callable, Dict, List, Tuple, Type

import torch

Undo = Callable[[], None]


def alive(*kinds: Type[Any]) -> List[Any]:
    """Every object of these classes. Asking type() and not isinstance() wakes up no proxies of other libraries."""
    return [one for one in gc.get_objects() if issubclass(type(one), kinds)]


def top_of(module: torch.nn.Module) -> torch.nn.Module:
    """The module around all others that a module is part of: whose paths people know."""
    seen = {id(module)}
    while True:
        holders = [one for one in gc.get_referrers(module) if isinstance(one, dict)]
        around = [one for one in alive(torch.nn.Module)
                  if id(one) not in seen and any(one.__dict__.get("_modules") is holder for holder in holders)]
        if not around:
            return module
        module = around[0]
        seen.add(id(module))


def _scalers() -> Tuple[Type[Any], ...]:
    found = [torch.cuda.amp.GradScaler]
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        found.append(torch.amp.GradScaler)
    return tuple(found)


def _schedulers() -> Tuple[Type[Any], ...]:
    names = ("_LRScheduler", "LRScheduler", "ReduceLROnPlateau")
    return tuple({getattr(torch.optim.lr_scheduler, name) for name in names if hasattr(torch.optim.lr_scheduler, name)})


def _attributes_back(one: Any, before: Dict[str, Any]) -> Undo:
    def undo() -> None:
        vars(one).clear()
        vars(one).update(before)
    return undo


def _groups_back(optimizer: Any) -> Undo:
    attributes = dict(vars(optimizer))
    groups = [(group, dict(group), list(group["params"])) for group in optimizer.param_groups]

    def undo() -> None:
        vars(optimizer).clear()
        vars(optimizer).update(attributes)
        optimizer.param_groups[:] = [group for group, _, _ in groups]
        for group, before, parameters in groups:
            group.clear()
            group.update(before)
            group["params"][:] = parameters
    return undo


def random_numbers_back() -> Undo:
    state, plain = torch.get_rng_state(), random.getstate()
    numbers = sys.modules.get("numpy.random")
    numeric = numbers.get_state() if numbers is not None else None

    def undo() -> None:
        torch.set_rng_state(state)
        random.setstate(plain)
        if numbers is not None:
            numbers.set_state(numeric)
    return undo


class AsBefore:
    """Modes of modules, optimizers, schedulers, scalers and random numbers as they were when this was made. Parameters and
    buffers need nothing: others take their places meanwhile."""

    def __init__(self) -> None:
        self._undo: List[Undo] = [random_numbers_back()]
        self.modules = alive(torch.nn.Module)
        self._modes = [(module, module.training) for module in self.modules if "training" in vars(module)]
        self.optimizers = [one for one in alive(torch.optim.Optimizer) if "param_groups" in vars(one)]
        self._undo += [_groups_back(one) for one in self.optimizers]
        self._undo += [_attributes_back(one, dict(vars(one))) for one in alive(*_schedulers(), *_scalers())]
        self._undo += [self._state_back(one) for one in alive(*_scalers()) if "_per_optimizer_states" in vars(one)]

    @staticmethod
    def _state_back(scaler: Any) -> Undo:
        states = scaler._per_optimizer_states
        before = dict(states)

        def undo() -> None:
            states.clear()
            states.update(before)
        return undo

    def put_back(self) -> None:
        for undo in self._undo:
            undo()
        for module, mode in self._modes:
            module.__dict__["training"] = mode
