package rows

import (
	"math"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Sorting by keys]
//
// What a row sorts by is an unsigned number, the key of an element, as wide as the element is: equal for elements that
// are equal and for all NaNs, and else in the order of `before`. A long row is sorted by the digits of its keys,
// without a comparison. Pass number k puts the elements in the order of digit k, those with the same digit in the order
// in which they were, from the lowest digit to the highest: that is a stable sort. How often there is each digit at
// each place is counted before, in one pass, so that it is known where the elements with a digit begin. A digit that
// all elements share needs no pass.
//
// What moves is a word an element: its bits, of which the key is made again in each pass, since a float cannot be had
// from its key; for argsort the key above the position in one word of 64 bits, or beside it in other memory where the
// key has 64 bits itself.
//
// In a short row there are more digits to count than elements. There the place of an element is the number of those
// with a lower key, which vectors count for some elements at a time, a comparison and a subtraction for each two; those
// with the same key stand behind each other, and the last loop, which goes through the row in order, counts them.

// keys makes keys of the elements of a type.
type keys struct {
	e    scalar.Emitter
	elem types.DType
	bits int64       // of a key
	word types.DType // of the bits of an element
	wide types.DType // what keys are computed in
}

func keysOf(e scalar.Emitter, elem types.DType) keys {
	k := keys{e: e, elem: elem, bits: int64(8 * elem.Bytes()), wide: types.U32}
	k.word = map[int64]types.DType{8: types.U8, 16: types.U16, 32: types.U32, 64: types.U64}[k.bits]
	if k.bits > 32 {
		k.wide = types.U64
	}
	return k
}

// keyedRow sorts one row.
type keyedRow struct {
	keys
	p         ir.RowPull
	n         types.Dim
	positions bool
	arg       func(i scalar.Ref) scalar.Ref // element i of the row
	source    ir.Memory                     // the row itself, or none
	words     ir.Memory                     // two for each element, once there is any
	ranks     []ir.Ranks                    // that are asked for, or none for all
}

// SortByKeys sorts a row of n elements, which arg gives, and source as well unless it is NoMemory. Only elements of
// the ranks need be in place, if there are any.
func SortByKeys(p ir.RowPull, elem types.DType, n types.Dim, positions bool, source ir.Memory,
	arg func(i scalar.Ref) scalar.Ref, ranks []ir.Ranks) {
	r := &keyedRow{keys: keysOf(p.E(), elem), p: p, n: n, positions: positions, arg: arg,
		source: source, words: ir.NoMemory, ranks: ranks}
	if r.bits >= 32 {
		r.work()
		p.Either(r.e.Compresses(r.e.Bool(true)), r.byParts, r.anywhere)
		return
	}
	r.anywhere()
}

// byParts has the processor sort the row (kernel.Sort): its elements, or for argsort words that are all different, the
// key of an element above its position, where it has room there.
func (r *keyedRow) byParts() {
	p, e, n := r.p, r.e, r.n
	data := ir.ResultRow
	if r.positions {
		data = r.words
		if r.bits > 32 {
			keys := p.Near(r.word, n)
			p.Fill(keys, n, func(i scalar.Ref) scalar.Ref { return r.key(r.raw(r.arg(i))) })
			p.SortPositions(data, keys, data, p.Extent(n), n, r.ranks...)
		} else {
			p.Fill(data, n, r.packed)
			p.Sort(data, data, data, p.Extent(n), n, r.ranks...)
		}
		r.result(func(i scalar.Ref) scalar.Ref { return e.Cast(types.I32, p.Read(data, i)) })
		return
	}
	if !p.Adjacent(data) {
		data = p.Near(r.elem, n)
	}
	source := r.source
	if source == ir.NoMemory {
		source = data
		p.Fill(data, n, r.arg)
	}
	p.Sort(data, source, r.words, r.int(0), n, r.ranks...)
	if data != ir.ResultRow {
		r.result(func(i scalar.Ref) scalar.Ref { return p.Read(data, i) })
	}
}

// result stores the elements of the result that are asked for, each once, also where ranges meet. A start that the row
// does not have is moved into it: whoever reads there finds out.
func (r *keyedRow) result(value func(i scalar.Ref) scalar.Ref) {
	p, e := r.p, r.e
	c, literal := r.n.Const()
	known := len(r.ranks) > 0 && literal
	for _, some := range r.ranks {
		size, ok := some.Size.Const()
		known = known && ok && size <= c
	}
	if !known {
		p.Fill(ir.ResultRow, r.n, value)
		return
	}
	var stored func(i scalar.Ref) scalar.Ref // whether ranges before have it; nil for none
	for _, some := range r.ranks {
		size, _ := some.Size.Const()
		first := e.Max(r.int(0), e.Min(some.First, r.int(c-size)))
		before := stored
		p.Apart(some.Size, 1, func(i scalar.Ref) {
			i = e.Add(first, i)
			store := func() { p.Write(ir.ResultRow, i, value(i)) }
			if before == nil {
				store()
				return
			}
			p.When(e.Not(before(i)), store)
		})
		stored = func(i scalar.Ref) scalar.Ref {
			within := e.And(e.Le(first, i), e.Lt(i, e.Add(first, r.int(size))))
			if before != nil {
				within = e.Or(before(i), within)
			}
			return within
		}
	}
}

// work makes the memory of the words that sorting moves.
func (r *keyedRow) work() {
	if r.words != ir.NoMemory {
		return
	}
	word := r.word
	if r.positions && r.bits <= 32 {
		word = types.U64
	}
	r.words = r.p.Near(word, doubled(r.n))
}

func doubled(n types.Dim) types.Dim {
	twice, err := n.Mul(types.Lit(2))
	if err != nil {
		panic("BUG: a row of an array is too long to be there twice")
	}
	return twice
}

// packed is the key of element i above its position, for keys of up to 32 bits.
func (r *keyedRow) packed(i scalar.Ref) scalar.Ref {
	e := r.e
	return e.Or(e.Shl(e.Cast(types.U64, r.key(r.raw(r.arg(i)))), e.Int(types.U64, 32)), e.Cast(types.U64, i))
}

// anywhere sorts the row on any processor.
func (r *keyedRow) anywhere() {
	p, n := r.p, r.n
	short := r.longestShort()
	c, literal := n.Const()
	switch {
	case literal && c <= short:
		r.byPlaces()
	case literal:
		r.byDigits()
	default:
		long := r.e.Lt(r.int(short), p.Extent(n))
		p.When(r.e.Not(long), r.byPlaces)
		p.When(long, r.byDigits)
	}
}

func (r *keyedRow) int(v int64) scalar.Ref { return r.e.Int(types.I64, v) }

// raw is the bits of an element; element is its inverse.
func (k keys) raw(x scalar.Ref) scalar.Ref {
	if k.elem == types.Bool {
		return k.e.Cast(k.word, x)
	}
	return k.e.Bitcast(k.word, x)
}

func (k keys) element(raw scalar.Ref) scalar.Ref {
	if k.elem == types.Bool {
		return k.e.Ne(raw, k.e.Int(k.word, 0))
	}
	return k.e.Bitcast(k.elem, raw)
}

// sign is the upper bit of a key.
func (k keys) sign() uint64 { return 1 << (k.bits - 1) }

// key is the key of the element with these bits.
func (k keys) key(raw scalar.Ref) scalar.Ref {
	e, t, sign := k.e, k.wide, k.sign()
	x := e.Cast(t, raw)
	switch {
	case k.elem.IsFloat():
		// Sign and magnitude become a number above or below the one of both zeros.
		size := e.And(x, e.Bits(t, sign-1))
		negative := e.Sub(e.Bits(t, 0), e.Shr(x, e.Bits(t, uint64(k.bits-1)))) // all bits, or none
		number := e.Add(e.Xor(size, negative), e.Sub(e.Bits(t, sign), negative))
		nan := e.Lt(e.Bits(t, scalar.FloatBits(k.elem, math.Inf(1))), size)
		return e.Select(nan, e.Bits(t, sign|(sign-1)), number)
	case k.elem.IsSigned():
		return e.Xor(x, e.Bits(t, sign))
	}
	return x
}

// longestShort is the length up to which places are counted. Digits take the same time with any vectors. Where these
// have 256 bits, places take half of it at these lengths, and three quarters of it with 8 bits; where they have 128,
// 1.2 times of it with 32 bits and as much with 16. Without instructions for 64 bits, as x86-64 was at first, places
// take 3.7 times of it there, which still is less than merging took. A count of 8 bits goes up to 127.
func (r *keyedRow) longestShort() int64 {
	switch r.bits {
	case 8:
		return 96
	case 16:
		return 128
	case 32:
		return 384
	}
	return 192
}

// byPlaces sorts a short row.
func (r *keyedRow) byPlaces() {
	p, e, n := r.p, r.e, r.n
	longest, literal := n.Const()
	if !literal {
		longest = r.longestShort()
	}
	// Whole groups are counted for, of which the last may have zeros behind the keys.
	group := int64(32)
	for group > 4 && group/2 >= longest {
		group /= 2
	}
	capacity := types.Lit((longest + group - 1) / group * group)
	// vectors compare signed numbers
	t := map[int64]types.DType{8: types.I8, 16: types.I16, 32: types.I32, 64: types.I64}[r.bits]
	raws, keys := p.Near(r.word, capacity), p.Near(t, capacity)
	places, taken := p.Near(t, capacity), p.Near(t, capacity)
	zero := func(scalar.Ref) scalar.Ref { return e.Int(t, 0) }
	p.Fill(raws, n, func(i scalar.Ref) scalar.Ref { return r.raw(r.arg(i)) })
	p.Fill(keys, capacity, zero)
	p.Fill(keys, n, func(i scalar.Ref) scalar.Ref {
		return e.Bitcast(t, e.Cast(r.word, e.Xor(r.key(p.Read(raws, i)), e.Bits(r.wide, r.sign()))))
	})
	p.Fill(taken, capacity, zero)
	p.Apart(n, group, func(g scalar.Ref) {
		p.Apart(types.Lit(group), 1, func(lane scalar.Ref) {
			i := e.Add(e.Mul(g, r.int(group)), lane)
			mine := p.Read(keys, i)
			place := p.Each(n, []scalar.Ref{e.Int(t, 0)}, func(j scalar.Ref, sum []scalar.Ref) []scalar.Ref {
				return []scalar.Ref{e.Add(sum[0], e.Cast(t, e.Lt(p.Read(keys, j), mine)))}
			})
			p.Write(places, i, place[0])
		})
	})
	p.Each(n, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
		place := e.Cast(types.I64, p.Read(places, i))
		same := p.Read(taken, place)
		p.Write(taken, place, e.Add(same, e.Int(t, 1)))
		x := e.Cast(types.I32, i)
		if !r.positions {
			x = r.element(p.Read(raws, i))
		}
		p.Write(ir.ResultRow, e.Add(place, e.Cast(types.I64, same)), x)
		return nil
	})
}

// digit is the number of bits of a digit. Longer ones are fewer passes, but more counts, which are all gone through for
// each row.
func (r *keyedRow) digit() int64 {
	if c, literal := r.n.Const(); literal && c >= 2048 && r.bits >= 32 {
		return 11
	}
	return 8
}

// byDigits sorts a long row.
// One program of scalar instructions, in the order in which they run.
func (r *keyedRow) byDigits() {
	p, e, n := r.p, r.e, r.n
	packed := r.positions && r.bits <= 32
	wide, key := r.wide, r.key
	low := int64(0) // where the key begins in a word
	if packed {
		wide, low = types.U64, 32
	}
	if r.positions {
		key = func(x scalar.Ref) scalar.Ref { return x }
	}
	r.work()
	words, pos := r.words, ir.NoMemory
	p.Fill(words, n, func(i scalar.Ref) scalar.Ref {
		if packed {
			return r.packed(i)
		}
		x := r.raw(r.arg(i))
		if r.positions {
			return r.key(x)
		}
		return x
	})
	if r.positions && !packed {
		pos = p.Near(types.I32, doubled(n))
		p.Fill(pos, n, func(i scalar.Ref) scalar.Ref { return e.Cast(types.I32, i) })
	}

	width := r.digit()
	kinds, passes := int64(1)<<width, (r.bits+width-1)/width
	counts := p.Near(types.U32, types.Lit(passes*kinds))
	count := func(n int64) scalar.Ref { return e.Int(types.U32, n) }
	digit := func(k, shift scalar.Ref) scalar.Ref {
		return e.Cast(types.I64, e.And(e.Shr(k, shift), e.Int(wide, kinds-1)))
	}
	p.Fill(counts, types.Lit(passes*kinds), func(scalar.Ref) scalar.Ref { return count(0) })
	p.Each(n, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
		k := key(p.Read(words, i))
		for pass := range passes {
			at := e.Add(r.int(pass*kinds), digit(k, e.Int(wide, low+pass*width)))
			p.Write(counts, at, e.Add(p.Read(counts, at), count(1)))
		}
		return nil
	})

	size := p.Extent(n)
	from := p.Each(types.Lit(passes), []scalar.Ref{r.int(0)}, func(pass scalar.Ref, half []scalar.Ref) []scalar.Ref {
		from, to := half[0], e.Sub(size, half[0])
		first := e.Mul(pass, r.int(kinds))
		shift := e.Cast(wide, e.Add(e.Mul(pass, r.int(width)), r.int(low)))
		place := func(x scalar.Ref) scalar.Ref { return e.Add(first, digit(key(x), shift)) }
		several := e.Ne(e.Cast(types.I64, p.Read(counts, place(p.Read(words, from)))), size)
		p.When(several, func() {
			p.Each(types.Lit(kinds), []scalar.Ref{count(0)}, func(d scalar.Ref, sum []scalar.Ref) []scalar.Ref {
				at := e.Add(first, d)
				c := p.Read(counts, at)
				p.Write(counts, at, sum[0])
				return []scalar.Ref{e.Add(sum[0], c)}
			})
			p.Each(n, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
				x := p.Read(words, e.Add(from, i))
				at := place(x)
				c := p.Read(counts, at)
				p.Write(counts, at, e.Add(c, count(1)))
				dst := e.Add(to, e.Cast(types.I64, c))
				p.Write(words, dst, x)
				if pos != ir.NoMemory {
					p.Write(pos, dst, p.Read(pos, e.Add(from, i)))
				}
				return nil
			})
		})
		return []scalar.Ref{e.Select(several, to, from)}
	})[0]
	p.Fill(ir.ResultRow, n, func(i scalar.Ref) scalar.Ref {
		at := e.Add(from, i)
		switch {
		case pos != ir.NoMemory:
			return p.Read(pos, at)
		case packed:
			return e.Cast(types.I32, p.Read(words, at))
		}
		return r.element(p.Read(words, at))
	})
}
