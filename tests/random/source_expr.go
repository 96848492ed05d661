package random

import (
	"fmt"
	"slices"
	"strings"
)

// compound is a random scalar made of a vector, a loop, a match, a tuple, a string or a call.
func (g *sourceGen) compound(vars []string, depth int) sourceExpr {
	g.hold++
	defer func() { g.hold-- }()
	switch g.r.IntN(12) {
	case 0, 1:
		return g.reduction(vars, depth-1)
	case 2:
		v, k := g.vec(vars, depth-1), g.index(vars, 4)
		return sourceExpr{fmt.Sprintf("(%s)[%s]", v.text, k.text), func(m *machine) int32 {
			x := v.eval(m)
			return x[k.eval(m)]
		}}
	case 3:
		init, v := g.expr(vars, depth-1), g.vec(vars, depth-1)
		f, set := g.lambda(vars, depth-1, 2)
		return sourceExpr{fmt.Sprintf("fold(%s, %s, %s)", init.text, f.text, v.text), func(m *machine) int32 {
			acc := init.eval(m)
			for _, x := range v.eval(m) {
				set(m, acc, x)
				acc = f.eval(m)
			}
			return acc
		}}
	case 4:
		n, init := g.steps(vars), g.expr(vars, depth-1)
		f, set := g.lambda(vars, depth-1, 1)
		return sourceExpr{fmt.Sprintf("iterate(%s, %s, %s)", n.text, init.text, f.text), func(m *machine) int32 {
			k, x := n.eval(m), init.eval(m)
			for range max(k, 0) {
				set(m, x)
				x = f.eval(m)
			}
			return x
		}}
	case 5:
		return g.until(vars, depth-1)
	case 6, 7:
		return g.tupleLoop(vars, depth-1)
	case 8:
		x, a, b, c := g.expr(vars, depth-1), g.expr(vars, depth-1), g.expr(vars, 0), g.expr(vars, depth-1)
		n := g.fresh("n")
		arm := g.expr(append(slices.Clone(vars), n), depth-1)
		text := fmt.Sprintf("(match %s { 0 => %s, %s if %s > %s => %s, _ => %s })", x.text, a.text, n, n, b.text,
			arm.text, c.text)
		return sourceExpr{text, func(m *machine) int32 {
			v := x.eval(m)
			if v == 0 {
				return a.eval(m)
			}
			if m.vars[n] = v; v > b.eval(m) {
				return arm.eval(m)
			}
			return c.eval(m)
		}}
	case 9:
		if g.deep > 0 {
			return g.reduction(vars, depth-1)
		}
		s := g.str(vars, 2)
		return sourceExpr{"len(" + s.text + ")", func(m *machine) int32 { return int32(len(s.eval(m))) }}
	case 10:
		return g.help.pair.call(g, vars, depth-1)
	}
	return g.help.fold.call(g, vars, depth-1)
}

// fresh is a name that nothing else has.
func (g *sourceGen) fresh(prefix string) string {
	g.next++
	return fmt.Sprint(prefix, g.next)
}

// index is a position in an axis of extent n, at times one that is not known before the program runs.
func (g *sourceGen) index(vars []string, n int32) sourceExpr {
	if g.r.IntN(2) == 0 {
		k := g.r.Int32N(n)
		return sourceExpr{fmt.Sprint(k), func(*machine) int32 { return k }}
	}
	e := g.expr(vars, 0)
	return sourceExpr{fmt.Sprintf("((%s %% %d + %d) %% %d)", e.text, n, n, n), func(m *machine) int32 {
		return (e.eval(m)%n + n) % n
	}}
}

// steps is the number of steps of a loop, from -3 to 4.
func (g *sourceGen) steps(vars []string) sourceExpr {
	if g.r.IntN(2) == 0 {
		n := g.r.Int32N(5)
		return sourceExpr{fmt.Sprint(n), func(*machine) int32 { return n }}
	}
	e := g.expr(vars, 0)
	return sourceExpr{fmt.Sprintf("(%s %% 4)", e.text), func(m *machine) int32 { return e.eval(m) % 4 }}
}

// lambda is a random function of n scalars, its body evaluated after set gave it the arguments.
func (g *sourceGen) lambda(vars []string, depth, n int) (f sourceExpr, set func(m *machine, args ...int32)) {
	names, set := g.params(n)
	g.deep++
	b := g.body(append(slices.Clone(vars), names...), depth)
	g.deep--
	return sourceExpr{"|" + strings.Join(names, ", ") + "| " + b.text, b.eval}, set
}

func (g *sourceGen) params(n int) (names []string, set func(m *machine, args ...int32)) {
	for range n {
		names = append(names, g.fresh("a"))
	}
	return names, func(m *machine, args ...int32) {
		for i, x := range args {
			m.vars[names[i]] = x
		}
	}
}

// body is the value of a lambda, sometimes computed with a variable of its own.
func (g *sourceGen) body(vars []string, depth int) sourceExpr {
	if g.r.IntN(3) > 0 {
		return g.expr(vars, max(depth, 1))
	}
	c := g.fresh("c")
	e0, cond, e1, e2 := g.expr(vars, depth), g.cond(vars), g.expr(vars, depth), g.expr(vars, 0)
	last := g.expr(append(slices.Clone(vars), c), depth)
	text := fmt.Sprintf("{ let mut %s = %s; if %s { %s = %s; } %s += %s; %s }", c, e0.text, cond.text, c, e1.text, c,
		e2.text, last.text)
	return sourceExpr{text, func(m *machine) int32 {
		m.vars[c] = e0.eval(m)
		if cond.eval(m) != 0 {
			m.vars[c] = e1.eval(m)
		}
		m.vars[c] += e2.eval(m)
		return last.eval(m)
	}}
}

// reduction folds the elements of a vector to one.
func (g *sourceGen) reduction(vars []string, depth int) sourceExpr {
	v := g.vec(vars, max(depth, 0))
	kinds := []struct {
		op string
		f  func(a, x int32) int32
	}{
		{"+/", func(a, x int32) int32 { return a + x }}, {"*/", func(a, x int32) int32 { return a * x }},
		{"-/", func(a, x int32) int32 { return a - x }}, {"max/", func(a, x int32) int32 { return max(a, x) }},
		{"min/", func(a, x int32) int32 { return min(a, x) }},
	}
	k := g.r.IntN(len(kinds) + 1)
	if k == len(kinds) {
		f, set := g.lambda(vars, 0, 2)
		return sourceExpr{fmt.Sprintf("(%s)/(%s)", f.text, v.text), func(m *machine) int32 {
			x := v.eval(m)
			acc := x[0]
			for _, e := range x[1:] {
				set(m, acc, e)
				acc = f.eval(m)
			}
			return acc
		}}
	}
	return sourceExpr{fmt.Sprintf("(%s(%s))", kinds[k].op, v.text), func(m *machine) int32 {
		x := v.eval(m)
		acc := x[0]
		for _, e := range x[1:] {
			acc = kinds[k].f(acc, e)
		}
		return acc
	}}
}

// until is a loop that ends on a condition: of the state, or one that is itself part of the state.
func (g *sourceGen) until(vars []string, depth int) sourceExpr {
	n, init := g.steps(vars), g.expr(vars, depth)
	f, set := g.lambda(vars, depth, 1)
	names, setDone := g.params(1)
	g.deep++
	done := g.cond(append(slices.Clone(vars), names...))
	g.deep--
	run := func(m *machine) int32 {
		k, x := n.eval(m), init.eval(m)
		for range max(k, 0) {
			set(m, x)
			x = f.eval(m)
			if setDone(m, x); done.eval(m) != 0 {
				break
			}
		}
		return x
	}
	if g.r.IntN(2) == 0 {
		return sourceExpr{fmt.Sprintf("iterate_until(%s, %s, |%s| %s, %s)", init.text, f.text, names[0], done.text,
			n.text), run}
	}
	param, rest, _ := strings.Cut(f.text[1:], "|")
	x, d, e := g.fresh("x"), g.fresh("d"), g.fresh("e")
	text := fmt.Sprintf(
		"{ let (%[1]s, %[2]s) = iterate_until((%[3]s, false), |(%[4]s, %[2]s)| { let %[5]s =%[6]s; (%[5]s, %[7]s || "+
			"%[2]s) }, |(%[1]s, %[8]s)| %[8]s, %[9]s); %[1]s }",
		x, d, init.text, param, names[0], rest, done.text, e, n.text)
	return sourceExpr{text, run}
}

// tupleLoop is a loop or a fold with a state of two scalars, which are at times one value.
func (g *sourceGen) tupleLoop(vars []string, depth int) sourceExpr {
	g.hold++
	defer func() { g.hold-- }()
	a0, b0 := g.expr(vars, depth), g.expr(vars, depth)
	names, set := g.params(3)
	inner := append(slices.Clone(vars), names...)
	folds := g.r.IntN(2) == 0
	if !folds {
		inner = inner[:len(inner)-1]
	}
	g.deep++
	a1, b1 := g.body(inner, depth), g.expr(inner, depth)
	g.deep--
	step := fmt.Sprintf("(%s, %s)", a1.text, b1.text)
	if g.r.IntN(3) == 0 {
		y := g.fresh("y")
		step, b1 = fmt.Sprintf("{ let %s = %s; (%s, %s) }", y, a1.text, y, y), a1
	}
	over := g.vec(vars, 0)
	n := g.steps(vars)
	x, y := g.fresh("x"), g.fresh("y")
	loop := fmt.Sprintf("iterate(%s, (%s, %s), |(%s, %s)| %s)", n.text, a0.text, b0.text, names[0], names[1], step)
	if folds {
		loop = fmt.Sprintf("fold((%s, %s), |(%s, %s), %s| %s, %s)", a0.text, b0.text, names[0], names[1], names[2],
			step, over.text)
	}
	return sourceExpr{fmt.Sprintf("{ let (%s, %s) = %s; (%s - 3 * %s) }", x, y, loop, x, y), func(m *machine) int32 {
		var k int32
		if !folds {
			k = n.eval(m)
		}
		a, b := a0.eval(m), b0.eval(m)
		if !folds {
			for range max(k, 0) {
				set(m, a, b)
				a, b = a1.eval(m), b1.eval(m)
			}
			return a - 3*b
		}
		for _, e := range over.eval(m) {
			set(m, a, b, e)
			a, b = a1.eval(m), b1.eval(m)
		}
		return a - 3*b
	}}
}

type strExpr struct {
	text string
	eval func(m *machine) string
}

// str is a random string.
func (g *sourceGen) str(vars []string, depth int) strExpr {
	if depth == 0 {
		s := []string{"", "a", "ab", "b", "héé", "z\n"}[g.r.IntN(6)]
		return strExpr{strings.ReplaceAll(fmt.Sprintf("%q", s), "é", "\\u{E9}"), func(*machine) string { return s }}
	}
	a, b := g.str(vars, depth-1), g.str(vars, depth-1)
	if g.r.IntN(2) == 0 {
		return strExpr{"(" + a.text + " ++ " + b.text + ")", func(m *machine) string { return a.eval(m) + b.eval(m) }}
	}
	x, y := g.expr(vars, 0), g.expr(vars, 0)
	return strExpr{fmt.Sprintf("(if %s < %s { %s } else { %s })", x.text, y.text, a.text, b.text),
		func(m *machine) string {
			if v := x.eval(m); v < y.eval(m) {
				return a.eval(m)
			}
			return b.eval(m)
		}}
}

// textCond compares two strings.
func (g *sourceGen) textCond(vars []string) sourceExpr {
	a, b := g.str(vars, 1), g.str(vars, 1)
	less := g.r.IntN(2) == 0
	op := map[bool]string{true: "<", false: "=="}[less]
	return sourceExpr{a.text + " " + op + " " + b.text, func(m *machine) int32 {
		x, y := a.eval(m), b.eval(m)
		if less && x < y || !less && x == y {
			return 1
		}
		return 0
	}}
}
