# SPDX-License-Identifier: Apache-2.0
"""strata_test.py PROGRAM: the Python package against the program: the same words must give the same numbers and texts."""
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
import warnings
from unittest import mock

import strata

PROGRAM = sys.argv.pop(1)  # the built program
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACE = os.path.join(ROOT, "examples", "traces", "event-sync.json")
NETWORK = os.path.join(ROOT, "examples", "networks", "tiny.json")


def program(*words):
    done = subprocess.run([PROGRAM, *words, "--json", "-"], check=True, capture_output=True)
    return plain(json.loads(done.stdout))


def plain(result):
    return {key: value for key, value in result.items() if key != "provenance"}


class SameAsTheProgram(unittest.TestCase):
    def test_show(self):
        model = strata.load("resnet18")
        self.assertEqual(model.title, "ResNet-18")
        self.assertEqual(model.parameters, 11689512)
        self.assertEqual(plain(strata.show(model, batch=4)), program("show", "resnet18", "--batch", "4"))
        self.assertEqual(
            plain(strata.show("gpt2", dims={"batch": 2}, seq=64, dtype="bf16", inference=True)),
            program("show", "gpt2", "--dim", "batch=2", "--seq", "64", "--dtype", "bf16", "--inference"))

    def test_predict(self):
        setting = "machine.memory.DRAM.bandwidth_bytes_per_s=300GB/s"
        result = strata.predict("lenet5", on="rtx-2080-ti", batch=8, capacity="1MiB", policy="thesis", micro_batches=2,
                                bounds="never", set=[setting])
        words = ("predict", "lenet5", "--on", "rtx-2080-ti", "--batch", "8", "--capacity", "1MiB", "--policy", "thesis",
                 "--micro-batches", "2", "--bounds", "never", "--set", setting)
        self.assertEqual(plain(result), program(*words))
        spent = sum(row["time_s"] for row in result.rows) + result.totals.drain_time_s
        self.assertAlmostEqual(spent / result.limit_s, 1, places=9)
        self.assertEqual(result["provenance"]["request"]["options"]["capacity"], "1MiB")
        self.assertNotIn("json", result.provenance.command, "a document does not name files of Python")

    def test_the_text_of_the_program(self):
        shown = subprocess.run([PROGRAM, "predict", "lenet5", "--on", "h200"], check=True, capture_output=True,
                               env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout.decode()
        self.assertEqual(str(strata.predict("lenet5", on="h200")), shown)

    def test_explain_and_roofline_of_networks_and_of_results(self):
        result = strata.predict("lenet5", on="h200")
        of_network = strata.explain("lenet5", on="h200")
        self.assertEqual(plain(of_network), program("explain", "lenet5", "--on", "h200"))
        self.assertEqual(strata.explain(result).rows, of_network.rows)
        roofline = strata.roofline(result, by="layer")
        self.assertEqual(roofline.machine.name, "h200")
        self.assertIn("c1", {row["name"] for row in roofline.rows})

    def test_machines_and_networks(self):
        self.assertIn("h200", strata.machines().names)
        self.assertIn("resnet50", strata.networks().names)
        self.assertEqual(strata.machine("h200").title, "NVIDIA H200 SXM 141 GB")
        self.assertIn("<td>a100-80gb</td>", strata.machines()._repr_html_())

    def test_errors(self):
        for kind, text, call in (
            ("usage", "did you mean resnet18", lambda: strata.load("resnet81")),
            ("input", "no such file", lambda: strata.load("no/such.onnx")),
            ("usage", "unknown flag --colour", lambda: strata.predict("lenet5", colour="red")),
            ("usage", "fp31", lambda: strata.show("lenet5", dtype="fp31")),
            ("usage", "cpu, cuda or cuda:N", lambda: strata.measure("lenet5", device="abacus")),
            ("input", "no such file", lambda: strata.open("no/such.json")),
            ("usage", "got int", lambda: strata.predict(5)),
        ):
            with self.subTest(text=text), self.assertRaises(strata.Error) as raised:
                call()
            self.assertEqual(raised.exception.kind, kind)
            self.assertIn(text, str(raised.exception))

    def test_errors_quote_files_so_that_they_can_be_printed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "\x1b[2J\u202e.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write("{")
            with self.assertRaises(strata.Error) as raised:
                strata.load(path)
            self.assertNotIn("\x1b", str(raised.exception))
            self.assertNotIn("\u202e", str(raised.exception))
            self.assertIn("\\u{202e}", str(raised.exception))


class Results(unittest.TestCase):
    def test_compare(self):
        fast, slow = strata.predict("lenet5", on="h200"), strata.predict("lenet5", on="h200", batch=64)
        compared = strata.compare(fast, slow, threshold="1%", times="limit")
        self.assertEqual(compared.exit_code, 1)
        self.assertEqual(compared.a.file, "lenet5 on h200")
        self.assertEqual(compared.b.file, "lenet5 on h200 2", "both need a name of their own")
        self.assertIn("a_time_s", compared.rows[0])

    def test_several_machines_clusters_and_numbers_of_devices(self):
        network = "gpt2:layers=2"
        choice = strata.predict(network, on=["l4", "h200", "grace"], price=[1, 3, 1], batch=4)
        self.assertEqual([row["machine"] for row in choice.rows], ["h200", "l4", "grace"], "the fastest first")
        self.assertEqual(choice.time_s, choice.rows[0]["expected_time_s"])
        self.assertEqual(choice.best.machine, "h200")
        split = strata.predict(network, on="2x2xh200", parallel="dp=2,pp=2,micro=2", batch=8)
        self.assertEqual([row["stage"] for row in split.rows], [0, 1])
        auto = strata.predict(network, on="2x2xh200", parallel="auto", batch=8)
        self.assertEqual(auto.rows[0]["strategy"], auto["strategy"]["text"])
        self.assertEqual(auto.time_s, auto.rows[0]["time_s"])
        scaling = strata.predict(network, on="2xh200", devices=[1, 2], batch=8)
        self.assertEqual([row["devices"] for row in scaling.rows], [1, 2])
        self.assertIn(scaling.time_s, [row["expected_time_s"] for row in scaling.rows])
        self.assertIn("time_compute_s", scaling.rows[0])
        for column in [*scaling.rows[0], *scaling.rows[1], *auto.rows[0]]:
            self.assertRegex(column, r"^\w+$", "columns are names")
        parts = sum(value for column, value in scaling.rows[1].items() if column.startswith("time_"))
        self.assertAlmostEqual(parts, scaling.rows[1]["expected_time_s"])
        for result in (choice, split, auto, scaling):
            self.assertEqual(len(dir(result)), len(set(dir(result))), "every name once")
        frames = types.SimpleNamespace(DataFrame=lambda rows: ("frame", rows))
        for result, kind in ((choice, strata.MachineChoice), (split, strata.ParallelPrediction),
                             (auto, strata.ParallelChoice), (scaling, strata.ParallelScaling)):
            with self.subTest(kind=kind.__name__):
                self.assertIs(type(result), kind)
                self.assertIs(result.fits, True)
                low, high = result.interval_s
                self.assertTrue(low <= result.time_s <= high)
                self.assertGreater(result.samples_per_s, 0)
                shown = result._repr_html_()
                self.assertEqual(shown.count("<tr>"), 1 + min(12, len(result.rows)))
                self.assertIn("GPT-2", repr(result))
                with mock.patch.dict(sys.modules, {"pandas": frames}):
                    self.assertEqual(result.to_pandas(), ("frame", result.rows))
                with mock.patch.dict(sys.modules, {"pandas": None}), self.assertRaises(strata.Error) as raised:
                    result.to_pandas()
                self.assertIn("needs pandas", str(raised.exception))
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "result.json")
                    result.save(path)
                    self.assertIs(type(strata.open(path)), kind)
                    result.save_html(path + ".html")

    def test_what_fits_nowhere_has_no_time(self):
        choice = strata.predict("llama3_8b", on=["l4", "t4"], batch=8)
        auto = strata.predict("llama3_70b", on="2xl4", parallel="auto", batch=2)
        scaling = strata.predict("llama3_70b", on="2xl4", devices=[1, 2], batch=2)
        for result in (choice, auto, scaling):
            self.assertIs(result.fits, False)
            self.assertIsNone(result.time_s)
            self.assertIsNone(result.interval_s)
            self.assertIn("<table>", result._repr_html_())
            self.assertGreater(len(result.rows), 0)

    def test_every_document_shows_itself(self):
        for kind, extra in (("readiness", {"findings": [{"name": "a", "state": "ready"}]}), ("nobody_knows", {})):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "result.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"schema_version": 1, "kind": kind, **extra}, file)
                result = strata.open(path)
            self.assertEqual(len(result.rows), len(extra.get("findings", [])))
            self.assertIn("<table>", result._repr_html_())

    def test_sweep_and_its_answers(self):
        points = strata.sweep("lenet5", on=["h200", "l4"], batch=[8, 32], no_limit=True)
        self.assertEqual([(row["machine"], row["batch"]) for row in points.rows],
                         [("h200", 8), ("l4", 8), ("h200", 32), ("l4", 32)])
        asked = strata.sweep("lenet5", on="h200", batch="8:64:x2", no_limit=True, pareto="expected,memory")
        self.assertEqual(len(asked.answers.pareto.fronts), 1)
        self.assertIn("Pareto front", str(asked))
        self.assertIn("<svg", strata.plot(points, kind="sweep-line", x="batch", y="expected_s"))

    def test_a_sweep_under_mpirun_is_of_this_process(self):
        with mock.patch.dict(os.environ, {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"}):
            self.assertEqual(len(strata.sweep("lenet5", on="h200", batch=[8, 16], no_limit=True).rows), 2)

    def test_names_of_files_that_are_no_utf8(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(os.fsencode(folder), b"net\xff.json")
            with open(path, "w", encoding="utf-8") as file, open(NETWORK, encoding="utf-8") as network:
                file.write(network.read())
            self.assertEqual(strata.show(os.fsdecode(path)).parameters, strata.load(NETWORK).parameters)
            with self.assertRaisesRegex(strata.Error, "no such file"):
                strata.load(os.fsdecode(path + b"x"))

    def test_plots_are_text(self):
        figure = strata.plot("lenet5", kind="types", on="h200")
        self.assertTrue(figure.startswith("<svg"))
        self.assertEqual(figure._repr_svg_(), figure)

    def test_measure_times_every_layer(self):
        result = strata.measure("lenet5", batch=2, iterations=2, on="grace")
        self.assertEqual((result["kind"], result.evidence), ("measurement", "measured"))
        self.assertEqual(len(result.totals.samples_s), 2)
        self.assertAlmostEqual(result.totals.busy_time_s, sum(row["time_s"] for row in result.rows))
        self.assertTrue(all(row["roof_time_s"] >= 0 for row in result.rows))

    def test_recordings(self):
        self.assertEqual(plain(strata.open(TRACE)), program("trace", TRACE))
        self.assertGreater(len(strata.trace(TRACE).rows), 0)

    def test_stored_results_are_the_same_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            result = strata.predict("lenet5", on="h200", bounds="never")
            result.save(path)
            again = strata.open(path)
            self.assertIsInstance(again, strata.Prediction)
            self.assertEqual(again, result)
            points = strata.sweep("lenet5", on="h200", batch="8,16", no_limit=True)
            points.save(path + "l")
            self.assertEqual(strata.open(path + "l").rows, points.rows)

    def test_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            for result in (strata.show("lenet5"), strata.predict("lenet5", bounds="never"), strata.explain("lenet5"),
                           strata.sweep("lenet5", batch="8,16", no_limit=True), strata.roofline("lenet5")):
                result.save_html(path, title="One result")
                with open(path, encoding="utf-8") as file:
                    page = file.read()
                self.assertIn("One result", page)
                self.assertIn("</html>", page)

    def test_notebooks_get_a_small_table_without_scripts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"strata_network": 1, "name": "net", "inputs": {"x": ["batch", 4]},
                           "layers": [{"name": "<script>alert(1)</script>", "op": "linear", "features": 2}]}, file)
            shown = strata.show(path)._repr_html_()
        self.assertIn("&lt;script&gt;", shown)
        self.assertNotIn("<script", shown)
        many = strata.predict("resnet50", on="h200", bounds="never")._repr_html_()
        self.assertLess(len(many), 4000)
        self.assertIn("more rows", many)

    def test_pandas_is_imported_when_asked_for(self):
        result = strata.predict("lenet5", on="h200", bounds="never")
        with mock.patch.dict(sys.modules, {"pandas": None}), self.assertRaises(strata.Error) as raised:
            result.to_pandas()
        self.assertEqual(raised.exception.kind, "environment")
        self.assertIn(".rows", str(raised.exception))
        frames = types.SimpleNamespace(DataFrame=lambda rows: ("frame", rows))
        with mock.patch.dict(sys.modules, {"pandas": frames}):
            self.assertEqual(result.to_pandas(), ("frame", result.rows))
            self.assertEqual(result.to_pandas("by_type"), ("frame", result.table("by_type")))

    def test_options_of_load_stay_with_the_model(self):
        self.assertEqual(strata.load(NETWORK, strict=True).parameters, strata.load(NETWORK).parameters)
        model = strata.load(NETWORK, strict=True)
        file = model._word
        self.assertTrue(os.path.exists(file))
        del model
        self.assertFalse(os.path.exists(file), "its file goes with the model")

    def test_warnings_are_warnings_of_the_line_that_calls(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"strata_network": 1, "inputs": {"x": ["batch", 4]},
                           "warnings": [{"code": "value-assumed", "message": "three is assumed"}],
                           "layers": [{"op": "relu"}]}, file)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                result = strata.predict(path)
        self.assertEqual([(type(warning.message), os.path.basename(warning.filename)) for warning in seen],
                         [(strata.StrataWarning, os.path.basename(__file__))])
        self.assertIn("three is assumed", result.messages[0])


if __name__ == "__main__":
    unittest.main()
