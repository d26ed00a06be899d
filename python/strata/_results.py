# SPDX-License-Identifier: Apache-2.0
"""What the functions return: the documented JSON with attributes, rows, tables and pages."""
from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Type, Union

from . import _commands

Path = Union[str, "os.PathLike[str]"]
Row = Dict[str, Any]

ROWS_SHOWN = 12
COLUMNS_SHOWN = 8


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


def _flat(row: Mapping, prefix: str = "") -> Row:
    """{"expected": {"busy_s": 1}} becomes {"expected_busy_s": 1}: columns of a table."""
    flat: Row = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}_"))
        else:
            flat[prefix + name] = value
    return flat


def data_frame(rows: Sequence[Row]) -> Any:
    try:
        import pandas
    except ImportError as missing:
        raise _commands.Error("to_pandas() needs pandas, which is not installed; .rows is the same as a list of dicts",
                              "environment") from missing
    return pandas.DataFrame(list(rows))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return "×".join(map(str, value))
    return "" if value is None else str(value)


def html_table(rows: Sequence[Row], caption: str, columns: Optional[Sequence[str]] = None) -> str:
    """A small table without scripts. Everything that came from a file is escaped."""
    if columns is None:
        first = rows[0] if rows else {}
        columns = [name for name, value in first.items() if not isinstance(value, (list, dict))][:COLUMNS_SHOWN]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = ""
    for row in rows[:ROWS_SHOWN]:
        body += "<tr>" + "".join(f"<td>{html.escape(_cell(row.get(name)))}</td>" for name in columns) + "</tr>"
    more = f"<p>… and {len(rows) - ROWS_SHOWN} more rows</p>" if len(rows) > ROWS_SHOWN else ""
    return (f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
            f"</table>{more}")


class Record(Mapping):
    """A JSON object: record["time_s"] as in the document, record.time_s likewise."""

    def __init__(self, document: Dict[str, Any]):
        self._document = document

    def __getitem__(self, name: str) -> Any:
        return self._document[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return _wrapped(self._document[name])
        except KeyError:
            raise AttributeError(f"no '{name}'; there are: {', '.join(self._document)}") from None

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._document})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._document!r})"

    def to_dict(self) -> Dict[str, Any]:
        """The document, as plain dicts and lists."""
        return self._document


class Table(List[Record]):
    """A list of records that shows itself as a table."""

    caption = ""

    @property
    def rows(self) -> List[Row]:
        return [_flat(record) for record in self]

    @property
    def names(self) -> List[str]:
        return [record["name"] for record in self]

    def to_pandas(self) -> Any:
        return data_frame(self.rows)

    def _repr_html_(self) -> str:
        return html_table(self.rows, self.caption)


class Result(Record):
    """What a command found out. print(result) shows what the program would print."""

    _rows_in: Optional[str] = None  # the first table of the document
    _columns: Optional[Tuple[str, ...]] = None

    def __init__(self, document: Dict[str, Any], text: str = "", messages: Sequence[str] = (), code: int = 0):
        super().__init__(document)
        self.text = text  #: the program's table
        self.messages = list(messages)  #: what the program says on standard error
        self.exit_code = code  #: of the program: 1 where the answer is no
        self._sources: Sequence[Any] = ()  # models whose files it names, so that it can be made again

    @property
    def rows(self) -> List[Row]:
        """The main table: a list of dicts, one per layer and pass, machine, strategy, finding or point. Empty where
        the document has no table."""
        names = [self._rows_in] if self._rows_in else self.tables
        return self.table(names[0]) if names and names[0] in self._document else []

    def table(self, name: str) -> List[Row]:
        """Any list of the document: by_type, by_pass, what_ifs, kernels."""
        rows = self._document.get(name)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise _commands.Error(f"no table '{name}'; there are: {', '.join(self.tables)}")
        return [_flat(row) for row in rows]

    @property
    def tables(self) -> List[str]:
        return [name for name, value in self._document.items()
                if isinstance(value, list) and value and isinstance(value[0], dict)]

    def to_pandas(self, table: Optional[str] = None) -> Any:
        """The main table, or the one named, as a pandas.DataFrame."""
        return data_frame(self.rows if table is None else self.table(table))

    def __str__(self) -> str:
        return self.text or self.__repr__()

    def __repr__(self) -> str:
        return f"<strata.{type(self).__name__}: {self._caption()}>"

    def _name(self) -> str:
        names = [self._document.get(part, {}).get("name", "") for part in ("model", "machine")]
        return " on ".join(name for name in names if name) or type(self).__name__.lower()

    def _caption(self) -> str:
        return self._name()

    def _repr_html_(self) -> str:
        rows = self.rows
        if not rows:  # what the document says besides
            rows = [{"name": name, "value": value} for name, value in _flat(self._document).items()
                    if not isinstance(value, list)]
        columns = self._columns and [name for name in self._columns if any(name in row for row in rows)]
        return html_table(rows, self._caption(), columns or None)

    def to_json(self) -> str:
        return json.dumps(self._document, ensure_ascii=False)

    def save(self, path: Path) -> None:
        """Writes what --json writes; strata.open reads it, and every command takes it."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    _suffix = ".json"

    def file_in(self, folder: str) -> str:
        """A file of it in that folder, for a command; its name is what tables call it."""
        stem = self._name().replace("/", "_").lstrip("-.")
        path, number = os.path.join(folder, stem + self._suffix), 1
        while os.path.exists(path):
            number += 1
            path = os.path.join(folder, f"{stem} {number}{self._suffix}")
        self.save(path)
        return path

    def save_html(self, path: Path, *, title: Optional[str] = None, on: Optional[str] = None) -> None:
        """Writes the report page; `on` names the machine whose roofs it lies under, else its own."""
        with tempfile.TemporaryDirectory(prefix="strata-") as folder:
            _commands.run("report", [self.file_in(folder)], {"title": title, "on": on}, ["-o", os.fspath(path)])


class Network(Result):
    """What show returns: layers, FLOP, bytes, parameters."""

    _rows_in = "layers"
    _columns = ("name", "op", "output_shape", "parameters", "forward_flop", "backward_flop", "activation_bytes")

    @property
    def parameters(self) -> int:
        return self._document["totals"]["parameters"]

    def _caption(self) -> str:
        model = self._document["model"]
        return f"{model['title'] or model['name']}, batch {model['batch']}: {self.parameters:,} parameters"


def time_text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


class Prediction(Result):
    """What predict returns."""

    _rows_in = "layers"
    _columns = ("layer", "pass", "op", "expected_busy_s", "time_s", "flop", "cause")

    @property
    def time_s(self) -> float:
        """The expected time of an iteration; the limit where there is no expected time."""
        expected = self._document.get("expected")
        return expected["time_s"] if expected else self.limit_s

    @property
    def interval_s(self) -> Optional[Tuple[float, float]]:
        expected = self._document.get("expected")
        return tuple(expected["interval_s"]) if expected else None

    @property
    def limit_s(self) -> float:
        """The shortest possible time: perfect kernels, perfect overlap."""
        return self._document["totals"]["time_s"]

    @property
    def samples_per_s(self) -> float:
        return (self._document.get("expected") or self._document["totals"])["samples_per_s"]

    @property
    def fits(self) -> Optional[bool]:
        """Whether it fits the memory of the device."""
        expected = self._document.get("expected")
        return expected["fits"] if expected else self._document["totals"].get("fits_device")

    def _caption(self) -> str:
        interval = self.interval_s
        span = f" ({time_text(interval[0])} to {time_text(interval[1])})" if interval else ""
        what = "expected" if interval else "limit"
        return f"{self._name()}, {what} {time_text(self.time_s)}{span}"


class Measurement(Result):
    """What measure returns."""

    _rows_in = "layers"
    _columns = ("layer", "pass", "op", "time_s", "spread_s", "flop", "implementation")

    @property
    def time_s(self) -> float:
        return self._document["totals"]["time_s"]

    def _caption(self) -> str:
        return f"{self._name()}, measured {time_text(self.time_s)}"


class Explanation(Result):
    """What explain returns: findings, and what changes would give."""

    _rows_in = "findings"
    _columns = ("title", "what", "cost_s", "advice")

    def _caption(self) -> str:
        return f"{self._name()}: {len(self._document['findings'])} findings"


class Roofline(Result):
    """What roofline returns. Its rows are those of all its profiles."""

    @property
    def rows(self) -> List[Row]:
        return [{"profile": profile["label"], **_flat(row)} for profile in self._document["profiles"]
                for row in profile["rows"]]

    def _caption(self) -> str:
        return f"roofline on {self._document['machine']['name']}"


class Comparison(Result):
    """What compare returns. `exit_code` is 1 where they differ by more than the threshold."""

    _rows_in = "rows"
    _columns = ("layer", "pass", "op", "a_time_s", "b_time_s", "ratio", "difference_s")

    def _caption(self) -> str:
        return f"{self._document['a']['file']} (a) and {self._document['b']['file']} (b)"


class Trace(Result):
    """What a recording of a program shows."""

    _rows_in = "layers"
    _columns = ("layer", "pass", "op", "time_s", "launches")


class Machine(Result):
    """A machine: a source for every number."""

    _rows_in = "peaks"

    def _name(self) -> str:
        return self._document["name"]

    def _caption(self) -> str:
        return f"{self._document['name']}: {self._document.get('title', '')}"


class Sweep(Result):
    """What sweep returns: a row per point, and the answers to its questions."""

    _rows_in = "points"
    _suffix = ".jsonl"
    _columns = ("model", "batch", "machine", "dtype", "amp", "capacity_bytes", "expected_s", "time_s", "memory_bytes",
                "fits")

    @classmethod
    def of_file(cls, path: Path, answers: Optional[Dict[str, Any]] = None, text: str = "",
                messages: Sequence[str] = (), code: int = 0) -> "Sweep":
        """Of JSON lines: the first tells which sweep it is."""
        with open(path, encoding="utf-8") as file:
            heading, *points = map(json.loads, file)
        return cls({"kind": "sweep", "sweep": heading, "points": points, "answers": answers}, text, messages, code)

    def _name(self) -> str:
        return "sweep"

    def _caption(self) -> str:
        return f"{len(self._document['points'])} points"

    @property
    def answers(self) -> Record:
        return Record(self._document.get("answers") or {})

    def save(self, path: Path) -> None:
        """Writes a line of JSON per point, as --jsonl does."""
        with open(path, "w", encoding="utf-8") as file:
            for point in [self._document["sweep"], *self._document["points"]]:
                file.write(json.dumps(point, ensure_ascii=False) + "\n")


RESULTS: Dict[str, Type[Result]] = {
    "model": Network, "prediction": Prediction, "measurement": Measurement, "explanation": Explanation,
    "roofline": Roofline, "comparison": Comparison, "trace": Trace,
}


def result_of(document: Dict[str, Any], text: str = "", messages: Sequence[str] = (), code: int = 0) -> Result:
    kind = Machine if "strata_machine" in document else RESULTS.get(document.get("kind", ""), Result)
    return kind(document, text, messages, code)
