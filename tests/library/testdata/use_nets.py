"""Functions of a library as operators of PyTorch: what PyTorch itself checks of operators, derivatives, and compilation."""

import nets_torch as k
import torch

torch.manual_seed(1)


def floats(*shape, dtype=torch.float64):
    return torch.randn(*shape).to(dtype).requires_grad_()


def fails(error, text, call):
    try:
        call()
    except error as e:
        assert text in str(e), e
    else:
        assert False, "no " + error.__name__


x, scale, shift = floats(3, 5), floats(5), floats(5)
u, v, wide = floats(6), floats(6), floats(12)
for op, args in [
    (k.layernorm, (x, scale, shift, 1e-5)),
    (k.loss, (u, v)),
    (k.both, (u, 3, True)),
    (k.cut, (u, wide)),
    (k.ranks, (floats(4, dtype=torch.float32),)),
    (k.bump, (torch.randn(4), 2.0)),
    (k.half, (floats(4, dtype=torch.float16), floats(4, dtype=torch.bfloat16))),
    (k.loss_vjp, (u.detach(), v.detach(), torch.ones((), dtype=torch.float64))),
]:
    checked = torch.library.opcheck(op, args)
    assert checked and set(checked.values()) == {"SUCCESS"}, checked
assert torch.autograd.gradcheck(k.layernorm, (x, scale, shift, 1e-5))
assert torch.autograd.gradcheck(k.loss, (u, v))
assert torch.autograd.gradcheck(lambda a: k.both(a, 3, True)[::2], (u,))
assert torch.autograd.gradcheck(k.cut, (u, wide))

# Views, no elements, what is changed, and what has no derivative.
y = k.layernorm(x, scale, shift, 1e-5)
assert torch.allclose(y, torch.nn.functional.layer_norm(x, (5,), scale, shift, 1e-5))
assert torch.equal(k.layernorm(x.T.contiguous().T, scale, shift, 1e-5), y)
assert k.layernorm(x[:0], scale, shift, 1e-5).shape == (0, 5)
z = torch.ones(3)
k.bump(z, 1.5)
assert z.tolist() == [2.5] * 3
fails(NotImplementedError, "loss.vjp has no derivative: it is a derivative",
      lambda: k.loss_vjp(u, v, torch.ones((), dtype=torch.float64))[0].sum().backward())
fails(ValueError, "axis 0 of y has extent 5, but N is 6", lambda: k.loss(u, v[:5]))


@torch.compile
def compiled(x):
    return k.layernorm(x.sin(), scale, shift, 1e-5).cos().sum()


compiled(x).backward()
got, x.grad = x.grad, None
k.layernorm(x.sin(), scale, shift, 1e-5).cos().sum().backward()
assert torch.allclose(got, x.grad)
