"""Uses examples/layernorm.heal from Python, on NumPy arrays that are not copied:

    healc compile examples/layernorm.heal --emit so,python
    PYTHONPATH=. python3 examples/library/main.py
"""

import layernorm
import numpy as np

x = np.array([[1, 2, 3], [4, 8, 6]], np.float32)
scale = np.ones(3, np.float32)
shift = np.array([0, 0.5, 1], np.float32)

print(layernorm.layernorm(x, scale, shift).round(4))
print(layernorm.layernorm(x[::-1, ::-1], scale, shift).round(4))

# The result can go to an array of any strides.
y = np.zeros((3, 2), np.float32)
layernorm.layernorm(x, scale, shift, out=y.T)
print(y.round(4))

try:
    layernorm.layernorm(x, scale[:2], shift)
except ValueError as e:
    print(e)
try:
    layernorm.layernorm(x.astype(np.float64), scale, shift)
except TypeError as e:
    print(e)
