package ptxsim

import (
	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// instructions says how each instruction is translated. The functions take the modifiers in the order in which the ISA
// writes them, and the operands.
var instructions map[string]func(*compiler)

func init() {
	instructions = map[string]func(*compiler){
		"add": (*compiler).add, "sub": (*compiler).add, "addc": (*compiler).carry, "subc": (*compiler).carry,
		"mul": (*compiler).mul, "mad": (*compiler).mad, "madc": (*compiler).mad, "mul24": (*compiler).mul24,
		"mad24": (*compiler).mul24,
		"div":   (*compiler).div, "rem": (*compiler).rem, "sad": (*compiler).sad,
		"min": (*compiler).minMax, "max": (*compiler).minMax, "abs": (*compiler).abs, "neg": (*compiler).neg,
		"fma": (*compiler).fma, "sqrt": (*compiler).sqrt, "rcp": (*compiler).rcp,
		"copysign": (*compiler).copysign, "testp": (*compiler).testp,

		"and": (*compiler).logic, "or": (*compiler).logic, "xor": (*compiler).logic, "not": (*compiler).not,
		"cnot": (*compiler).not,
		"lop3": (*compiler).lop3, "shl": (*compiler).shift, "shr": (*compiler).shift, "shf": (*compiler).funnel,
		"bfe": (*compiler).bfe, "bfi": (*compiler).bfi, "prmt": (*compiler).prmt, "szext": (*compiler).szext,
		"bmsk": (*compiler).bmsk,
		"popc": (*compiler).count, "clz": (*compiler).count, "brev": (*compiler).brev, "bfind": (*compiler).bfind,
		"dp4a": (*compiler).dp, "dp2a": (*compiler).dp,

		"setp": (*compiler).setp, "set": (*compiler).set, "selp": (*compiler).selp, "slct": (*compiler).slct,

		"mov": (*compiler).mov, "cvt": (*compiler).cvt, "cvta": (*compiler).cvta, "isspacep": (*compiler).isspacep,
		"ld": (*compiler).ld, "ldu": (*compiler).ld, "st": (*compiler).st, "atom": (*compiler).atom,
		"red":      (*compiler).atom,
		"prefetch": (*compiler).prefetch, "prefetchu": (*compiler).prefetch, "cp": (*compiler).cp,
		"membar": (*compiler).fence, "fence": (*compiler).fence,

		"shfl": (*compiler).shfl, "vote": (*compiler).vote, "match": (*compiler).match, "redux": (*compiler).redux,
		"mma":        (*compiler).mma,
		"activemask": (*compiler).activemask, "elect": (*compiler).elect,
		"bar": (*compiler).bar, "barrier": (*compiler).bar,

		"bra": (*compiler).bra, "brx": (*compiler).brx, "call": (*compiler).callFunction, "ret": (*compiler).ret,
		"exit": (*compiler).exit, "trap": (*compiler).trap, "brkpt": (*compiler).trap,
		"nanosleep": (*compiler).nanosleep, "pmevent": (*compiler).nanosleep,
	}
	for _, name := range []string{"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"} {
		instructions[name] = func(c *compiler) {
			c.errorf("%s is refused: its result is an approximation that differs between devices", c.in.Opcode)
		}
	}
}

// un makes a step of a function of one value.
func un(d, a int32, f func(x uint64) uint64) machine.Step {
	return func(w *machine.Warp, m uint32) {
		D, A := &w.Values[d], &w.Values[a]
		if m == ^uint32(0) {
			for i := range D {
				D[i] = f(A[i])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			D[i] = f(A[i])
		}
	}
}

// bin makes a step of a function of two values.
func bin(d, a, b int32, f func(x, y uint64) uint64) machine.Step {
	return func(w *machine.Warp, m uint32) {
		D, A, B := &w.Values[d], &w.Values[a], &w.Values[b]
		if m == ^uint32(0) {
			for i := range D {
				D[i] = f(A[i], B[i])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			D[i] = f(A[i], B[i])
		}
	}
}

// ter makes a step of a function of three values.
func ter(d, a, b, c int32, f func(x, y, z uint64) uint64) machine.Step {
	return func(w *machine.Warp, m uint32) {
		D, A, B, C := &w.Values[d], &w.Values[a], &w.Values[b], &w.Values[c]
		if m == ^uint32(0) {
			for i := range D {
				D[i] = f(A[i], B[i], C[i])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			D[i] = f(A[i], B[i], C[i])
		}
	}
}

// unary is an instruction d, a of one type.
func (c *compiler) unary(t ptx.Type, f func(x uint64) uint64) {
	c.operands(2)
	d, a := c.dst(t), c.src(1, t)
	c.o.Run = un(d, a, f)
}

// binary is an instruction d, a, b of one type.
func (c *compiler) binary(t ptx.Type, f func(x, y uint64) uint64) {
	c.operands(3)
	d, a, b := c.dst(t), c.src(1, t), c.src(2, t)
	c.o.Run = bin(d, a, b, f)
}

// ternary is an instruction d, a, b, c of one type.
func (c *compiler) ternary(t ptx.Type, f func(x, y, z uint64) uint64) {
	c.operands(4)
	d, x, y, z := c.dst(t), c.src(1, t), c.src(2, t), c.src(3, t)
	c.o.Run = ter(d, x, y, z, f)
}
