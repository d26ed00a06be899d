# SPDX-License-Identifier: Apache-2.0
"""Records a script that nobody has changed: `strata record -- python train.py`. It builds its networks as ever, with numbers.
From the first call of a network on nothing is computed; what runs between two steps of the optimizer is written to a file,
and the program ends."""
from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
from typing import Any, Dict, List, NoReturn, Optional, Tuple

import torch

from ._optimizers import subclasses
from ._patches import Patches
from ._refusal import Refusal, refusal_of
from ._step import StepRecording, has_parameters

# What strata record and the program tell each other: files, and environment variables.
VARIABLE = "STRATA_RECORD"
OLDEST = (1, 13)


def tell(folder: str, kind: str, message: str) -> None:
    """Why there is no recording, for strata record, which says it. The first reason counts."""
    with contextlib.suppress(OSError):
        handle = os.open(os.path.join(folder, "reason"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{kind}\n{message}")


def _is_inside_of_init() -> bool:
    """Whether a network is being built, and calls its parts to learn their shapes."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "__init__" and isinstance(frame.f_locals.get("self"), torch.nn.Module):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


class Script:
    """The recording of the program that runs."""

    def __init__(self, folder: str, number: int) -> None:
        self.folder, self.number = folder, number  # of the optimizer's step that is recorded
        self._step = StepRecording()
        self._stack = contextlib.ExitStack()
        self._patches = Patches()
        self._has_begun = False
        self._steps: Dict[int, int] = {}  # of each optimizer
        self._seen_before: List[int] = []  # optimizers that had made a step when the one that is recorded began
        self._first: Optional[int] = None

    def watch(self) -> None:
        self._stack.enter_context(self._step.around_program())
        call = torch.nn.Module.__call__

        def called(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if not self._has_begun and has_parameters(module) and not _is_inside_of_init():
                self._begin()
                return module(*args, **kwargs)
            return call(module, *args, **kwargs)
        self._patches.set(torch.nn.Module, "__call__", called)
        for one in subclasses(torch.optim.Optimizer):
            if "step" in vars(one):  # for good: PyTorch puts hooks around it when it makes the first one
                one.step = self._begins_with(vars(one)["step"])

    def _begins_with(self, step: Any) -> Any:
        """The first step of an optimizer whose parameters are in no module."""
        def run(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            result = step(optimizer, *args, **kwargs)
            if not self._has_begun:
                self._begin()
                self._after_step(optimizer)
            return result
        return run

    def _begin(self) -> None:
        self._has_begun = True
        self._patches.put_back()
        optimizers = self._step.recording.optimizers
        optimizers.after_step = self._after_step
        self._stack.enter_context(self._step.in_force(is_around=True))

    def _after_step(self, optimizer: Any) -> None:
        key = id(optimizer)
        self._steps[key] = self._steps.get(key, 0) + 1
        if self._first is None:
            self._first = key
        if key != self._first or self._steps[key] < self.number - 1:
            return
        # What an optimizer makes in its first step it makes once: another round where one has just begun.
        is_warm = sorted(self._seen_before) == sorted(self._steps)
        if self._steps[key] >= self.number and is_warm:
            self._finish()
        self._seen_before = list(self._steps)
        self._step.begin_step()

    def _finish(self) -> NoReturn:
        rank = int(os.environ.get("RANK", "0") or 0)
        if rank == 0:
            script = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
            document = self._step.document(f"PyTorch script {script}")
            partial = os.path.join(self.folder, f"operations-{os.getpid()}")
            with open(partial, "w", encoding="utf-8") as file:
                json.dump(document, file, separators=(",", ":"))
            self._tell_what_was_recorded(document)
            os.replace(partial, os.path.join(self.folder, "operations.json"))
        leave(0)

    def _tell_what_was_recorded(self, document: Dict[str, Any]) -> None:
        count = len(document["operations"])
        samples = "1 sample" if document["samples"] == 1 else f"{document['samples']:,} samples"
        lines = [f"{count:,} operations of step {max(self._steps.values())} of the optimizer, {samples}, in "
                 f"{len(document['layers'])} layers of {document['name']}"]
        lines += [f"assumed: {line}: {what}" for line, what in document["assumed"].items()]
        with open(os.path.join(self.folder, "said"), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    def why_nothing(self) -> str:
        steps = max(self._steps.values(), default=0)
        if not self._has_begun:
            return "the program trained nothing with PyTorch; the training has to run in the program itself, or in its children"
        return (f"the program ended after {steps} of {self.number} steps of its optimizer; let it train on, or name an "
                "earlier step with --step")

    def failed(self, error: BaseException) -> Tuple[str, str]:
        """What to say of an exception that ended the program."""
        if isinstance(error, Refusal) or self._has_begun:
            return "unsupported", str(refusal_of(error, "the script"))
        return "input", f"the program failed before it trained anything: {type(error).__name__}: {error}"


def leave(code: int) -> NoReturn:
    """At once: what the program would do at its end it would do without numbers."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def watch(folder: str, number: int) -> None:
    """Called when the program has imported PyTorch."""
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < OLDEST:
        tell(folder, "environment", f"PyTorch {torch.__version__} is too old; a recording takes 1.13 or newer")
        leave(3)
    script = Script(folder, number)
    process = os.getpid()

    def ended() -> None:
        if os.getpid() == process and multiprocessing.parent_process() is None:
            tell(folder, "input", script.why_nothing())

    before = sys.excepthook

    def failed(kind: Any, error: BaseException, trace: Any) -> None:
        if os.getpid() == process and not isinstance(error, KeyboardInterrupt):
            tell(folder, *script.failed(error))
        if not isinstance(error, Refusal):
            before(kind, error, trace)

    import atexit
    atexit.register(ended)
    sys.excepthook = failed
    script.watch()
