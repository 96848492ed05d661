package transcripts

import (
	"math/big"
	"slices"
)

// The operations of random transcripts. Each records a use and computes what it gives.

// partner is a shape that broadcasts to a given one.
func (g *generator) partner(shape []int64) []int64 {
	s := slices.Clone(shape[g.IntN(len(shape)+1):])
	for i := range s {
		if g.IntN(4) == 0 {
			s[i] = 1
		}
	}
	return s
}

// positive uploads moduli.
func (g *generator) positive(shape []int64, d string) any {
	x := newTen(d, shape)
	x.fill(func([]int64) int64 { return g.modulus(d) })
	return g.send(x, d)
}

func (g *generator) modular() {
	d, shape := g.some(), g.shape()
	if g.IntN(2) == 0 {
		x := g.named[g.pick()]
		d, shape = x.d, x.shape
		if d == "int8" {
			d = "int32"
		}
	}
	var a any
	for _, n := range g.names { // any tensor that broadcasts, or a new one
		x := g.named[n]
		fits := len(x.shape) <= len(shape) && (x.d == d || x.d == "int8" || x.d == "int32" && d == "int64") &&
			g.IntN(2) == 0
		for i := 0; fits && i < len(x.shape); i++ {
			e := shape[len(shape)-len(x.shape)+i]
			fits = x.shape[i] == e || x.shape[i] == 1
		}
		if fits {
			a = n
			break
		}
	}
	if a == nil {
		a = g.upload(shape, d)
	}
	var b, p any
	bv, pv := g.element(d), g.modulus(d)
	two, kinds := g.IntN(4) > 0, "t"
	if two {
		kinds += []string{"t", "c"}[g.IntN(2)]
	}
	kinds += []string{"t", "c"}[g.IntN(2)]
	if two && kinds[1] == 't' {
		b = g.upload(g.partner(shape), d)
	}
	if kinds[len(kinds)-1] == 't' {
		p = g.positive(g.partner(shape), d)
	}
	// The name of a may have moved while the others were made.
	if x := g.named[a]; x == nil || !broadcasts(x.shape, shape) || x.d == "int64" && d == "int32" {
		return
	}
	args := []obj{g.tensor(a)}
	get := func(n any, v int64) func(at []int64) int64 {
		if n == nil {
			return func([]int64) int64 { return v }
		}
		return g.named[n].wide
	}
	add := func(n any, v int64) bool {
		if n == nil {
			args = append(args, integer(v))
			return true
		}
		x := g.named[n]
		args = append(args, g.tensor(n))
		return x.d == d && broadcasts(x.shape, shape)
	}
	if two && !add(b, bv) || !add(p, pv) {
		return
	}
	full := []int64{}
	for _, n := range []any{a, b, p} {
		if n != nil {
			full = widest(full, g.named[n].shape)
		}
	}
	out := g.output(full, d)
	for i, n := range []any{a, b, p} { // a new output may have taken one of the names
		if n != nil && out == n && !slices.Equal(g.named[n].shape, full) {
			return
		}
		if n != nil && g.named[n].mem == g.named[out].mem && !slices.Equal(g.named[n].shape, full) {
			return // broadcasting would enlarge an input that shares memory
		}
		if i == 2 && n != nil && out == n && slices.Contains(g.named[n].values(), 0) {
			return
		}
	}
	fa, fb, fp := get(a, 0), get(b, bv), get(p, pv)
	y := g.named[out]
	name := "_modneg_"
	switch {
	case !two:
		y.fill(func(at []int64) int64 { return modulo(new(big.Int).Neg(big.NewInt(fa(at))), fp(at)) })
	case g.IntN(2) == 0:
		name = "_modmul_"
		y.fill(func(at []int64) int64 { return mulMod(fa(at), fb(at), fp(at)) })
	default:
		name = "_modsum_"
		y.fill(func(at []int64) int64 { return addMod(fa(at), fb(at), fp(at)) })
	}
	g.result(name+kinds, out, append(args, g.tensor(out))...)
}

func broadcasts(from, to []int64) bool {
	if len(from) > len(to) {
		return false
	}
	for i, n := range from {
		if n != 1 && n != to[len(to)-len(from)+i] {
			return false
		}
	}
	return true
}

// widest is the shape that two broadcast to, one of which may have leading axes more.
func widest(a, b []int64) []int64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, n := range b {
		if k := len(a) - len(b) + i; out[k] == 1 {
			out[k] = n
		}
	}
	return out
}

func (g *generator) remainder() {
	a := g.pick()
	x := g.named[a]
	if x.d == "int8" {
		return
	}
	d, shape := x.d, x.shape
	divisor := newTen(d, shape)
	divisor.fill(func([]int64) int64 {
		for {
			if v := g.element(d); v != 0 {
				return v
			}
		}
	})
	kind := g.IntN(3)
	c := g.modulus(d)
	args, fa, fb := []obj{g.tensor(a)}, x.get, func(...int64) int64 { return c }
	switch kind {
	case 0:
		args = append(args, integer(c))
	default:
		b := g.send(divisor, d)
		if g.named[a] != x {
			return
		}
		fb = g.named[b].get
		args = append(args, g.tensor(b))
		if kind == 2 {
			fa = func(...int64) int64 { return c }
			args[0] = integer(c)
		}
	}
	out := g.fresh(shape, d)
	g.named[out].fill(func(at []int64) int64 { return fa(at...) % fb(at...) })
	// fresh may take the name of an operand; the tensor behind it is then another one.
	for _, o := range args {
		if o["arg_type"].(obj)["value"] == "DEVICE_TENSOR" && o["value"].(obj)["inf_name"] == out {
			g.bind(out, newTen(d, shape))
			return
		}
	}
	g.result([]string{"_mod_tc", "_mod_tt", "_mod_ct"}[kind], out, append(args, g.tensor(out))...)
}

// own uploads a tensor of a given shape under a name that nothing else has.
func (g *generator) own(x *ten) any {
	g.next++
	return g.sendAs(g.next, x, x.d)
}

// random is a tensor of random elements, all in [0, p) in half of the cases.
func (g *generator) random(d string, shape []int64, p int64) *ten {
	x := newTen(d, shape)
	inside := g.IntN(2) == 0
	x.fill(func([]int64) int64 {
		v := g.element(d)
		if inside {
			v = modulo(big.NewInt(v), p)
		}
		return v
	})
	return x
}

// bare is output with a name of its own.
func (g *generator) bare(shape []int64, d string) any {
	x := g.random(d, shape, 1<<30)
	return g.own(x)
}

func (g *generator) axisSum() {
	d := g.some()
	shape := append(g.shape(), 1+g.Int64N(4))
	if len(shape) < 2 {
		return
	}
	axis := g.IntN(len(shape) - 1)
	k := shape[len(shape)-1]
	p := newTen(d, [][]int64{{}, {1}, {k}}[g.IntN(3)])
	p.fill(func([]int64) int64 { return g.modulus(d) })
	a, pn := g.own(g.random(d, shape, 100)), g.own(p)
	out := g.bare(slices.Delete(slices.Clone(shape), axis, axis+1), d)
	x := g.named[a]
	g.named[out].fill(func(at []int64) int64 {
		sum := int64(0)
		for i := range shape[axis] {
			sum = addMod(sum, x.get(slices.Insert(slices.Clone(at), axis, i)...), p.wide(at))
		}
		return modulo(big.NewInt(sum), p.wide(at))
	})
	written := int64(axis)
	if g.IntN(2) == 0 {
		written -= int64(len(shape))
	}
	g.result("axis_modsum", out, g.tensor(a), integer(written), g.tensor(pn), g.tensor(out))
}

func (g *generator) productSum() {
	d := g.some()
	reps, n, sum, k := 1+g.Int64N(3), 1+g.Int64N(5), g.Int64N(5), 1+g.Int64N(3)
	last := g.IntN(2) == 0 // axis -1
	as, bs, os := []int64{reps, n, sum, k}, []int64{n, sum, k}, []int64{reps, n, k}
	if last {
		as, bs, os = []int64{reps, sum, k, n}, []int64{sum, k, n}, []int64{reps, k, n}
	}
	p := newTen(d, []int64{k})
	p.fill(func([]int64) int64 { return g.modulus(d) })
	perm := newTen("int64", []int64{n})
	order := g.Perm(int(n))
	perm.fill(func(at []int64) int64 { return int64(order[at[0]]) })
	a, b, pn, permn := g.own(g.random(d, as, 1000)), g.own(g.random(d, bs, 1000)), g.own(p), g.own(perm)
	out := g.bare(os, d)
	x, y, z := g.named[a], g.named[b], g.named[out]
	apply := g.IntN(2) == 0
	for r := range reps {
		for i := range n {
			to := i
			if apply {
				to = perm.get(i)
			}
			for c := range k {
				total := int64(0)
				for s := range sum {
					if last {
						total = addMod(total, mulMod(x.get(r, s, c, i), y.get(s, c, to), p.get(c)), p.get(c))
					} else {
						total = addMod(total, mulMod(x.get(r, i, s, c), y.get(to, s, c), p.get(c)), p.get(c))
					}
				}
				at := []int64{r, to, c}
				if last {
					at = []int64{r, c, to}
				}
				z.set(addMod(z.get(at...), total, p.get(c)), at...)
			}
		}
	}
	table := obj(none())
	if g.IntN(2) == 0 {
		table = g.tensor(pn)
	}
	permArg := g.tensor(permn)
	if !apply && g.IntN(2) == 0 {
		permArg = none()
	}
	args := []obj{g.tensor(a), g.tensor(b), g.tensor(pn), table, table, permArg, g.tensor(out), integer(apply)}
	if !last {
		args = append(args, integer(-3))
	} else if g.IntN(2) == 0 {
		args = append(args, integer(-1))
	}
	g.result("modmul_axis_sum", out, args...)
}

// primes are 1 modulo 32; for longer transforms, some of them are.
var primes = []int64{97, 193, 257, 7681, 12289, 1004535809, 2013265921}

func (g *generator) transform() {
	m := int64(1) << g.IntN(5+g.IntN(6)/5*3)
	k := 1 + g.Int64N(3)
	tile := g.IntN(3) == 0
	if tile {
		k = 2
	}
	d := "int64"
	if g.IntN(3) == 0 {
		d = "int32"
	}
	l, r := 1+g.Int64N(2), 1+g.Int64N(2)
	back := g.IntN(2) == 0
	last := g.IntN(2) == 0
	shape := []int64{l, m, r, k}
	if last {
		shape = []int64{l, r, k, m}
	}
	q, psi, scale := newTen(d, []int64{k}), newTen(d, []int64{k, m}), newTen(d, []int64{k})
	roots := make([]int64, k)
	for c := range k {
		p := primes[g.IntN(len(primes))]
		for (p-1)%(2*m) != 0 {
			p = primes[g.IntN(len(primes))]
		}
		q.set(p, c)
		roots[c] = root(p, 2*m)
		for i := range m {
			e := bitrev(i, m)
			if back {
				e = (2*m - e) % (2 * m)
			}
			psi.set(powMod(roots[c], e, p), c, i)
		}
		scale.set(powMod(m, p-2, p), c)
	}
	perm := newTen("int64", []int64{m})
	order := g.Perm(int(m))
	perm.fill(func(at []int64) int64 { return int64(order[at[0]]) })
	input := slices.Clone(shape)
	channel := 3
	if last {
		channel = 2
	}
	if tile {
		input[channel] = 1
	}
	ad := d
	if g.IntN(4) == 0 {
		ad = "int8"
	}
	a := g.own(g.random(ad, input, 100))
	qn, psin, permn, scalen := g.own(q), g.own(psi), g.own(perm), g.own(scale)
	out := g.bare(shape, d)
	x, z := g.named[a], g.named[out]
	skip := !back && g.IntN(3) == 0
	positions := perm.values()
	if skip {
		for i := range positions {
			positions[i] = int64(i)
		}
	}
	for i := range l {
		for j := range r {
			for c := range k {
				at := func(n int64) []int64 {
					if last {
						return []int64{i, j, c, n}
					}
					return []int64{i, n, j, c}
				}
				line := make([]int64, m)
				for n := range m {
					from := at(n)
					if tile {
						from[channel] = 0
					}
					line[n] = modulo(big.NewInt(x.get(from...)), q.get(c))
				}
				if back {
					line = restored(line, roots[c], q.get(c), positions)
				} else {
					line = transformed(line, roots[c], q.get(c), positions)
				}
				for n, v := range line {
					z.set(v, at(int64(n))...)
				}
			}
		}
	}
	args := []obj{g.tensor(a)}
	if last {
		args = append(args, integer(-1))
	} else if g.IntN(2) == 0 {
		args = append(args, integer(-3))
	}
	args = append(args, g.tensor(permn), none(), g.tensor(qn), none(), g.tensor(qn), g.tensor(psin))
	if back {
		g.result("intt", out, append(args, g.tensor(scalen), g.tensor(out), integer(tile))...)
	} else {
		g.result("ntt", out, append(args, g.tensor(out), integer(tile), integer(skip))...)
	}
}

func (g *generator) takeAlong() {
	a := g.pick()
	x := g.named[a]
	if len(x.shape) == 0 || slices.Contains(x.shape, 0) {
		return
	}
	axis := g.IntN(len(x.shape))
	shape := slices.Clone(x.shape)
	for i := range shape {
		if i == axis {
			shape[i] = 1 + g.Int64N(4)
		} else if g.IntN(4) == 0 {
			shape[i] = 1
		}
	}
	idx := newTen([]string{"int32", "int64"}[g.IntN(2)], shape)
	n := x.shape[axis]
	idx.fill(func([]int64) int64 { return g.Int64N(2*n) - n })
	full := slices.Clone(x.shape)
	full[axis] = shape[axis]
	i, out := g.own(idx), g.bare(full, x.d)
	g.named[out].fill(func(at []int64) int64 {
		at[axis] = (idx.wide(at) + n) % n
		return x.get(at...)
	})
	g.result("take_along_axis", out, g.tensor(a), g.tensor(i), integer(axis-g.IntN(2)*len(full)), g.tensor(out))
}

func (g *generator) digits() {
	a := g.pick()
	x := g.named[a]
	if x.d == "int8" {
		return
	}
	power, bits := 1+g.Int64N(5), 1+g.Int64N(12)
	d := x.d
	if g.IntN(2) == 0 {
		d = "int8"
	}
	out := g.bare(append(slices.Clone(x.shape), power), d)
	g.named[out].fill(func(at []int64) int64 {
		v := x.get(at[:len(at)-1]...)
		for range at[len(at)-1] {
			v >>= bits
		}
		return wrap(d, v&(1<<bits-1))
	})
	g.result("apply_g_decomp", out, g.tensor(a), integer(power), integer(bits), g.tensor(out))
}

func (g *generator) digitsFull() {
	d := "int64"
	moduli := [][]int64{{97}, {3, 5}, {97, 101, 103}, {539754497, 565374977},
		{2013265921, 1004535809, 12289, 7681}}[g.IntN(5)]
	k := int64(len(moduli))
	q := newTen(d, []int64{k})
	q.fill(func(at []int64) int64 { return moduli[at[0]] })
	shape := []int64{1 + g.Int64N(2), k, 1 + g.Int64N(3)}
	power, bits := 1+g.Int64N(6), 1+g.Int64N(20)
	x := g.random(d, shape, 97)
	a, qn := g.own(x), g.own(q)
	out := g.bare([]int64{shape[0], power, shape[2]}, d)
	all := big.NewInt(1)
	for _, m := range moduli {
		all.Mul(all, big.NewInt(m))
	}
	g.named[out].fill(func(at []int64) int64 {
		n := new(big.Int)
		for i, m := range moduli { // the Chinese remainder theorem
			rest := new(big.Int).Div(all, big.NewInt(m))
			inverse := new(big.Int).ModInverse(rest, big.NewInt(m))
			n.Add(n, rest.Mul(rest, inverse).Mul(rest, big.NewInt(x.get(at[0], int64(i), at[2]))))
		}
		n.Mod(n, all).Rsh(n, uint(at[1]*bits))
		return n.And(n, big.NewInt(1<<bits-1)).Int64()
	})
	g.result("apply_g_decomp_relative_to_full_q", out, g.tensor(a), g.tensor(qn), none(), integer(power), integer(bits),
		integer(5), none(), g.tensor(out))
}

func (g *generator) absolute() {
	a := g.pick()
	x := g.named[a]
	positive := func(at []int64) int64 {
		if v := x.get(at...); v < 0 {
			return wrap(x.d, -v)
		}
		return x.get(at...)
	}
	if g.IntN(2) == 0 {
		y := newTen(x.d, x.shape)
		y.fill(positive)
		g.view("abs", y, g.tensor(a))
		return
	}
	out := g.output(x.shape, x.d)
	if g.named[a] != x || g.named[out] != x && g.named[out].mem == x.mem {
		return
	}
	g.named[out].fill(positive)
	g.result("abs", out, g.tensor(a), g.tensor(out))
}

func (g *generator) pad() {
	a := g.pick()
	x := g.named[a]
	if len(x.shape) == 0 {
		return
	}
	axis, n := g.IntN(len(x.shape)), g.Int64N(4)
	shape := slices.Clone(x.shape)
	shape[axis] += n
	out := g.bare(shape, x.d)
	g.named[out].fill(func(at []int64) int64 {
		if at[axis] >= x.shape[axis] {
			return 0
		}
		return x.get(at...)
	})
	g.result("pad_single_axis", out, g.tensor(a), integer(n), integer(axis-g.IntN(2)*len(shape)), g.tensor(out))
}

func (g *generator) constant() {
	n := g.pick()
	x := g.named[n]
	if !x.writable() {
		return
	}
	v := g.element(x.d)
	args := []obj{g.tensor(n), integer(v)}
	if g.IntN(2) == 0 {
		args = append(args, g.tensor(n))
	}
	x.fill(func([]int64) int64 { return v })
	g.result("set_const_val", n, args...)
}
