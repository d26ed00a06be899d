# SPDX-License-Identifier: Apache-2.0
"""What PyTorch does on NVIDIA's GPUs where it does otherwise on the CPU: dropout is one operation, attention is a kernel of
a library, a recurrent layer one call of cuDNN, optimizers work on lists of tensors."""
from __future__ import annotations

import contextlib
import sys
from typing import Any, Callable, List, Optional, Tuple

import torch

from ._patches import quiet
from ._recorder import Recorder, paused

_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
_KEPT = {"lstm": 5, "gru": 6, "rnn_tanh": 1, "rnn_relu": 1}  # numbers per unit and step, as cuDNN 9 takes them


def attention_of(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Optional[torch.Tensor]) -> str:
    """Which of its kernels PyTorch takes on a Hopper GPU; math: products and a softmax, one by one."""
    if query.dim() != 4:  # which the fused ones ask for
        return "math"
    width = query.shape[-1]
    rows_are_whole = all(one is None or one.shape[-1] <= 1 or one.stride(-1) == 1 for one in (query, key, value, mask))
    if not rows_are_whole or (mask is not None and mask.requires_grad):
        return "math"
    if query.dtype in (torch.float16, torch.bfloat16):
        if width % 8 == 0 and width <= 128 and value.shape[-1] == width:
            return "cudnn"
        if width <= 256 and mask is None:
            return "flash"
    return "efficient"


def _results(query: torch.Tensor, width: int, kind: str) -> torch.Tensor:
    """cuDNN writes in the order of the queries; the others what heads are joined to: [samples, rows, heads, width]."""
    if kind == "cudnn" and query.shape[-1] == width:
        return torch.empty_like(query)
    batch, heads, rows = query.shape[:3]
    return query.new_empty((batch, rows, heads, width)).transpose(1, 2)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, recorder: Recorder, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                mask: Optional[torch.Tensor], dropout: float, is_causal: bool, kind: str) -> torch.Tensor:
        with paused(recorder):
            out = _results(query, value.shape[-1], kind)
            sums = query.new_empty(query.shape[:3], dtype=torch.float32)
        ctx.recorder, ctx.kind, ctx.is_causal = recorder, kind, is_causal
        ctx.has_mask = mask is not None
        ctx.save_for_backward(query, key, value, out, sums, *([mask] if mask is not None else []))
        recorder.note(f"aten::_scaled_dot_product_{kind}_attention", [query, key, value, mask], [out, sums],
                      {"is_causal": is_causal, "dropout_p": dropout})
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        query, key, value, out, sums, *mask = ctx.saved_tensors
        with paused(ctx.recorder):
            results = [_results(one, one.shape[-1], ctx.kind) for one in (query, key, value)]
        ctx.recorder.note(f"aten::_scaled_dot_product_{ctx.kind}_attention_backward",
                          [gradients[0], query, key, value, out, sums, mask[0] if mask else None], results,
                          {"is_causal": ctx.is_causal})
        return (None, *results, None, None, None, None)


class _Recurrent(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, recorder: Recorder, kind: str, layers: int, directions: int, batch_first: bool, train: bool,
                dropout: float, source: torch.Tensor, hidden: torch.Tensor, cell: Optional[torch.Tensor],
                *weights: torch.Tensor) -> Any:
        # Weights are [gates · width, inputs], [gates · width, hidden] per layer and direction; with a projection a third.
        width = weights[1].shape[0] // _GATES[kind]
        result_width = hidden.shape[-1]
        steps = source.shape[1 if batch_first else 0]
        samples = source.shape[0 if batch_first else 1]
        with paused(recorder):
            out = source.new_empty((steps, samples, result_width * directions))
            out = out.transpose(0, 1) if batch_first else out
            last = torch.empty_like(hidden)
            last_cell = torch.empty_like(cell) if cell is not None else None
            # What cuDNN keeps for backward: gates and cells of every layer, and what passes between layers.
            kept = steps * samples * width * directions * (layers * _KEPT[kind] + layers - 1) if train else 0
            reserve = source.new_empty((kept,))
        arguments = {"mode": kind, "hidden_size": width, "num_layers": layers, "directions": directions,
                     "batch_first": batch_first, "samples": samples, "time_steps": steps, "input_size": source.shape[-1]}
        ctx.recorder, ctx.arguments, ctx.has_cell, ctx.count = recorder, arguments, cell is not None, len(weights)
        ctx.save_for_backward(source, hidden, out, reserve, *([cell] if cell is not None else []), *weights)
        outputs = [out, last, reserve] + ([last_cell] if last_cell is not None else [])
        recorder.note("aten::_cudnn_rnn", [source, list(weights), hidden, cell], outputs, arguments)
        return (out, last, last_cell) if last_cell is not None else (out, last)

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[torch.Tensor]) -> Any:
        source, hidden, out, reserve, *rest = ctx.saved_tensors
        weights = rest[1:] if ctx.has_cell else rest
        with paused(ctx.recorder):
            d_source, d_hidden = torch.empty_like(source), torch.empty_like(hidden)
            d_cell = torch.empty_like(rest[0]) if ctx.has_cell else None
            d_weights = [torch.empty_like(weight) for weight in weights]
        ctx.recorder.note("aten::_cudnn_rnn_backward",
                          [source, list(weights), hidden, out, [g for g in gradients if g is not None], reserve],
                          [d_source, d_hidden, *([d_cell] if d_cell is not None else []), *d_weights], ctx.arguments)
        return (None,) * 7 + (d_source, d_hidden, d_cell, *d_weights)


class _GroupedProduct(torch.autograd.Function):
    """Products of experts, each with its own rows: fake tensors know them in bf16 alone."""

    @staticmethod
    def forward(ctx: Any, recorder: Recorder, left: torch.Tensor, right: torch.Tensor, ends: Optional[torch.Tensor],
                wanted: Optional[torch.dtype]) -> torch.Tensor:
        with paused(recorder):
            groups = ends.shape[0] if ends is not None and left.dim() == 2 and right.dim() == 2 else None
            shape = (*left.shape[:-1], right.shape[-1])
            if groups is not None:
                shape = (groups, *shape)
            elif left.dim() == 3 and right.dim() == 2:
                shape = (left.shape[1], right.shape[1])
            out = left.new_empty(shape, dtype=wanted or left.dtype)
        ctx.recorder = recorder
        ctx.save_for_backward(left, right, *([ends] if ends is not None else []))
        recorder.note("aten::_grouped_mm", [left, right, ends], [out], {})
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        left, right, *ends = ctx.saved_tensors
        with paused(ctx.recorder):
            results = [torch.empty_like(left), torch.empty_like(right)]
            turned = right.transpose(-2, -1), left.transpose(-2, -1)
        ctx.recorder.note("aten::_grouped_mm", [gradient, turned[0], *ends], results[:1], {})
        ctx.recorder.note("aten::_grouped_mm", [turned[1], gradient, *ends], results[1:], {})
        return (None, *results, None, None)


class AsOnAGpu:
    """While it is entered, tensors of the CPU are computed with as a GPU's would be."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._library: Any = None
        self._before: List[Tuple[Any, str, Any]] = []

    def __enter__(self) -> "AsOnAGpu":
        self._library = torch.library.Library("aten", "IMPL")
        with quiet():
            self._register("dropout", self._dropout)
            self._register("scaled_dot_product_attention", self._attention)
            self._register("_grouped_mm", self._grouped_product)
            for kind in _GATES:
                self._register(f"{kind}.input", self._recurrent_of(kind))
        self._prefer_lists()
        self._run_as_with_numbers()
        return self

    def __exit__(self, *_: Any) -> None:
        self._library = None
        for module, name, before in self._before:
            setattr(module, name, before)
        self._before.clear()

    def _register(self, name: str, call: Callable[..., Any]) -> None:
        if not hasattr(torch.ops.aten, name.partition(".")[0]):
            return
        for key in ("AutogradCPU", "CPU"):
            with contextlib.suppress(RuntimeError):  # this version of PyTorch has no such operation
                self._library.impl(name, call, key)

    def _prefer_lists(self) -> None:
        for module in list(vars(torch.optim).values()):
            before = getattr(module, "_default_to_fused_or_foreach", None)
            if before is not None:
                self._replace(module, "_default_to_fused_or_foreach", lambda *args, **kwargs: (False, True))

    def _run_as_with_numbers(self) -> None:
        """Libraries that take another road for tensors without numbers, as for an export."""
        for name, module in list(sys.modules.items()):
            if name.startswith("transformers.") and callable(vars(module).get("is_tracing")):
                self._replace(module, "is_tracing", lambda *args, **kwargs: False)

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    @staticmethod
    def _dropout(source: torch.Tensor, probability: float, train: bool) -> torch.Tensor:
        if not train or probability == 0 or source.numel() == 0:
            return source
        return torch.ops.aten.native_dropout(source, probability, train)[0]

    def _attention(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                   attn_mask: Optional[torch.Tensor] = None, dropout_p: float = 0.0, is_causal: bool = False,
                   scale: Optional[float] = None, enable_gqa: bool = False) -> torch.Tensor:
        kind = attention_of(query, key, value, attn_mask)
        if kind == "math":
            more = {"enable_gqa": True} if enable_gqa else {}
            out = torch.ops.aten._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, None,
                                                                    scale=scale, **more)[0]
        else:
            out = _Attention.apply(self._recorder, query, key, value, attn_mask, dropout_p, is_causal, kind)
        return out

    def _grouped_product(self, left: torch.Tensor, right: torch.Tensor, offs: Optional[torch.Tensor] = None,
                         bias: Optional[torch.Tensor] = None, out_dtype: Optional[torch.dtype] = None) -> torch.Tensor:
        out = _GroupedProduct.apply(self._recorder, left, right, offs, out_dtype)
        return out if bias is None else out + bias

    def _recurrent_of(self, kind: str) -> Callable[..., Any]:
        def call(source: torch.Tensor, hx: Any, params: List[torch.Tensor], has_biases: bool, num_layers: int,
                 dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Any:
            hidden, cell = (hx[0], hx[1]) if kind == "lstm" else (hx, None)
            return _Recurrent.apply(self._recorder, kind, num_layers, 2 if bidirectional else 1, batch_first, train, dropout,
                                    source, hidden, cell, *params)
        return call
