package ir

import "math"

// The derivatives of element-wise functions. Where a function has none at a point, the value is that of one side, as
// language.md says: relu' is 0 at 0, the first operand of max and min gets the gradient of a tie.

// rule gives an operation its VJP. The rules name operations of the table, so that they are set when the table is
// complete: as fields of the entries they would be initialization cycles.
func rule(d *OpDef, vjp func(t *Tape, op *Op, cts []*Value)) { d.VJP = vjp }

// unaryRule is the rule of a function of one operand: f gives the operand's cotangent from that of the result.
func unaryRule(d *OpDef, f func(t *Tape, x, y, ct *Value) *Value) {
	rule(d, func(t *Tape, op *Op, cts []*Value) { t.Add(op.Args[0], f(t, op.Args[0], op.Result(), cts[0])) })
}

// piecewise says that the derivative is 0 wherever there is one.
func piecewise(ds ...*OpDef) {
	for _, d := range ds {
		d.NoGrad = "it is constant between its steps, so that its derivative is 0"
	}
}

func init() { // init: see rule
	piecewise(OpSign, OpFloor, OpCeil, OpRound, OpTrunc)
	arithmeticRules()
	exponentialRules()
	trigonometricRules()
	activationRules()
}

func arithmeticRules() {
	rule(OpAdd, func(t *Tape, op *Op, cts []*Value) {
		t.Add(op.Args[0], cts[0])
		t.Add(op.Args[1], cts[0])
	})
	rule(OpSub, func(t *Tape, op *Op, cts []*Value) {
		t.Add(op.Args[0], cts[0])
		if t.Needs(op.Args[1]) {
			t.Add(op.Args[1], t.neg(cts[0]))
		}
	})
	rule(OpMul, func(t *Tape, op *Op, cts []*Value) {
		x, y := op.Args[0], op.Args[1]
		if t.Needs(x) {
			t.Add(x, t.mul(cts[0], y))
		}
		if t.Needs(y) {
			t.Add(y, t.mul(cts[0], x))
		}
	})
	rule(OpDiv, func(t *Tape, op *Op, cts []*Value) {
		x, y := op.Args[0], op.Args[1]
		g := t.div(cts[0], y)
		t.Add(x, g)
		if t.Needs(y) {
			t.Add(y, t.neg(t.mul(g, op.Result())))
		}
	})
	rule(OpRem, func(t *Tape, op *Op, cts []*Value) {
		x, y := op.Args[0], op.Args[1]
		t.Add(x, cts[0])
		if t.Needs(y) {
			t.Add(y, t.neg(t.mul(cts[0], t.Emit(OpTrunc, nil, t.div(x, y)))))
		}
	})
	unaryRule(OpNeg, func(t *Tape, _, _, ct *Value) *Value { return t.neg(ct) })
	unaryRule(OpAbs, func(t *Tape, x, _, ct *Value) *Value { return t.mul(ct, t.Emit(OpSign, nil, x)) })
	extreme := func(d, first *OpDef) {
		rule(d, func(t *Tape, op *Op, cts []*Value) {
			x, y := op.Args[0], op.Args[1]
			wins, zero := t.Emit(first, nil, x, y), t.Fill(x, 0)
			if t.Needs(x) {
				t.Add(x, t.where(wins, cts[0], zero))
			}
			if t.Needs(y) {
				t.Add(y, t.where(wins, zero, cts[0]))
			}
		})
	}
	extreme(OpMax, OpGe)
	extreme(OpMin, OpLe)
	rule(OpFma, func(t *Tape, op *Op, cts []*Value) {
		x, y := op.Args[0], op.Args[1]
		if t.Needs(x) {
			t.Add(x, t.mul(cts[0], y))
		}
		if t.Needs(y) {
			t.Add(y, t.mul(cts[0], x))
		}
		t.Add(op.Args[2], cts[0])
	})
	rule(OpClamp, func(t *Tape, op *Op, cts []*Value) {
		x, lo, hi := op.Args[0], op.Args[1], op.Args[2]
		above := t.Emit(OpMax, nil, x, lo)
		inside, zero := t.Emit(OpLe, nil, above, hi), t.Fill(x, 0)
		g := t.where(inside, cts[0], zero)
		wins := t.Emit(OpGe, nil, x, lo)
		if t.Needs(x) {
			t.Add(x, t.where(wins, g, zero))
		}
		if t.Needs(lo) {
			t.Add(lo, t.where(wins, zero, g))
		}
		if t.Needs(hi) {
			t.Add(hi, t.where(inside, zero, cts[0]))
		}
	})
	rule(OpSelect, func(t *Tape, op *Op, cts []*Value) {
		c, x, y := op.Args[0], op.Args[1], op.Args[2]
		zero := t.Fill(x, 0)
		if t.Needs(x) {
			t.Add(x, t.where(c, cts[0], zero))
		}
		if t.Needs(y) {
			t.Add(y, t.where(c, zero, cts[0]))
		}
	})
	rule(OpRequire, func(t *Tape, op *Op, cts []*Value) { t.Add(op.Args[0], cts[0]) })
	rule(OpCast, func(t *Tape, op *Op, cts []*Value) {
		x := op.Args[0]
		if cut := t.broken[x]; cut != nil {
			brokenPath(cut, op)
		}
		t.Add(x, t.Emit(OpCast, A{"to": x.Type.Elem}, cts[0]))
	})
}

func exponentialRules() {
	over := func(t *Tape, ct, x *Value, by float64) *Value { return t.div(ct, t.scale(x, by)) }
	unaryRule(OpExp, func(t *Tape, _, y, ct *Value) *Value { return t.mul(ct, y) })
	unaryRule(OpExp2, func(t *Tape, _, y, ct *Value) *Value { return t.mul(ct, t.scale(y, math.Ln2)) })
	unaryRule(OpExpm1, func(t *Tape, x, _, ct *Value) *Value { return t.mul(ct, t.Emit(OpExp, nil, x)) })
	unaryRule(OpLog, func(t *Tape, x, _, ct *Value) *Value { return t.div(ct, x) })
	unaryRule(OpLog2, func(t *Tape, x, _, ct *Value) *Value { return over(t, ct, x, math.Ln2) })
	unaryRule(OpLog10, func(t *Tape, x, _, ct *Value) *Value { return over(t, ct, x, math.Ln10) })
	unaryRule(OpLog1p, func(t *Tape, x, _, ct *Value) *Value { return t.div(ct, t.add(x, t.Fill(x, 1))) })
	unaryRule(OpSqrt, func(t *Tape, _, y, ct *Value) *Value { return over(t, ct, y, 2) })
	unaryRule(OpRsqrt, func(t *Tape, x, y, ct *Value) *Value { return t.neg(t.mul(ct, t.div(y, t.scale(x, 2)))) })
	unaryRule(OpCbrt, func(t *Tape, _, y, ct *Value) *Value { return over(t, ct, t.mul(y, y), 3) })
	rule(OpPow, func(t *Tape, op *Op, cts []*Value) {
		x, y, r := op.Args[0], op.Args[1], op.Result()
		zero := t.Fill(x, 0)
		if t.Needs(x) { // x^0 is 1 for every x
			d := t.mul(y, t.Emit(OpPow, nil, x, t.sub(y, t.Fill(y, 1))))
			t.Add(x, t.mul(cts[0], t.where(t.Emit(OpEq, nil, y, zero), zero, d)))
		}
		if t.Needs(y) { // 0^y is 0 for every positive y
			d := t.mul(r, t.Emit(OpLog, nil, x))
			flat := t.Emit(OpAnd, nil, t.Emit(OpEq, nil, x, zero), t.Emit(OpGe, nil, y, zero))
			t.Add(y, t.mul(cts[0], t.where(flat, zero, d)))
		}
	})
}

func trigonometricRules() {
	one := func(t *Tape, x *Value) *Value { return t.Fill(x, 1) }
	square := func(t *Tape, x *Value) *Value { return t.mul(x, x) }
	// root is sqrt(1 - x^2), accurate near 1.
	root := func(t *Tape, x *Value) *Value {
		return t.Emit(OpSqrt, nil, t.mul(t.sub(one(t, x), x), t.add(one(t, x), x)))
	}
	unaryRule(OpSin, func(t *Tape, x, _, ct *Value) *Value { return t.mul(ct, t.Emit(OpCos, nil, x)) })
	unaryRule(OpCos, func(t *Tape, x, _, ct *Value) *Value { return t.neg(t.mul(ct, t.Emit(OpSin, nil, x))) })
	unaryRule(OpTan, func(t *Tape, _, y, ct *Value) *Value { return t.mul(ct, t.add(one(t, y), square(t, y))) })
	unaryRule(OpAsin, func(t *Tape, x, _, ct *Value) *Value { return t.div(ct, root(t, x)) })
	unaryRule(OpAcos, func(t *Tape, x, _, ct *Value) *Value { return t.neg(t.div(ct, root(t, x))) })
	unaryRule(OpAtan, func(t *Tape, x, _, ct *Value) *Value { return t.div(ct, t.add(one(t, x), square(t, x))) })
	rule(OpAtan2, func(t *Tape, op *Op, cts []*Value) {
		y, x := op.Args[0], op.Args[1]
		g := t.div(cts[0], t.add(square(t, x), square(t, y)))
		if t.Needs(y) {
			t.Add(y, t.mul(g, x))
		}
		if t.Needs(x) {
			t.Add(x, t.neg(t.mul(g, y)))
		}
	})
	unaryRule(OpSinh, func(t *Tape, x, _, ct *Value) *Value { return t.mul(ct, t.Emit(OpCosh, nil, x)) })
	unaryRule(OpCosh, func(t *Tape, x, _, ct *Value) *Value { return t.mul(ct, t.Emit(OpSinh, nil, x)) })
	unaryRule(OpTanh, func(t *Tape, _, y, ct *Value) *Value { return t.mul(ct, t.sub(one(t, y), square(t, y))) })
}

func activationRules() {
	// bell is exp(-s*x^2) * by.
	bell := func(t *Tape, x *Value, s, by float64) *Value {
		return t.scale(t.Emit(OpExp, nil, t.scale(t.mul(x, x), -s)), by)
	}
	unaryRule(OpErf, func(t *Tape, x, _, ct *Value) *Value { return t.mul(ct, bell(t, x, 1, 2/math.Sqrt(math.Pi))) })
	unaryRule(OpRelu, func(t *Tape, x, _, ct *Value) *Value {
		zero := t.Fill(x, 0)
		return t.where(t.Emit(OpGt, nil, x, zero), ct, zero)
	})
	unaryRule(OpSigmoid, func(t *Tape, _, y, ct *Value) *Value { return t.mul(ct, t.mul(y, t.sub(t.Fill(y, 1), y))) })
	unaryRule(OpSilu, func(t *Tape, x, _, ct *Value) *Value {
		s, one := t.Emit(OpSigmoid, nil, x), t.Fill(x, 1)
		return t.mul(ct, t.mul(s, t.add(one, t.mul(x, t.sub(one, s)))))
	})
	unaryRule(OpGelu, func(t *Tape, x, _, ct *Value) *Value {
		below := t.scale(t.add(t.Fill(x, 1), t.Emit(OpErf, nil, t.scale(x, math.Sqrt2/2))), 0.5)
		return t.mul(ct, t.add(below, t.mul(x, bell(t, x, 0.5, 1/math.Sqrt(2*math.Pi)))))
	})
	unaryRule(OpSoftplus, func(t *Tape, x, _, ct *Value) *Value { return t.mul(ct, t.Emit(OpSigmoid, nil, x)) })
}
