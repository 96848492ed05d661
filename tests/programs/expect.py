#!/usr/bin/env python3
"""Writes the `# expect stdout` lines of the programs: python3 tests/programs/expect.py [NAME...]

Each program has a function of its name in science.py, learning.py or algorithms.py, which computes what the program
prints by another way where there is one (NumPy's solvers and transforms, hashlib, zlib, heapq, exhaustive search),
and by the same formulas in NumPy where there is none. It yields the values in the order in which they are printed;
NumPy's way to print them is that of the language. Needs python3-numpy; the tests need the results alone.
"""
import os
import sys
from pathlib import Path

import numpy as np

import algorithms
import learning
import science

HERE = Path(__file__).parent
np.set_printoptions(floatmode="unique")


def shown(value):
    """The text of a printed value. A text that is printed without a newline after it is a tuple of one."""
    if isinstance(value, tuple):
        return value[0]
    if isinstance(value, str):
        return value + "\n"
    if isinstance(value, (bool, np.bool_)):
        return ("true" if value else "false") + "\n"
    return str(value) + "\n"


def directives(text):
    """One `# expect stdout` line for each line of the text."""
    out = []
    for line in text.splitlines(keepends=True):
        quoted = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        out.append(f'# expect stdout "{quoted}"\n')
    return out


def reference(name):
    for module in (science, learning, algorithms):
        if hasattr(module, name):
            return getattr(module, name)
    sys.exit(f"no reference for {name}")


def main(names):
    os.chdir(HERE)  # programs name their files from here
    for path in sorted(HERE.glob("*.heal")):
        if names and path.stem not in names:
            continue
        text = "".join(shown(v) for v in reference(path.stem)())
        lines = [l for l in path.read_text().splitlines(keepends=True) if not l.startswith("# expect stdout ")]
        head = next(i for i, l in enumerate(lines) if not l.startswith("#"))
        path.write_text("".join(lines[:head] + directives(text) + lines[head:]))


if __name__ == "__main__":
    main(sys.argv[1:])
