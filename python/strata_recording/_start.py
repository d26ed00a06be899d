# SPDX-License-Identifier: Apache-2.0
"""What Python runs first in a program that `strata record` starts: under the name sitecustomize. PyTorch is watched from the
moment on at which the program imports it, and not before: programs set variables that it reads."""
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


class _Watched(importlib.abc.Loader):
    """Loads PyTorch as its own loader does, and begins to watch it."""

    def __init__(self, loader, number):
        self._loader, self._number = loader, number

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        from strata_recording._script import watch
        watch(os.path.dirname(FOLDER), self._number)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, number):
        self._number = number

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            with open(os.path.join(os.path.dirname(FOLDER), "no-torch"), "w") as file:
                file.write(sys.executable)
            return None
        spec.loader = _Watched(spec.loader, self._number)
        return spec


def _run_other():
    """The sitecustomize that this one hides: a distribution's, or the user's."""
    places = [place for place in sys.path if os.path.abspath(place or ".") != FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "STRATA_RECORD" in os.environ:
    sys.meta_path.insert(0, _Finder(int(os.environ["STRATA_RECORD"])))
_run_other()
