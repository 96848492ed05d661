package ir

// ReadsAll reports whether computing every element of the results of o reads every element of operand i,
// whatever the values are. Code that can fail may be moved into such a reader without hiding a failure.
func (o *Op) ReadsAll(i int) bool {
	switch {
	case o.Def.Reads != nil:
		return o.Def.Reads(o, i)
	case o.Def.Class == Contract:
		r := o.Args[i].Type.Rank()
		return o.Args[1-i].Type.Shape[r-2+1-i].AlwaysPositive() // b's columns for a, a's rows for b
	}
	return o.Def.Class == Pointwise || o.Def.Class == Reduce || o.Def.Class == Host
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
