"""What docs/libraries.md shows of PyTorch and tvm-ffi, with the library of examples/layernorm.heal in this folder."""

import os

import torch

x = torch.randn(4, 8, requires_grad=True)
scale, shift = torch.ones(8, requires_grad=True), torch.zeros(8, requires_grad=True)
want = torch.nn.functional.layer_norm(x, (8,), scale, shift, 1e-5)


def is_near(got, want):
    assert torch.allclose(got, want, atol=1e-5), (got, want)


import layernorm_torch, torch

y = layernorm_torch.layernorm(x, scale, shift)
y.sum().backward()                                        # x.grad, scale.grad, shift.grad
torch.compile(lambda x: layernorm_torch.layernorm(x.sin(), scale, shift))(x)

is_near(y, want)
is_near(shift.grad, torch.full((8,), 4.0))
try:
    import tvm_ffi
except ImportError:
    raise SystemExit
os.chdir("alone")
x, scale, shift = x.detach(), scale.detach(), shift.detach()

import torch, tvm_ffi

layernorm = tvm_ffi.load_module("./layernorm.so").layernorm
y = layernorm(x, scale, shift)          # a tensor of PyTorch, as x is one
layernorm(x, scale, shift, y)           # into y

is_near(y, want)
