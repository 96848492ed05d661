package emit

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// Add adds, without an instruction where one side is nil or the constant 0.
func (g *Func) Add(x, y value.Value) value.Value {
	if n, ok := build.ConstantInt(x); x == nil || ok && n == 0 {
		return y
	}
	n, ok := build.ConstantInt(y)
	if ok && n == 0 {
		return x
	}
	if m, both := build.ConstantInt(x); ok && both {
		return build.Int(build.I64, m+n)
	}
	return g.Cur.NewAdd(x, y)
}

// Mul multiplies, without an instruction where one side is the constant 1 or 0.
func (g *Func) Mul(x, y value.Value) value.Value {
	m, okx := build.ConstantInt(x)
	n, oky := build.ConstantInt(y)
	switch {
	case okx && oky:
		return build.Int(build.I64, m*n)
	case okx && m == 1:
		return y
	case oky && n == 1:
		return x
	case okx && m == 0 || oky && n == 0:
		return build.Int(build.I64, 0)
	}
	return g.Cur.NewMul(x, y)
}

// RoundDown is n, which is not negative, rounded down to a multiple of step.
func (g *Func) RoundDown(n value.Value, step int64) value.Value {
	if c, ok := build.ConstantInt(n); ok {
		return build.Int(build.I64, c/step*step)
	}
	if step&(step-1) != 0 {
		return g.Cur.NewSub(n, g.Cur.NewSRem(n, build.Int(build.I64, step)))
	}
	return g.Cur.NewAnd(n, build.Int(build.I64, -step))
}

func (g *Func) Sub(x, y value.Value) value.Value {
	if n, ok := build.ConstantInt(y); ok {
		return g.Add(x, build.Int(build.I64, -n))
	}
	return g.Cur.NewSub(x, y)
}

// Min is the smaller one of two indices.
func (g *Func) Min(x, y value.Value) value.Value {
	a, ok1 := build.ConstantInt(x)
	b, ok2 := build.ConstantInt(y)
	if ok1 && ok2 {
		return build.Int(build.I64, min(a, b))
	}
	return g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSLT, x, y), x, y)
}

// Shorter reports that [lo, hi) is known to have fewer than n elements.
func (g *Func) Shorter(lo, hi value.Value, n int) bool {
	a, ok1 := build.ConstantInt(lo)
	b, ok2 := build.ConstantInt(hi)
	return ok1 && ok2 && b-a < int64(n)
}

// InPlace reports that the kernel reads an output: an iteration that is repeated would read what it wrote.
func (g *Func) InPlace() bool { return g.Code().InPlace() }
