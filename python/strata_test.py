# SPDX-License-Identifier: Apache-2.0
"""The Python module against the program: the same words must give the same numbers."""

import json
import subprocess
import sys
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
