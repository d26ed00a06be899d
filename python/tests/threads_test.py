# SPDX-License-Identifier: Apache-2.0
"""Long calls let other threads of Python run, and Ctrl-C ends them."""
import signal
import subprocess
import sys
import threading
import time
import unittest

import strata

LONG_CALLS = {
    "measure": "strata.measure('resnet18', batch=16, iterations=100000)",
    "sweep": "strata.sweep('resnet50', on='rtx-2080-ti', capacity='24MiB:1000MiB:1MiB', batch='8:512:x2')",
    "predict": "[strata.predict('gnmt', batch=8 + i) for i in range(100000)]",
}
PROGRAM = """
import sys, strata
print("ready", flush=True)
try:
    {}
except KeyboardInterrupt:
    print("interrupted", len(strata.predict("lenet5", bounds="never").rows) > 0, flush=True)
"""


class Threads(unittest.TestCase):
    def test_other_threads_run_meanwhile(self):
        seen, is_over = [], threading.Event()

        def look():
            while not is_over.wait(0.005):
                seen.append(time.monotonic())

        thread = threading.Thread(target=look)
        thread.start()
        begin = time.monotonic()
        strata.predict("resnet50", on="h200")
        end = time.monotonic()
        is_over.set()
        thread.join()
        self.assertGreater(len([moment for moment in seen if begin < moment < end]), 3)

    def test_calls_from_several_threads(self):
        batches, times = [1, 2, 4, 8], {}

        def predict(batch):
            times[batch] = strata.predict("lenet5", on="h200", batch=batch).limit_s

        threads = [threading.Thread(target=predict, args=(batch,)) for batch in batches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(times, {batch: strata.predict("lenet5", on="h200", batch=batch).limit_s for batch in batches})

    def test_an_interrupt_ends_a_long_call(self):
        for name, call in LONG_CALLS.items():
            with self.subTest(name):
                child = subprocess.Popen([sys.executable, "-c", PROGRAM.format(call)], stdout=subprocess.PIPE, text=True)
                self.assertEqual(child.stdout.readline(), "ready\n")
                time.sleep(1.5)
                child.send_signal(signal.SIGINT)
                out, _ = child.communicate(timeout=120)
                self.assertEqual((out, child.returncode), ("interrupted True\n", 0))


if __name__ == "__main__":
    unittest.main()
