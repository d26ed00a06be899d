# SPDX-License-Identifier: Apache-2.0
"""The Python module against the program: the same words must give the same numbers."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import strata

PROGRAM = sys.argv.pop(1)  # the built program


def program(*words):
    done = subprocess.run([PROGRAM, *words, "--json", "-"], check=True, capture_output=True)
    result = json.loads(done.stdout)
    del result["provenance"]
    return result


def plain(result):
    return {key: value for key, value in result.items() if key != "provenance"}


class Module(unittest.TestCase):
    def test_show_is_what_the_program_writes(self):
        model = strata.load("resnet18")
        self.assertEqual(model.title, "ResNet-18")
        self.assertEqual(plain(strata.show(model, batch=4)), program("show", "resnet18", "--batch", "4"))
        self.assertEqual(
            plain(strata.show("gpt2", dims={"batch": 2}, seq=64, dtype="bf16", inference=True)),
            program("show", "gpt2", "--dim", "batch=2", "--seq", "64", "--dtype", "bf16", "--inference"),
        )

    def test_predict_is_what_the_program_writes(self):
        result = strata.predict(
            "lenet5", on="rtx-2080-ti", batch=8, capacity="1MiB", policy="thesis", micro_batches=2, bounds="never",
            set=["machine.memory.DRAM.bandwidth_bytes_per_s=300GB/s"],
        )
        words = ("predict", "lenet5", "--on", "rtx-2080-ti", "--batch", "8", "--capacity", "1MiB", "--policy", "thesis",
                 "--micro-batches", "2", "--bounds", "never",
                 "--set", "machine.memory.DRAM.bandwidth_bytes_per_s=300GB/s")
        self.assertEqual(plain(result), program(*words))
        rows = strata.rows(result)
        self.assertIsInstance(rows, list)
        self.assertEqual({row["pass"] for row in rows}, {"forward", "backward", "update"})
        spent = sum(row["time_s"] for row in rows) + result["totals"]["drain_time_s"]
        self.assertAlmostEqual(spent / result["totals"]["time_s"], 1, places=9)

    def test_measure_times_every_layer(self):
        result = strata.measure("lenet5", batch=2, iterations=2, on="grace")
        self.assertEqual((result["kind"], result["evidence"]), ("measurement", "measured"))
        totals = result["totals"]
        self.assertEqual(len(totals["samples_s"]), 2)
        self.assertAlmostEqual(totals["busy_time_s"], sum(row["time_s"] for row in strata.rows(result)))
        self.assertIn("convolution", {row["op"] for row in strata.rows(result)})
        self.assertTrue(all(row["roof_time_s"] >= 0 for row in strata.rows(result)))
        with self.assertRaisesRegex(ValueError, "cpu, cuda or cuda:N"):
            strata.measure("lenet5", device="abacus")

    def test_save_html_writes_the_page_of_any_result(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            for result in (strata.show("lenet5"), strata.predict("lenet5", bounds="never"),
                           strata.measure("lenet5", batch=2, iterations=1)):
                strata.save_html(result, path, title="Three results")
                with open(path, encoding="utf-8") as file:
                    page = file.read()
                self.assertIn("Three results", page)
                self.assertIn("</html>", page)
        with self.assertRaisesRegex(ValueError, "no profile"):
            strata.save_html({"kind": "letter"}, "nowhere.html")

    def test_a_switch_is_a_truth(self):
        result = strata.predict("lenet5", inference=True, bounds="never")
        self.assertEqual({row["pass"] for row in strata.rows(result)}, {"forward"})

    def test_errors_are_exceptions_with_the_message_of_the_program(self):
        with self.assertRaisesRegex(ValueError, "did you mean resnet18"):
            strata.load("resnet81")
        with self.assertRaisesRegex(ValueError, "it has: fp32, fp16"):
            strata.predict("lenet5", on="rtx-2080-ti", dtype="bf16")
        with self.assertRaisesRegex(ValueError, "no option 'colour'"):
            strata.predict("lenet5", colour="red")
        with self.assertRaisesRegex(ValueError, "fp31"):
            strata.show("lenet5", dtype="fp31")


if __name__ == "__main__":
    unittest.main()
