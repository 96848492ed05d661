package rows

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Sorted elements one by one]
//
// A kernel without memory, such as a function of scalars that calls itself, asks for one element of a sorted row, by
// its rank. The key of that element (Note [Sorting by keys]) is found bit by bit, from the highest: of the elements
// whose keys begin with the bits that are known, those are counted that go on with a 0. Where the rank is below their
// number the bit is 0; else it is 1, and they come before. What is left of the rank says which of the elements with
// this key it is. That is one pass over the row for each bit, and one more. In a row with fewer elements than that it
// is as good to count for each element those that come before it.

// pairsUpTo is the length up to which elements are compared in pairs: as many as a key of 64 bits needs passes.
const pairsUpTo = 64

// Passes is how often Picked goes through a row of so many elements.
func Passes(elem types.DType, n float64) float64 {
	if n <= pairsUpTo {
		return n
	}
	return float64(8*elem.Bytes() + 1)
}

// Picked is the element of a sorted row that has this rank, or its position, an I32. elements has the row.
func Picked(p ir.Pull, elem types.DType, n types.Dim, positions bool, rank scalar.Ref,
	element func(i scalar.Ref) scalar.Ref) scalar.Ref {
	r := pick{p: p, elem: elem, n: []types.Dim{n}, positions: positions, element: element}
	if c, literal := n.Const(); literal && c <= pairsUpTo {
		return r.byPairs(rank)
	}
	return r.byBits(rank)
}

type pick struct {
	p         ir.Pull
	elem      types.DType
	n         []types.Dim
	positions bool
	element   func(i scalar.Ref) scalar.Ref
}

// nothing is what is found before anything is.
func (r *pick) nothing() scalar.Ref {
	if r.positions {
		return r.p.E().Int(types.I32, 0)
	}
	return r.p.E().Int(r.elem, 0)
}

// result is what is asked for of an element.
func (r *pick) result(i, x scalar.Ref) scalar.Ref {
	if r.positions {
		return r.p.E().Cast(types.I32, i)
	}
	return x
}

// byPairs finds the element before which as many others come as the rank says.
func (r *pick) byPairs(rank scalar.Ref) scalar.Ref {
	p := r.p
	return p.Loop(r.n, 0, []scalar.Ref{r.nothing()}, func(i, found []scalar.Ref) []scalar.Ref {
		mine := r.element(i[0])
		before := p.Loop(r.n, 0, []scalar.Ref{p.E().Int(types.I64, 0)}, func(j, sum []scalar.Ref) []scalar.Ref {
			other := r.element(j[0])
			e := p.E()
			first := e.Or(Before(e, other, mine), e.And(e.Lt(j[0], i[0]), e.Not(Before(e, mine, other))))
			return []scalar.Ref{e.Add(sum[0], e.Cast(types.I64, first))}
		})[0]
		value := r.result(i[0], mine)
		e := p.E()
		return []scalar.Ref{e.Select(e.Eq(before, rank), value, found[0])}
	})[0]
}

// byBits finds the key of the element bit by bit.
func (r *pick) byBits(rank scalar.Ref) scalar.Ref {
	p := r.p
	keyAt := func(i scalar.Ref) (x, key scalar.Ref) {
		x = r.element(i)
		k := keysOf(p.E(), r.elem)
		return x, k.key(k.raw(x))
	}
	k := keysOf(p.E(), r.elem)
	wide := k.wide
	start := []scalar.Ref{k.e.Bits(wide, 0), rank}
	state := p.Loop([]types.Dim{types.Lit(k.bits)}, 0, start, func(at, state []scalar.Ref) []scalar.Ref {
		e := p.E()
		below := e.Cast(wide, e.Sub(e.Int(types.I64, k.bits-1), at[0])) // how many bits come after this one
		known := e.Shr(state[0], below)                                 // with a 0 for this one
		zeros := p.Loop(r.n, 0, []scalar.Ref{e.Int(types.I64, 0)}, func(i, sum []scalar.Ref) []scalar.Ref {
			_, key := keyAt(i[0])
			e := p.E()
			return []scalar.Ref{e.Add(sum[0], e.Cast(types.I64, e.Eq(e.Shr(key, below), known)))}
		})[0]
		e = p.E()
		one := e.Le(zeros, state[1])
		return []scalar.Ref{
			e.Select(one, e.Or(state[0], e.Shl(e.Bits(wide, 1), below)), state[0]),
			e.Select(one, e.Sub(state[1], zeros), state[1]),
		}
	})
	e := p.E()
	return p.Loop(r.n, 0, []scalar.Ref{r.nothing(), e.Int(types.I64, 0)}, func(i, found []scalar.Ref) []scalar.Ref {
		x, key := keyAt(i[0])
		value := r.result(i[0], x)
		e := p.E()
		same := e.Eq(key, state[0])
		hit := e.And(same, e.Eq(found[1], state[1]))
		return []scalar.Ref{e.Select(hit, value, found[0]), e.Add(found[1], e.Cast(types.I64, same))}
	})[0]
}
