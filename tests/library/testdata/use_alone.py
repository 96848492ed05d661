"""use_dlpack.py where there is no NumPy."""

import sys

sys.modules["numpy"] = None
import use_dlpack
