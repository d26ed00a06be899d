# SPDX-License-Identifier: Apache-2.0
"""Numbers of small tensors, carried along while everything else has only shapes: positions, masks, token numbers. Code
that looks at them ("if mask.all()", "for expert in hit") then runs as it would. What depends on numbers that nobody has
is assumed, and said: a mask lets everything pass, a choice of the largest is spread evenly."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch.utils._mode_utils import no_dispatch

from ._lines import user_line
from ._refusal import Refusal

MOST_INTEGERS = 1 << 20
MOST_FLOATS = 4096
_RANDOM = ("rand", "normal", "bernoulli", "uniform", "dropout", "multinomial", "exponential", "cauchy", "empty",
           "geometric", "random")
# PyTorch 1.13 has no rule for the shapes of a convolution's gradients, and would compute them.
_WITHOUT_SHAPES = torch.__version__.startswith("1.")
_DRAWN = ("aten::randint", "aten::randperm", "aten::rand", "aten::rand_like")
_DRAWN_IN_PLACE = ("aten::uniform_", "aten::normal_", "aten::random_")
_MOST_DRAWN = 64  # numbers that decide something; more are data


def set_value(tensor: torch.Tensor, value: Optional[torch.Tensor]) -> None:
    tensor._strata_value = value  # type: ignore[attr-defined]


def value_of(tensor: torch.Tensor) -> Optional[torch.Tensor]:
    return getattr(tensor, "_strata_value", None)


def is_small(tensor: torch.Tensor) -> bool:
    whole = not (tensor.is_floating_point() or tensor.is_complex())
    return tensor.numel() <= (MOST_INTEGERS if whole else MOST_FLOATS)


class Unknown(Exception):
    """A number is missing."""


def _with_values(value: Any, mutated: List[Tuple[torch.Tensor, torch.Tensor]], writes: bool) -> Any:
    if isinstance(value, torch.Tensor):
        known = value_of(value) if is_fake(value) else value
        if known is None:
            raise Unknown
        if writes:  # through views, as tensors with numbers do; those of the program itself stay
            known = known if is_fake(value) else known.clone()
            mutated.append((value, known))
        return known
    if isinstance(value, (tuple, list)):
        return type(value)(_with_values(item, mutated, writes) for item in value)
    return value


def is_fake(tensor: torch.Tensor) -> bool:
    return type(tensor).__name__ == "FakeTensor"


def _outputs(result: Any) -> List[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [item for item in result if isinstance(item, torch.Tensor)]
    return []


class Values:
    """Computes what is small beside what is only shapes."""

    def __init__(self, fake: Any) -> None:
        self._fake = fake
        self.assumed: Dict[str, str] = {}  # by line: what was taken for granted there

    def carry(self, func: Any, schema: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], result: Any) -> None:
        """After an operation ran on shapes: on numbers, too, where all it reads is known."""
        outputs = _outputs(result)
        if (not outputs and not schema.written) or not all(is_small(tensor) for tensor in outputs):
            return
        name = schema.name
        mutated: List[Tuple[torch.Tensor, torch.Tensor]] = []
        try:
            # What is drawn chooses data or a road, and any choice is as good as another.
            if name in _DRAWN_IN_PLACE and args[0].numel() <= _MOST_DRAWN:
                self._draw(func, args, kwargs)
                return
            if any(word in name for word in _RANDOM) and name not in _DRAWN:
                raise Unknown
            with no_dispatch(), torch.random.fork_rng(devices=[]):
                known = [_with_values(arg, mutated, bool(schema.writes[i])) for i, arg in enumerate(args)]
                named = {key: _with_values(arg, mutated, key in schema.written) for key, arg in kwargs.items()}
                named.pop("device", None)
                named.pop("pin_memory", None)
                values = _outputs(func(*known, **named))
        except Unknown:
            self._forget(schema, args, kwargs)
            self._spread(name, args, outputs)
            return
        except Exception:
            self._forget(schema, args, kwargs)
            return
        for tensor, value in mutated:
            set_value(tensor, value)
        for tensor, value in zip(outputs, values):
            if tuple(tensor.shape) == tuple(value.shape):
                set_value(tensor, value)

    @staticmethod
    def _draw(func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Numbers of a tensor that may hold anything before."""
        with no_dispatch(), torch.random.fork_rng(devices=[]):
            drawn = torch.zeros(tuple(args[0].shape), dtype=args[0].dtype)
            func(drawn, *args[1:], **{key: value for key, value in kwargs.items() if key != "generator"})
        set_value(args[0], drawn)

    @staticmethod
    def _forget(schema: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        for i, arg in enumerate(args):
            if schema.writes[i]:
                for tensor in _outputs(arg):
                    set_value(tensor, None)
        for key in schema.written:
            for tensor in _outputs(kwargs.get(key)):
                set_value(tensor, None)

    @staticmethod
    def _spread(name: str, args: Tuple[Any, ...], outputs: List[torch.Tensor]) -> None:
        """The places of the largest of numbers that nobody has: each place as often as any other."""
        if name not in ("aten::topk", "aten::argmax", "aten::argsort", "aten::sort", "aten::max"):
            return
        source = args[0]
        axis = next((arg for arg in args[2 if name == "aten::topk" else 1:] if type(arg) is int), -1)
        extent = source.shape[axis] if source.dim() else 1
        for tensor in outputs:
            if tensor.dtype == torch.int64:
                with no_dispatch():
                    set_value(tensor, (torch.arange(tensor.numel()) % extent).reshape(tensor.shape))

    def instead(self, name: str, args: Tuple[Any, ...]) -> Optional[Callable[[], Any]]:
        """For operations whose result depends on numbers: how it is found here; nothing: they run."""
        if name == "aten::convolution_backward":
            return (lambda: self._convolution_backward(*args)) if _WITHOUT_SHAPES else None
        return {"aten::_local_scalar_dense": lambda: self._number(args[0]),
                "aten::equal": lambda: self._equal(*args[:2]),
                "aten::is_nonzero": lambda: bool(self._number(args[0])),
                "aten::nonzero": lambda: self._nonzero(args[0]),
                "aten::masked_select": lambda: args[0].new_empty(self._passing(args[1])),
                "aten::bincount": lambda: self._real(torch.bincount, args),
                "aten::unique_consecutive": lambda: self._real(torch.ops.aten.unique_consecutive.default, args),
                "aten::_unique2": lambda: self._real(torch.ops.aten._unique2.default, args),
                "aten::unique_dim": lambda: self._real(torch.ops.aten.unique_dim.default, args),
                "aten::repeat_interleave": lambda: self._real(torch.ops.aten.repeat_interleave.Tensor, args[:1]),
                "aten::lift_fresh": lambda: self.fake(args[0]),
                "aten::lift_fresh_copy": lambda: self.fake(args[0]),
                # Gradients are finite: no step is left out, and their scale stays.
                "aten::_amp_foreach_non_finite_check_and_unscale_": lambda: None,
                "aten::_amp_update_scale_": lambda: args[0],
                "torchvision::nms": lambda: self._made(torch.arange, args[1].shape[0]),
                }.get(name)

    @staticmethod
    def _convolution_backward(gradient: torch.Tensor, source: torch.Tensor, weight: torch.Tensor, bias: Any,
                              *rest: Any) -> Tuple[Optional[torch.Tensor], ...]:
        wanted = rest[-1]
        return (torch.empty_like(source) if wanted[0] else None, torch.empty_like(weight) if wanted[1] else None,
                source.new_empty(bias) if wanted[2] else None)

    def assume(self, what: str) -> None:
        self.assumed.setdefault(user_line(), what)

    def _made(self, function: Any, *args: Any) -> Any:
        with no_dispatch():
            value = function(*args)
        return self.fake(value)

    def fake(self, value: torch.Tensor) -> torch.Tensor:
        if is_fake(value):
            return value
        made = self._fake.from_tensor(value)
        if is_small(value):
            set_value(made, value)
        return made

    def _number(self, tensor: torch.Tensor) -> Any:
        value = value_of(tensor) if is_fake(tensor) else tensor
        if value is not None:
            with no_dispatch():
                return value.item()
        if tensor.dtype == torch.bool:
            self.assume("a truth value that depends on the network's numbers is taken as false")
            return False
        if tensor.is_floating_point():
            self.assume("a number that depends on the network's numbers is taken as 1")
            return 1.0
        raise Refusal(f"{user_line()} asks for the value of an integer that depends on the network's numbers, which a "
                    "recording does not compute; give it as a constant, or record on a GPU with real=True")

    def _equal(self, left: torch.Tensor, right: torch.Tensor) -> bool:
        a, b = value_of(left), value_of(right)
        if a is None or b is None:
            return left.shape == right.shape
        with no_dispatch():
            return torch.equal(a, b)

    def _passing(self, mask: torch.Tensor) -> int:
        value = value_of(mask)
        if value is None:
            self.assume("a mask that depends on the network's numbers lets everything pass")
            return mask.numel()
        with no_dispatch():
            return int(value.sum())

    def _nonzero(self, mask: torch.Tensor) -> torch.Tensor:
        value = value_of(mask)
        if value is None:
            self.assume("a mask that depends on the network's numbers lets everything pass")
            with no_dispatch():
                value = torch.ones(mask.shape, dtype=torch.bool)
        return self._made(torch.nonzero, value)

    def _real(self, function: Any, args: Tuple[Any, ...]) -> Any:
        try:
            known = [_with_values(arg, [], False) for arg in args]
        except Unknown:
            raise Refusal(f"{user_line()} makes a tensor whose size depends on the network's numbers, which a recording "
                        "does not compute; record on a GPU with real=True") from None
        with no_dispatch():
            result = function(*known)
        if isinstance(result, tuple):
            return tuple(self.fake(item) for item in result)
        return self.fake(result)

    def indices(self, values: Any) -> List[Optional[torch.Tensor]]:
        """Indices without masks: a mask as the places that it lets pass."""
        plain: List[Optional[torch.Tensor]] = []
        for value in values:
            if value is None or value.dtype not in (torch.bool, torch.uint8):
                plain.append(value)
                continue
            places = self._nonzero(value)
            plain.extend(places[:, axis] for axis in range(value.dim()))
        return plain
