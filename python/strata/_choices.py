# SPDX-License-Identifier: Apache-2.0
"""What predict returns of several machines and of many devices."""
from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ._results import RESULTS, Record, Result, Row, time_text


class MachineChoice(Result):
    """What predict returns of several machines: a row for each, the fastest first."""

    _rows_in = "machines"
    _columns = ("machine", "expected_time_s", "samples_per_s", "limit_s", "memory_bytes", "fits",
                "cost_per_million_samples", "currency", "refusal")

    @property
    def best(self) -> Optional[Record]:
        """The fastest machine that has the memory."""
        return next((Record(one) for one in self._document["machines"]
                     if one["machine"] == self._document.get("fastest")), None)

    @property
    def time_s(self) -> Optional[float]:
        """The expected time of an iteration on the fastest machine that has the memory; its limit where there is no
        expected time."""
        best = self.best
        return None if best is None else best["expected"]["time_s"] if "expected" in best else best["limit_s"]

    @property
    def interval_s(self) -> Optional[Tuple[float, float]]:
        best = self.best
        return tuple(best["expected"]["interval_s"]) if best is not None and "expected" in best else None

    @property
    def limit_s(self) -> Optional[float]:
        return None if self.best is None else self.best["limit_s"]

    @property
    def samples_per_s(self) -> Optional[float]:
        return None if self.best is None else self.best.get("samples_per_s")

    @property
    def fits(self) -> bool:
        """Whether any of the machines has the memory."""
        return any(one.get("fits", False) for one in self._document["machines"])

    def _name(self) -> str:
        model = self._document.get("model", {})
        count = len(self._document["machines"])
        return f"{model.get('title') or model.get('name') or 'a network'} on {count} machines"

    def _caption(self) -> str:
        if self.time_s is None:
            return f"{self._name()}: none has the memory"
        return f"{self._name()}, the fastest is {self._document['fastest']}: {time_text(self.time_s)}"


class ParallelPrediction(Result):
    """What predict returns of training on many devices, split in one way: a row for each stage."""

    _rows_in = "stages"
    _columns = ("stage", "layers", "time_compute_s", "time_bubble_s", "memory_total_bytes")

    @property
    def time_s(self) -> Optional[float]:
        """The expected time of an iteration; None where nothing fits."""
        expected = self._document.get("expected")
        return expected["time_s"] if expected else None

    @property
    def interval_s(self) -> Optional[Tuple[float, float]]:
        expected = self._document.get("expected")
        return tuple(expected["interval_s"]) if expected else None

    @property
    def fits(self) -> bool:
        """Whether every rank fits the memory of its device."""
        return self._document.get("fits", False)

    @property
    def memory_bytes(self) -> Optional[int]:
        """Of the rank that needs most."""
        memory = self._document.get("memory")
        return memory["total_bytes"] if memory else None

    def _name(self) -> str:
        cluster = self._document["cluster"]["name"]
        return f"{self._document['title'] or self._document['network']} on {cluster}"

    def _caption(self) -> str:
        if self.time_s is None:
            return f"{self._name()}: no strategy fits"
        return f"{self._name()}, {self._document['strategy']['text']}, expected {time_text(self.time_s)}"


class ParallelChoice(ParallelPrediction):
    """What predict returns of training on many devices with every way to split it: a row for each, the fastest first;
    the fastest in full, where one fits."""

    _rows_in = "strategies"
    _columns = ("strategy", "time_s", "memory_bytes", "fits", "why_it_loses")


def _part_column(name: str) -> str:
    """The document names parts of the time for people: "time_tensor parallel collectives" becomes
    "time_tensor_parallel_collectives_s", a column as all others are."""
    if not name.startswith("time_") or name.endswith("_s"):
        return name
    return re.sub(r"\W+", "_", name) + "_s"


class ParallelScaling(Result):
    """What predict returns of several numbers of devices: a row for each."""

    _rows_in = "rows"
    _columns = ("devices", "strategy", "expected_time_s", "samples_per_s", "scaling_efficiency", "memory_bytes",
                "reason")

    def table(self, name: str) -> List[Row]:
        return [{_part_column(column): value for column, value in row.items()} for row in super().table(name)]

    @property
    def best(self) -> Optional[Record]:
        """The number of devices with the most samples per second."""
        answered = [row for row in self._document["rows"] if row.get("expected")]
        return Record(max(answered, key=lambda row: row["samples_per_s"])) if answered else None

    @property
    def time_s(self) -> Optional[float]:
        """The expected time of an iteration on the number of devices with the most samples per second."""
        return None if self.best is None else self.best["expected"]["time_s"]

    @property
    def interval_s(self) -> Optional[Tuple[float, float]]:
        return None if self.best is None else tuple(self.best["expected"]["interval_s"])

    @property
    def samples_per_s(self) -> Optional[float]:
        return None if self.best is None else self.best["samples_per_s"]

    @property
    def fits(self) -> bool:
        """Whether it fits any of these numbers of devices."""
        return self.best is not None

    def _name(self) -> str:
        return f"{self._document['title'] or self._document['network']} on more and more devices"

    def _caption(self) -> str:
        best = self.best
        if best is None:
            return f"{self._name()}: none has an answer"
        return f"{self._name()}, the fastest are {best['devices']}: {time_text(best['expected']['time_s'])}"


RESULTS.update(machine_choice=MachineChoice, parallel_prediction=ParallelPrediction, parallel_choice=ParallelChoice,
               parallel_scaling=ParallelScaling)
