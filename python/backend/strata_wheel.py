# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of the Python package (PEP 517) with nothing but the standard library, CMake and the distribution's
pybind11, so that `pip install .` needs no package index.

STRATA_BUILD_DIR=FOLDER takes the module that was built there instead of building it.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = "strata"
SUMMARY = "Where the time of training a neural network goes, layer by layer"


def version():
    with open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(strata\s+VERSION ([0-9.]+)", file.read())[1]


def tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{re.sub('[-.]', '_', sysconfig.get_platform())}"


def metadata():
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        description = file.read()
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version()}\nSummary: {SUMMARY}\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\nProvides-Extra: pandas\n"
            "Requires-Dist: pandas; extra == 'pandas'\nDescription-Content-Type: text/markdown\n\n" + description)


def information():
    """The files that tell pip about the wheel: (name, text)."""
    yield "WHEEL", f"Wheel-Version: 1.0\nGenerator: strata_wheel\nRoot-Is-Purelib: false\nTag: {tag()}\n"
    yield "METADATA", metadata()


def info_folder():
    return f"{NAME}-{version()}.dist-info"


def built_module():
    """The compiled module; it is built unless STRATA_BUILD_DIR says where it is."""
    given = os.environ.get("STRATA_BUILD_DIR")
    build = given or os.path.join(SOURCE, "build", f"wheel-{tag()}")
    if not given:
        # The Python behind a virtual environment, which will be gone some day, has the headers.
        python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
        for words in (["cmake", "--preset", "release", "-B", build, "-DSTRATA_WITH_PYTHON=ON",
                       "-DSTRATA_INSTALL=OFF", f"-DPython_EXECUTABLE={python}"],
                      ["cmake", "--build", build, "--target", "strata_python"]):
            try:
                subprocess.run(words, cwd=SOURCE, check=True)
            except FileNotFoundError:
                sys.exit("strata: cmake is not installed; ./strata setup names the packages that a build needs")
            except subprocess.CalledProcessError:
                sys.exit("strata: the build failed, see above; it needs pybind11-dev and python3-dev, too")
    module = os.path.join(build, "python", NAME, "_strata" + sysconfig.get_config_var("EXT_SUFFIX"))
    if not os.path.exists(module):
        sys.exit(f"strata: no module for this Python: {module} is not there")
    return module


def package_files():
    """(path in the wheel, file), of what is written in Python."""
    for package in (NAME, "strata_recording"):
        folder = os.path.join(SOURCE, "python", package)
        for name in sorted(os.listdir(folder)):
            if name.endswith((".py", ".pyi", ".typed")):
                yield f"{package}/{name}", os.path.join(folder, name)
    yield "strata_torch.py", os.path.join(SOURCE, "python", "strata_torch.py")


class Wheel:
    """A zip file that lists what it holds."""

    def __init__(self, path):
        self.info = info_folder()
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = ""

    def add(self, name, data):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same wheel of the same files
        entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
        self.zip.writestr(entry, data, zipfile.ZIP_DEFLATED)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record += f"{name},sha256={digest},{len(data)}\n"

    def add_file(self, name, path):
        with open(path, "rb") as file:
            self.add(name, file.read())

    def close(self):
        for name, text in information():
            self.add(f"{self.info}/{name}", text.encode())
        self.add_file(f"{self.info}/licenses/LICENSE", os.path.join(SOURCE, "LICENSE"))
        record = f"{self.info}/RECORD"
        self.add(record, (self.record + f"{record},,\n").encode())
        self.zip.close()


# --- what pip calls -------------------------------------------------------------------------------


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """So that pip need not build anything to know the name."""
    folder = os.path.join(metadata_directory, info_folder())
    os.makedirs(folder)
    for name, text in information():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return info_folder()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    module = built_module()
    name = f"{NAME}-{version()}-{tag()}.whl"
    wheel = Wheel(os.path.join(wheel_directory, name))
    for path, file in package_files():
        wheel.add_file(path, file)
    wheel.add_file(f"{NAME}/{os.path.basename(module)}", module)
    wheel.close()
    return name


def build_sdist(sdist_directory, config_settings=None):
    """All files under version control."""
    root = f"{NAME}-{version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, check=True, capture_output=True).stdout.decode()
    with tarfile.open(os.path.join(sdist_directory, root + ".tar.gz"), "w:gz") as archive:
        for name in filter(None, listed.split("\0")):
            archive.add(os.path.join(SOURCE, name), f"{root}/{name}", recursive=False)
    return root + ".tar.gz"
