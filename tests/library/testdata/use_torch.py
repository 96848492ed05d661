"""Tensors of torch by DLPack, as arguments, as what is changed and as places for results."""

import every
import torch


def fails(error, text, call, *args, **named):
    try:
        call(*args, **named)
    except error as e:
        assert text in str(e), e
    else:
        assert False, "no " + error.__name__


for name in "i8 i16 i32 i64 u8 f16 f32 f64".split():
    dtype = getattr(torch, {"i": "int", "u": "uint", "f": "float"}[name[0]] + name[1:])
    twice = getattr(every, "twice_" + name)
    for n in (0, 1, 5, 70):
        x = torch.arange(n).to(dtype)
        assert torch.equal(torch.from_dlpack(twice(x)), x + x), (name, n)
        y = torch.zeros(n, dtype=dtype)
        assert twice(x, out=y) is y and torch.equal(y, x + x)
y = torch.zeros(2, dtype=torch.bfloat16)
assert every.twice_bf16(torch.tensor([1, 2], dtype=torch.bfloat16), out=y) is y and y.tolist() == [2, 4]
y = torch.tensor([True, False])
assert every.twice_bool(y).tolist() == [False, True]
if int(torch.__version__.split(".")[0]) > 1:  # before, torch gave them to NumPy alone
    assert every.twice_bool(y, out=torch.zeros_like(y)).tolist() == [False, True]

x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
for part in (x, x.T, x[::2], x[1:, 1:3], x[:0], x[0].expand(5, 4)):
    assert torch.equal(torch.from_dlpack(every.rows(part)), part + 1)
y = torch.zeros(4, 3)
assert torch.equal(every.rows(x, out=y.T), x + 1) and torch.equal(y, (x + 1).T)
x = torch.arange(4, dtype=torch.float32)
place = torch.zeros((), dtype=torch.float64)
a, i, b = every.mixed(1.5, 4, False, x, out=(place, None, None))
assert x.tolist() == [2, 3, 2, 3] and a is place and a.item() == 6
assert every.divide(torch.tensor(7), torch.tensor(2)) == 3

fails(TypeError, "tensor.detach()", every.twice_f32, torch.ones(2, requires_grad=True))
fails(TypeError, "x is an array of float64; its elements must be float32", every.twice_f32, torch.ones(2).double())
fails(ValueError, "x has 2 axes, not 1", every.twice_f32, torch.ones(2, 2))
x = torch.ones(2)
fails(ValueError, "", every.twice_f32, x, out=x)
if torch.cuda.is_available():
    fails(TypeError, "pass x.cpu()", every.twice_f32, torch.ones(2, device="cuda"))
    assert torch.equal(torch.from_dlpack(every.twice_f32(torch.ones(2).pin_memory())), torch.full((2,), 2.0))
