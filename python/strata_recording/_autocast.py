# SPDX-License-Identifier: Apache-2.0
"""Autocast as it is on NVIDIA's GPUs, for tensors on the CPU: which operations compute in 16 bits, which in fp32, and which
in the widest type of what they read. The lists are those of PyTorch's documentation, "CUDA Ops that can autocast"."""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch

from ._patches import quiet

LOWER = """
_convolution conv1d conv2d conv3d conv1d.padding conv2d.padding conv3d.padding conv_tbc conv_transpose1d
conv_transpose2d.input conv_transpose3d.input convolution prelu addmm addmv addr matmul einsum mm mv linear addbmm baddbmm
bmm chain_matmul linalg_multi_dot linalg_vecdot lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
scaled_dot_product_attention lstm.input gru.input rnn_tanh.input rnn_relu.input
""".split()
FP32 = """
acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar
softplus layer_norm group_norm frobenius_norm.dim nuclear_norm nuclear_norm.dim cosine_similarity poisson_nll_loss
cosine_embedding_loss nll_loss nll_loss_nd nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp upsample_nearest1d upsample_nearest2d upsample_nearest3d
upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d
""".split()
IN_FP32 = """
prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm sum sum.dim_IntList
""".split()
WIDEST = """
addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put tensordot scatter_add vdot cat stack
""".split()
# What the CPU's lists have and the GPU's have not.
AS_THEY_ARE = ["avg_pool3d", "binary_cross_entropy", "polar", "quantile", "nanquantile", "stft", "trace", "adaptive_avg_pool3d"]

_LOW = (torch.float16, torch.bfloat16)


def _map(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_map(item, function) for item in value)
    return value


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)


def _overload(name: str) -> Optional[Any]:
    base, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    return getattr(packet, overload or "default", None) if packet is not None else None


class Autocast:
    """While it is entered, torch.autocast of a GPU works on tensors of the CPU. `lower` is the type of the region."""

    def __init__(self) -> None:
        self.lower = torch.bfloat16
        self.seen: Optional[torch.dtype] = None  # the type of some region that was entered
        self._casts: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}
        self._library: Any = None
        self._before: List[Tuple[Any, str, Any]] = []

    def __enter__(self) -> "Autocast":
        self._library = torch.library.Library("aten", "IMPL")
        with quiet():
            for names, cast in ((LOWER, self._to_lower), (FP32, self._to_fp32), (WIDEST, self._to_widest),
                                (AS_THEY_ARE, None)):
                for name in names:
                    self._register(name, functools.partial(self._call, cast))
            for name in IN_FP32:
                self._register(name, self._call_in_fp32)
        self._replace(torch, "clear_autocast_cache", self._clear)
        # Who asks about the GPU means the region that is entered.
        self._replace(torch, "is_autocast_enabled", lambda *_: torch.is_autocast_cpu_enabled())
        self._replace(torch, "get_autocast_gpu_dtype", lambda: self.lower)
        for owner in {torch.autocast, torch.cuda.amp.autocast, getattr(torch.amp, "autocast", torch.autocast)}:
            if owner is torch.autocast or "__init__" in vars(owner):
                self._replace(owner, "__init__", self._entering(owner.__init__))
        return self

    def __exit__(self, *_: Any) -> None:
        for owner, name, value in reversed(self._before):
            setattr(owner, name, value)
        self._before.clear()
        self._library = None  # which takes the kernels back
        self._clear()

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def _register(self, name: str, call: Any) -> None:
        op = _overload(name)
        if op is None:
            return
        try:
            self._library.impl(name, functools.partial(call, op), "AutocastCPU")
        except RuntimeError:  # this version of PyTorch has no such operation
            pass

    def _entering(self, before: Any) -> Any:
        def enter(region: Any, *args: Any, **kwargs: Any) -> None:
            kind = args[0] if args and isinstance(args[0], str) else kwargs.get("device_type", "cuda")
            rest = args[1:] if args and isinstance(args[0], str) else args
            dtype = rest[0] if rest and isinstance(rest[0], torch.dtype) else kwargs.get("dtype")
            enabled = next((value for value in rest if isinstance(value, bool)), kwargs.get("enabled", True))
            wanted = dtype or (torch.bfloat16 if kind == "cpu" else torch.float16)
            # The region on the CPU knows bf16 in every version; what is cast to is `lower`.
            torch.autocast.__init__.__wrapped__(region, "cpu", dtype=torch.bfloat16, enabled=enabled)
            if enabled:
                self.lower = self.seen = wanted
        enter.__wrapped__ = getattr(before, "__wrapped__", before)  # type: ignore[attr-defined]
        return enter

    def _clear(self) -> None:
        self._casts.clear()

    def _cast(self, tensor: torch.Tensor, to: torch.dtype) -> torch.Tensor:
        if not tensor.is_floating_point() or tensor.dtype in (to, torch.float64):
            return tensor
        # Weights are cast once per region.
        if to in _LOW and tensor.is_leaf and tensor.requires_grad and tensor.dtype == torch.float32:
            known = self._casts.get(id(tensor))
            if known is None:
                known = self._casts[id(tensor)] = (tensor, tensor.to(to))
            return known[1]
        return tensor.to(to)

    def _to_lower(self, tensors: List[torch.Tensor]) -> torch.dtype:
        return self.lower

    @staticmethod
    def _to_fp32(tensors: List[torch.Tensor]) -> torch.dtype:
        return torch.float32

    @staticmethod
    def _to_widest(tensors: List[torch.Tensor]) -> torch.dtype:
        kinds = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
        return torch.float32 if torch.float32 in kinds or not kinds else next(iter(kinds))

    def _without(self, op: Any, args: Any, kwargs: Any) -> Any:
        torch.set_autocast_cpu_enabled(False)
        try:
            return op(*args, **kwargs)
        finally:
            torch.set_autocast_cpu_enabled(True)

    def _call(self, cast: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        if cast is not None:
            to = cast(list(_tensors(args)))
            args = tuple(_map(arg, lambda tensor: self._cast(tensor, to)) for arg in args)
            kwargs = {key: _map(arg, lambda tensor: self._cast(tensor, to)) for key, arg in kwargs.items()}
        return self._without(op, args, kwargs)

    def _call_in_fp32(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        takes_type = any(a.name == "dtype" for a in op._schema.arguments)
        if takes_type and args[0].dtype in _LOW and kwargs.get("dtype") is None:
            given = len(args)
            names = [a.name for a in op._schema.arguments]
            if names.index("dtype") < given:
                at = names.index("dtype")
                args = (*args[:at], args[at] or torch.float32, *args[at + 1:])
            else:
                kwargs["dtype"] = torch.float32
        return self._without(op, args, kwargs)
