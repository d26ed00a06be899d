# SPDX-License-Identifier: Apache-2.0
"""Strata: where the time of training a neural network goes, layer by layer.

    import strata
    result = strata.predict("resnet50", on="h200", amp="bf16")
    print(result)                     # what the program prints
    result.time_s, result.rows        # attributes; the documented JSON as result["totals"]["time_s"]

Every function runs the command of its name, and every flag of the command is a keyword, with _ for -.
"""
from ._choices import MachineChoice, ParallelChoice, ParallelPrediction, ParallelScaling
from ._commands import Error, StrataWarning
from ._results import (Comparison, Explanation, Machine, Measurement, Network, Prediction, Record, Result, Roofline,
                       Sweep, Table, Trace)
from ._strata import version as __version__
from ._verbs import (Figure, Model, compare, explain, load, machine, machines, measure, networks, open, options, plot,
                     predict, roofline, show, sweep, trace)

__all__ = [  # not open, which is another function where everything is imported
    "Comparison", "Error", "Explanation", "Figure", "Machine", "MachineChoice", "Measurement", "Model", "Network",
    "ParallelChoice", "ParallelPrediction", "ParallelScaling", "Prediction", "Record",
    "Result", "Roofline", "StrataWarning", "Sweep", "Table", "Trace", "__version__", "compare", "explain", "load",
    "machine", "machines", "measure", "networks", "options", "plot", "predict", "roofline", "show", "sweep",
    "trace",
]

Error.__module__ = StrataWarning.__module__ = __name__  # as people import them
