package llvm

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"
)

// Arithmetic on indices takes no instruction where the numbers are known.

func constantInt(v value.Value) (int64, bool) {
	if c, ok := v.(*constant.Int); ok && c.X.IsInt64() {
		return c.X.Int64(), true
	}
	return 0, false
}

// plus adds, without an instruction where one side is nil or the constant 0.
func (g *gen) plus(x, y value.Value) value.Value {
	if n, ok := constantInt(x); x == nil || ok && n == 0 {
		return y
	}
	n, ok := constantInt(y)
	if ok && n == 0 {
		return x
	}
	if m, both := constantInt(x); ok && both {
		return ci(i64, m+n)
	}
	return g.cur.NewAdd(x, y)
}

// times multiplies, without an instruction where one side is the constant 1 or 0.
func (g *gen) times(x, y value.Value) value.Value {
	m, okx := constantInt(x)
	n, oky := constantInt(y)
	switch {
	case okx && oky:
		return ci(i64, m*n)
	case okx && m == 1:
		return y
	case oky && n == 1:
		return x
	case okx && m == 0 || oky && n == 0:
		return ci(i64, 0)
	}
	return g.cur.NewMul(x, y)
}

// whole is n rounded down to a multiple of step, a power of two.
func (g *gen) whole(n value.Value, step int64) value.Value {
	if c, ok := constantInt(n); ok {
		return ci(i64, c&-step)
	}
	return g.cur.NewAnd(n, ci(i64, -step))
}

func (g *gen) minus(x, y value.Value) value.Value {
	if n, ok := constantInt(y); ok {
		return g.plus(x, ci(i64, -n))
	}
	return g.cur.NewSub(x, y)
}

// least is the smaller one of two indices.
func (g *gen) least(x, y value.Value) value.Value {
	a, ok1 := constantInt(x)
	b, ok2 := constantInt(y)
	if ok1 && ok2 {
		return ci(i64, min(a, b))
	}
	return g.cur.NewSelect(g.cur.NewICmp(enum.IPredSLT, x, y), x, y)
}
