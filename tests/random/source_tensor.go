package random

import (
	"fmt"
	"slices"
	"strings"
)

type vecExpr struct {
	text string
	eval func(m *machine) vector
}

// vec is a random expression of type i32[4].
func (g *sourceGen) vec(vars []string, depth int) vecExpr {
	g.hold++
	defer func() { g.hold-- }()
	if depth <= 0 {
		return g.vecLeaf(vars)
	}
	x := g.vec(vars, depth-1)
	switch g.r.IntN(12) {
	case 0:
		y := g.vec(vars, depth-1)
		return vecExpr{"(" + x.text + " + " + y.text + ")", func(m *machine) vector {
			return x.eval(m).zip(y.eval(m), func(a, b int32) int32 { return a + b })
		}}
	case 1:
		e := g.expr(vars, depth-1)
		return vecExpr{"(" + x.text + " * " + e.text + ")", func(m *machine) vector {
			v, k := x.eval(m), e.eval(m)
			return v.zip(v, func(a, _ int32) int32 { return a * k })
		}}
	case 2:
		f, set := g.lambda(vars, depth-1, 2)
		e := g.expr(vars, 0)
		return vecExpr{fmt.Sprintf("scan(%s, %s, %s)", e.text, f.text, x.text), func(m *machine) (out vector) {
			acc := e.eval(m)
			for i, v := range x.eval(m) {
				set(m, acc, v)
				acc = f.eval(m)
				out[i] = acc
			}
			return out
		}}
	case 3:
		y := g.vec(vars, depth-1)
		f, set := g.lambda(vars, depth-1, 2)
		return vecExpr{fmt.Sprintf("map(%s, %s, %s)", f.text, x.text, y.text), func(m *machine) vector {
			return x.eval(m).zip(y.eval(m), func(a, b int32) int32 { set(m, a, b); return f.eval(m) })
		}}
	case 4:
		f, set := g.lambda(vars, depth-1, 1)
		return vecExpr{"tabulate(4, " + f.text + ")", func(m *machine) (out vector) {
			for i := range out {
				set(m, int32(i))
				out[i] = f.eval(m)
			}
			return out
		}}
	case 5:
		y, z := g.vec(vars, 0), g.vec(vars, depth-1)
		return vecExpr{fmt.Sprintf("where(%s .< %s, %s, %s)", x.text, y.text, y.text, z.text), func(m *machine) vector {
			a, b, c := x.eval(m), y.eval(m), z.eval(m)
			for i := range a {
				if a[i] < b[i] {
					c[i] = b[i]
				}
			}
			return c
		}}
	case 6:
		switch g.r.IntN(3) {
		case 0:
			return vecExpr{"flip(" + x.text + ")", func(m *machine) vector {
				v := x.eval(m)
				slices.Reverse(v[:])
				return v
			}}
		case 1:
			return vecExpr{"sort(" + x.text + ")", func(m *machine) vector {
				v := x.eval(m)
				slices.Sort(v[:])
				return v
			}}
		}
		return vecExpr{"cumsum(" + x.text + ")", func(m *machine) vector {
			v := x.eval(m)
			for i := 1; i < 4; i++ {
				v[i] += v[i-1]
			}
			return v
		}}
	case 7:
		return g.vecLoop(vars, x)
	case 8:
		c, y := g.cond(vars), g.vec(vars, depth-1)
		return vecExpr{fmt.Sprintf("(if %s { %s } else { %s })", c.text, x.text, y.text), func(m *machine) vector {
			if c.eval(m) != 0 {
				return x.eval(m)
			}
			return y.eval(m)
		}}
	case 9:
		at, y := g.indices(vars, 4), g.vec(vars, 0)
		return vecExpr{fmt.Sprintf("scatter_add(%s, %s, %s)", x.text, at.text, y.text), func(m *machine) vector {
			v, k, add := x.eval(m), at.eval(m), y.eval(m)
			for i := range k {
				v[k[i]] += add[i]
			}
			return v
		}}
	case 10:
		y := g.vec(vars, 0)
		return vecExpr{fmt.Sprintf("concat(((%s)[0..2], (%s)[3..=1 by -2]))", x.text, y.text), func(m *machine) vector {
			a, b := x.eval(m), y.eval(m)
			return vector{a[0], a[1], b[3], b[1]}
		}}
	}
	return g.help.scale.vec(g, vars, x)
}

func (x vector) zip(y vector, f func(a, b int32) int32) vector {
	for i := range x {
		x[i] = f(x[i], y[i])
	}
	return x
}

// indices are four positions in an axis of extent n.
func (g *sourceGen) indices(vars []string, n int32) vecExpr {
	if g.r.IntN(4) == 0 { // constants, which count from the end below 0
		var at vector
		for i := range at {
			at[i] = g.r.Int32N(2*n) - n
		}
		text := fmt.Sprintf("[%d, %d, %d, %d]", at[0], at[1], at[2], at[3])
		if slices.Min(at[:]) >= 0 { // such a literal is not only an index
			return vecExpr{text, func(*machine) vector { return at }}
		}
	}
	var e [4]sourceExpr
	var texts []string
	for i := range e {
		e[i] = g.index(vars, n)
		texts = append(texts, e[i].text)
	}
	return vecExpr{"[" + strings.Join(texts, ", ") + "]", func(m *machine) (out vector) {
		for i := range out {
			out[i] = e[i].eval(m)
		}
		return out
	}}
}

// vecLeaf is a vector, a row, a literal, or gathered from w or u in any position.
func (g *sourceGen) vecLeaf(vars []string) vecExpr {
	name := g.vecs[g.r.IntN(len(g.vecs))]
	v := vecExpr{name, func(m *machine) vector { return m.vecs[name] }}
	switch g.r.IntN(9) {
	case 0:
		r := g.r.Int32N(6) - 3
		return vecExpr{fmt.Sprintf("u[%d]", r), func(m *machine) vector { return m.u[(r+3)%3] }}
	case 1:
		r := g.index(vars, 3)
		return vecExpr{fmt.Sprintf("u[%s, ..]", r.text), func(m *machine) vector { return m.u[r.eval(m)] }}
	case 2:
		e := [4]sourceExpr{g.expr(vars, 0), g.expr(vars, 0), g.expr(vars, 0), g.expr(vars, 0)}
		return vecExpr{fmt.Sprintf("[%s, %s, %s, %s]", e[0].text, e[1].text, e[2].text, e[3].text),
			func(m *machine) vector {
				return vector{e[0].eval(m), e[1].eval(m), e[2].eval(m), e[3].eval(m)}
			}}
	case 3:
		at := g.indices(vars, 4)
		return vecExpr{fmt.Sprintf("%s[%s]", name, at.text), func(m *machine) vector {
			x := m.vecs[name]
			return x.at(at.eval(m))
		}}
	case 4:
		r, c := g.indices(vars, 3), g.indices(vars, 4)
		return vecExpr{fmt.Sprintf("u[%s, %s]", r.text, c.text), func(m *machine) (out vector) {
			i, j := r.eval(m), c.eval(m)
			for k := range out {
				out[k] = m.u[i[k]][j[k]]
			}
			return out
		}}
	case 5:
		r, c := g.index(vars, 3), g.indices(vars, 4)
		return vecExpr{fmt.Sprintf("u[%s, %s]", r.text, c.text), func(m *machine) vector {
			i := r.eval(m)
			return m.u[i].at(c.eval(m))
		}}
	case 6: // rows by positions, columns by a slice
		r := [2]sourceExpr{g.index(vars, 3), g.index(vars, 3)}
		return vecExpr{fmt.Sprintf("flatten(u[[%s, %s], 3..=1 by -2])", r[0].text, r[1].text), func(m *machine) vector {
			a, b := m.u[r[0].eval(m)], m.u[r[1].eval(m)]
			return vector{a[3], a[1], b[3], b[1]}
		}}
	case 7: // and the other way round
		c := [2]sourceExpr{g.index(vars, 4), g.index(vars, 4)}
		return vecExpr{fmt.Sprintf("flatten(u[0..3 by 2, [%s, %s]])", c[0].text, c[1].text), func(m *machine) vector {
			i, j := c[0].eval(m), c[1].eval(m)
			return vector{m.u[0][i], m.u[0][j], m.u[2][i], m.u[2][j]}
		}}
	}
	return v
}

// at gathers elements of x.
func (x vector) at(k vector) vector { return vector{x[k[0]], x[k[1]], x[k[2]], x[k[3]]} }

// vecLoop is a loop whose state holds a vector, alone or with a scalar, or twice.
func (g *sourceGen) vecLoop(vars []string, init vecExpr) vecExpr {
	n, y := g.steps(vars), g.fresh("s")
	kind := g.r.IntN(3)
	e := g.expr(vars, 0)
	names, set := g.params(1)
	inner := vars
	if kind == 1 {
		inner = append(slices.Clone(vars), names...)
	}
	g.vecs = append(g.vecs, y)
	g.deep++
	step := g.vec(inner, 1)
	next := g.expr(inner, 1)
	g.deep--
	g.vecs = g.vecs[:len(g.vecs)-1]
	x, k := g.fresh("x"), g.fresh("k")
	text := ""
	switch kind {
	case 0:
		text = fmt.Sprintf("iterate(%s, %s, |%s| %s)", n.text, init.text, y, step.text)
	case 1:
		text = fmt.Sprintf(
			"{ let (%[1]s, %[2]s) = iterate(%[3]s, (%[4]s, %[5]s), |(%[6]s, %[7]s)| (%[8]s, %[9]s)); %[1]s + %[2]s }",
			x, k, n.text, init.text, e.text, y, names[0], step.text, next.text)
	case 2:
		z := g.fresh("z")
		text = fmt.Sprintf(
			"{ let (%[1]s, %[2]s) = iterate(%[3]s, (%[4]s, w), |(%[5]s, %[6]s)| { let %[7]s = %[8]s; (%[7]s, %[7]s) "+
				"}); %[1]s - %[2]s }",
			x, k, n.text, init.text, y, names[0], z, step.text)
	}
	return vecExpr{text, func(m *machine) vector {
		steps, v, k := n.eval(m), init.eval(m), int32(0)
		twin := m.vecs["w"]
		if kind == 1 {
			k = e.eval(m)
		}
		for range max(steps, 0) {
			m.vecs[y] = v
			if kind == 1 {
				set(m, k)
			}
			v = step.eval(m)
			if kind == 1 {
				k = next.eval(m)
			}
			twin = v
		}
		switch kind {
		case 1:
			return v.zip(v, func(a, _ int32) int32 { return a + k })
		case 2:
			return v.zip(twin, func(a, b int32) int32 { return a - b })
		}
		return v
	}}
}
