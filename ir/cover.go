package ir

import "healc/lang/types"

// ReadsAll reports whether computing every element of the results of o reads every element of operand i,
// whatever the values are. Code that can fail may be moved into such a reader without hiding a failure.
func (o *Op) ReadsAll(i int) bool {
	x := o.Args[i].Type.Shape
	switch o.Def.Class {
	case Pointwise, Reduce, Host:
		return true
	case Contract:
		r := len(x)
		return provablyPositive(o.Args[1-i].Type.Shape[r-2+1-i]) // b's columns for a, a's rows for b
	}
	switch o.Def {
	case OpReshape, OpPermute, OpConcat, OpSort, OpArgsort:
		return true
	case OpGather:
		return i > 0 && nonEmpty(restOf(o.Args[0].Type.Shape, o.Ints("axes")))
	case OpTakeAlongAxis:
		return i == 1
	case OpScatterAdd:
		return i == 0 || provablyPositive(o.Type().Shape[o.Int("axis")])
	case OpBroadcast:
		to := o.Type().Shape
		for k, d := range to {
			j := k - (len(to) - len(x))
			if (j < 0 || !x[j].Equal(d)) && !provablyPositive(d) {
				return false
			}
		}
		return true
	case OpSlice:
		for k, step := range o.Ints("steps") {
			if step != 1 && step != -1 || !o.Type().Shape[k].Equal(x[k]) {
				return false
			}
		}
		return true
	case OpUpdate: // of the first operand, what is replaced is not read
		return i > 0 && (len(o.Ints("axes")) == 0 || nonEmpty(o.Type().Shape)) && (i == 1 || nonEmpty(o.Dims("shape")))
	case OpIndex, OpDynamicSlice:
		return i > 0 && nonEmpty(o.Type().Shape)
	case OpFold:
		return i == len(o.Args)-1 || nonEmpty(o.Type().Shape)
	case OpScan:
		return i == len(o.Args)-1 || nonEmpty(o.Type().Shape)
	case OpIf, OpIterate, OpIterateUntil:
		for _, r := range o.Results {
			if nonEmpty(r.Type.Shape) {
				return true
			}
		}
	}
	return false
}

func nonEmpty(s types.Shape) bool {
	for _, d := range s {
		if !provablyPositive(d) {
			return false
		}
	}
	return true
}

// FullyRead returns the values of b whose elements are all read when all elements of its yields are
// computed, and of the operations that can fail: those are evaluated even where nothing needs them.
func FullyRead(b *Block) map[*Value]bool {
	full := map[*Value]bool{}
	for _, y := range b.Yields {
		full[y] = true
	}
	for k := len(b.Ops) - 1; k >= 0; k-- {
		op := b.Ops[k]
		evaluated := op.MayFail() || op.Def.Traits.Has(Effect)
		for _, r := range op.Results {
			evaluated = evaluated || full[r]
		}
		if !evaluated {
			continue
		}
		for i, a := range op.Args {
			if op.ReadsAll(i) {
				full[a] = true
			}
		}
	}
	return full
}
