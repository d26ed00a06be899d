# SPDX-License-Identifier: Apache-2.0
"""wheel_test.py SOURCE BUILD: `pip install .` and `pip wheel .` in a fresh virtual environment, without a package index,
with the module of an existing build; then the first lines of docs/python.md."""
import glob
import os
import subprocess
import sys
import tempfile
import zipfile

SOURCE, BUILD = sys.argv[1:]

FIRST_LINES = """
import strata, sys
assert strata.__file__.startswith(sys.prefix), strata.__file__
result = strata.predict("lenet5", on="h200", batch=8)
assert result.time_s > 0 and len(result.rows) > 10
print(strata.__version__)
"""


def run(*words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout}")
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, "venv", "bin", "python")
        made = subprocess.run([sys.executable, "-m", "venv", os.path.join(folder, "venv")], capture_output=True, text=True)
        if made.returncode != 0:
            print("skipped: this Python makes no virtual environments (python3-venv)")
            sys.exit(77)
        pip = (python, "-m", "pip", "--no-cache-dir", "--disable-pip-version-check")
        environment = {**os.environ, "STRATA_BUILD_DIR": BUILD, "PIP_NO_INDEX": "1"}
        environment.pop("PYTHONPATH", None)
        run(*pip, "install", SOURCE, env=environment, cwd=folder)
        version = run(python, "-I", "-c", FIRST_LINES, cwd=folder).strip()
        run(*pip, "wheel", "--no-deps", "-w", folder, SOURCE, env=environment, cwd=folder)
        (wheel,) = glob.glob(os.path.join(folder, f"strata-{version}-cp3*.whl"))
        names = zipfile.ZipFile(wheel).namelist()
        for name in ("strata/__init__.py", "strata/py.typed", "strata/_strata.pyi", "strata/torch.py"):
            assert name in names, name
        run(*pip, "uninstall", "-y", "strata", env=environment, cwd=folder)


main()
