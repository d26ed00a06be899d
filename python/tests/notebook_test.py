# SPDX-License-Identifier: Apache-2.0
"""notebook_test.py FILE...: runs the code of notebooks without Jupyter, and that of Markdown pages: the cells in order, in
one namespace. What a cell ends with is shown as Jupyter would, so that a broken table fails, too. Of a page these are the
blocks that begin with ```python and nothing else."""
import ast
import json
import os
import re
import sys
import tempfile


def show(value):
    for name in ("_repr_html_", "_repr_svg_"):
        if hasattr(value, name):
            assert getattr(value, name)().startswith("<")
            return
    repr(value)


def run_cell(source, names, place):
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), place, "eval"), names)
        if value is not None:
            show(value)


def cells_of_notebook(path, text):
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        assert cell["outputs"] == [] and cell["execution_count"] is None, f"{path}: stored without results"
    return ["".join(cell["source"]) for cell in cells]


def main():
    paths = [os.path.abspath(path) for path in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the code may write files
        for path in paths:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            is_page = path.endswith(".md")
            code = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if is_page else cells_of_notebook(path, text)
            assert code, f"{path}: no code"
            names = {"__name__": "__main__"}
            for number, source in enumerate(code, 1):
                run_cell(source, names, f"{os.path.basename(path)}, cell {number}")
            print(f"{os.path.basename(path)}: {len(code)} cells")
        os.chdir("/")


main()
