"""python -m heal is healc."""

import os
import subprocess
import sys

from heal import healc

if __name__ == "__main__":
    command = [healc(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)
