# SPDX-License-Identifier: Apache-2.0
"""Names the layers of a PyTorch model for profilers: NVTX ranges around every module, forward and backward.

    import strata_torch
    strata_torch.name_layers(model)          # one line; then train as before, under `strata capture`

A module's forward kernels are launched inside a range of its name ("layer1.0.conv1"), those of its gradients inside
"layer1.0.conv1 backward". Nothing is computed differently. Only PyTorch is needed; without a profiler the ranges cost
well under a microsecond each.
"""

BACKWARD = " backward"


class NamedLayers:
    """What name_layers did; remove() undoes it."""

    def __init__(self, handles):
        self._handles = handles

    def remove(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def _tensors(value):
    """The tensors in what a module takes or gives: a tensor, or tuples, lists and dictionaries of them."""
    if hasattr(value, "grad_fn"):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def _nodes_between(outputs, inputs, most=256):
    """The gradient functions that a forward pass made, from those of its outputs back to those of its inputs."""
    # Gradients of parameters are accumulated by functions that live as long as the parameters: hooks would pile up.
    seen = set(inputs)
    found = []
    waiting = [node for node in outputs if node is not None]
    while waiting and len(found) < most:
        node = waiting.pop()
        if node in seen or type(node).__name__ == "AccumulateGrad":
            continue
        seen.add(node)
        found.append(node)
        waiting.extend(next_node for next_node, _ in node.next_functions if next_node is not None)
    return found


def _is_taken(node, name):
    """Whether a module inside has marked the function already; else it is marked now: functions of operators that are
    no modules belong to the module around them."""
    marks = getattr(node, "metadata", None)
    if marks is None:
        return False
    if "strata_layer" in marks:
        return True
    marks["strata_layer"] = name
    return False


class _Layer:
    """The hooks of one module. Calls may nest (a module that calls itself), so inputs are a stack."""

    def __init__(self, name, nvtx):
        self.name = name
        self.nvtx = nvtx
        self.inputs = []

    def before(self, _module, args, kwargs=None):
        # Before, for a module may change its input in place, which then belongs to the module's own function.
        self.inputs.append([tensor.grad_fn for tensor in _tensors([args, kwargs or {}])])
        self.nvtx.range_push(self.name)

    def after(self, _module, _args, *rest):
        self.nvtx.range_pop()
        inputs = [node for node in self.inputs.pop() if node is not None] if self.inputs else []
        outputs = [tensor.grad_fn for tensor in _tensors(rest[-1])]
        for node in _nodes_between(outputs, inputs):
            if _is_taken(node, self.name):
                continue
            node.register_prehook(self._push_backward)
            node.register_hook(self._pop_backward)

    def _push_backward(self, *_):
        self.nvtx.range_push(self.name + BACKWARD)

    def _pop_backward(self, *_):
        self.nvtx.range_pop()


def name_layers(model, prefix="", leaves_only=True, nvtx=None):
    """Marks the modules of `model`; by default those without modules of their own, else all: then operators that are
    written as functions are in the range of the module around them. Returns a NamedLayers."""
    if nvtx is None:
        import torch

        nvtx = torch.cuda.nvtx
    handles = []
    for name, module in model.named_modules():
        is_leaf = next(iter(module.children()), None) is None
        if (leaves_only and not is_leaf) or not (prefix + name):
            continue
        layer = _Layer(prefix + name, nvtx)
        handles.append(module.register_forward_pre_hook(layer.before, with_kwargs=True))
        handles.append(module.register_forward_hook(layer.after, with_kwargs=True, always_call=True))
    return NamedLayers(handles)
