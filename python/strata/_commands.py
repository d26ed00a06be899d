# SPDX-License-Identifier: Apache-2.0
"""Commands of the program, called from Python: options become flags, failures exceptions, warnings warnings."""
from __future__ import annotations

import functools
import os
import sys
import warnings
from typing import Any, Iterable, List, Mapping, NamedTuple, Sequence

from . import _strata

HERE = os.path.dirname(__file__)


class Error(Exception):
    """What the program would print behind "error:". `kind` says whose turn it is: usage, input, unsupported,
    environment or internal."""

    def __init__(self, message: str, kind: str = "usage"):
        super().__init__(message)
        self.kind = kind


class StrataWarning(UserWarning):
    """What the program would print behind "warning:"."""


class Done(NamedTuple):
    """What a command left behind besides its files."""

    code: int
    text: str
    messages: List[str]


@functools.lru_cache(maxsize=None)
def _repeating(command: str) -> frozenset[str]:
    return frozenset(name for name, _, _, repeats in _strata.flags(command) if repeats)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _values(value: Any, repeats: bool) -> Iterable[str]:
    """The texts that a flag is given with, one after the other."""
    if isinstance(value, Mapping):  # {"image": (1, 3, 224, 224)} is image=1x3x224x224
        for name, item in value.items():
            is_shape = isinstance(item, (list, tuple))
            yield f"{name}={'x'.join(map(_text, item)) if is_shape else _text(item)}"
    elif isinstance(value, (list, tuple, range)):
        texts = [_text(item) for item in value]
        yield from texts if repeats else [",".join(texts)]
    else:
        yield _text(value)


def flags_of(command: str, options: Mapping[str, Any]) -> List[str]:
    """Keywords as flags: batch=8 is --batch=8, no_fuse=True is --no-fuse. None and False are left out. A list is the
    flag given several times, or its values with commas where it may be given once."""
    words = []
    for name, value in options.items():
        flag = name.rstrip("_").replace("_", "-")
        if flag == "json":
            raise Error("json is what Python gets anyway; save(path) of the result writes it")
        if value is None or value is False:
            continue
        if value is True:
            words.append(f"--{flag}")
            continue
        words.extend(f"--{flag}={text}" for text in _values(value, flag in _repeating(command)))
    return words


def warn(message: str) -> None:
    """A warning at the line of the caller, outside of this package."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == HERE:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, StrataWarning, stacklevel=depth)


def run(command: str, words: Sequence[str], options: Mapping[str, Any] = {}, outputs: Sequence[str] = ()) -> Done:
    """Runs `strata COMMAND WORDS --options`. `outputs` are further words that no document mentions."""
    every_word = [command, *words, *flags_of(command, options)]
    code, text, messages, kind, failure = _strata.run(list(map(os.fsencode, every_word)),
                                                      list(map(os.fsencode, outputs)))
    if kind:
        raise Error(failure, kind)
    lines = [line for line in messages.splitlines() if line]
    for line in lines:
        if line.startswith("warning: "):
            warn(line[len("warning: "):])
    return Done(code, text, lines)
