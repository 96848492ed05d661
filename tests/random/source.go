package random

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Source is a random function `fn NAME(p: i32, q: i32) -> i32`, with functions that it calls. It assigns variables,
// elements and slices of tensors in blocks, arms and expressions, calls generic functions and ones that change their
// parameters, runs loops in loops with states of scalars, tensors and tuples, gathers, matches, joins strings, and
// returns from anywhere. Eval says what it gives, computed by executing the statements one after the other.
type Source struct {
	Text string
	Eval func(p, q int32) int32
}

// NewSource returns the function of a seed.
func NewSource(name string, seed uint64) *Source {
	g := &sourceGen{r: rand.New(rand.NewPCG(seed, 0x5eed)), name: name}
	vars := []string{"p", "q"}
	var b strings.Builder
	b.WriteString(g.helpers())
	fmt.Fprintf(&b, "fn %s(p: i32, q: i32) -> i32 = {\n", name)
	var init []evalExpr
	for i := range 3 {
		e := g.expr(vars, 1)
		init = append(init, e.eval)
		v := fmt.Sprintf("v%d", i)
		fmt.Fprintf(&b, "    let mut %s = %s;\n", v, e.text)
		vars = append(vars, v)
	}
	b.WriteString("    let mut w = [p, q, 3, -4];\n    let mut u = [[q, 5, p, -6], [1, p, q, 2], [7, -8, 9, p]];\n")
	g.vars, g.vecs = vars, []string{"w"}
	body := g.block(2, true)
	b.WriteString(body.text)
	last := evalExpr(func(*machine) int32 { return 0 })
	if !body.leaves {
		e := g.expr(vars, 2)
		last = e.eval
		fmt.Fprintf(&b, "    %s\n", e.text)
	}
	b.WriteString("}\n")
	return &Source{Text: b.String(), Eval: func(p, q int32) (out int32) {
		m := &machine{vars: map[string]int32{"p": p, "q": q}}
		for i, f := range init {
			m.vars[fmt.Sprintf("v%d", i)] = f(m)
		}
		m.vecs = map[string]vector{"w": {p, q, 3, -4}}
		m.u = [3]vector{{q, 5, p, -6}, {1, p, q, 2}, {7, -8, 9, p}}
		defer func() {
			if r, ok := recover().(returned); ok {
				out = int32(r)
			}
		}()
		body.run(m)
		return last(m)
	}}
}

// machine is the state of an execution.
type machine struct {
	vars map[string]int32
	vecs map[string]vector // w, and the vectors that are parameters of lambdas
	u    [3]vector
}

// vector is a value of type i32[4].
type vector [4]int32

// set changes one element of w.
func (m *machine) set(k, x int32) {
	w := m.vecs["w"]
	w[k] = x
	m.vecs["w"] = w
}

// returned is the panic that a `return` is.
type returned int32

type evalExpr func(m *machine) int32

type sourceExpr struct {
	text string
	eval evalExpr
}

type sourceStmt struct {
	text   string
	run    func(m *machine)
	leaves bool // never goes on
}

type sourceGen struct {
	r    *rand.Rand
	name string
	vars []string // p, q and the variables; none while these are declared
	vecs []string // w and the vectors around the place
	hold int      // above 0: no statements in expressions
	deep int      // lambdas around the place
	next int      // numbers names
	help helperFuncs
}

func (g *sourceGen) variable() string { return g.vars[2+g.r.IntN(len(g.vars)-2)] }

// expr is a random expression over vars.
func (g *sourceGen) expr(vars []string, depth int) sourceExpr {
	if depth == 0 {
		switch g.r.IntN(4) {
		case 0:
			n := int32(g.r.IntN(7) - 3)
			return sourceExpr{fmt.Sprint(n), func(*machine) int32 { return n }}
		case 1:
			if g.vars != nil {
				k := g.r.IntN(4)
				return sourceExpr{fmt.Sprintf("w[%d]", k), func(m *machine) int32 { return m.vecs["w"][k] }}
			}
		}
		v := vars[g.r.IntN(len(vars))]
		return sourceExpr{v, func(m *machine) int32 { return m.vars[v] }}
	}
	x := g.expr(vars, depth-1)
	if g.vars != nil && g.hold == 0 && g.r.IntN(4) == 0 { // a block that changes variables on the way
		s := g.block(1, false)
		if !s.leaves {
			return sourceExpr{"{\n" + s.text + "    " + x.text + "\n}", func(m *machine) int32 {
				s.run(m)
				return x.eval(m)
			}}
		}
	}
	if g.vars != nil && g.r.IntN(3) == 0 {
		return g.compound(vars, depth)
	}
	y := g.expr(vars, depth-1)
	switch g.r.IntN(5) {
	case 0:
		return sourceExpr{"(" + x.text + " - " + y.text + ")", func(m *machine) int32 {
			a := x.eval(m)
			return a - y.eval(m)
		}}
	case 1:
		return sourceExpr{"(" + x.text + " * " + y.text + ")", func(m *machine) int32 {
			a := x.eval(m)
			return a * y.eval(m)
		}}
	case 2:
		c := g.cond(vars)
		return sourceExpr{fmt.Sprintf("(if %s { %s } else { %s })", c.text, x.text, y.text), func(m *machine) int32 {
			if c.eval(m) != 0 {
				return x.eval(m)
			}
			return y.eval(m)
		}}
	}
	return sourceExpr{"(" + x.text + " + " + y.text + ")", func(m *machine) int32 {
		a := x.eval(m)
		return a + y.eval(m)
	}}
}

// cond is a random condition; 1 is true.
func (g *sourceGen) cond(vars []string) sourceExpr {
	g.hold++
	defer func() { g.hold-- }()
	if g.vars != nil && g.deep == 0 && g.r.IntN(8) == 0 {
		return g.textCond(vars)
	}
	x, y := g.expr(vars, 1), g.expr(vars, 0)
	less := func(m *machine) int32 {
		a := x.eval(m)
		if a < y.eval(m) {
			return 1
		}
		return 0
	}
	if g.r.IntN(3) > 0 {
		return sourceExpr{x.text + " < " + y.text, less}
	}
	z := g.expr(vars, 0)
	return sourceExpr{fmt.Sprintf("%s < %s && %s != 0", x.text, y.text, z.text), func(m *machine) int32 {
		if less(m) == 1 && z.eval(m) != 0 {
			return 1
		}
		return 0
	}}
}

// block is some statements; top lets it end in a `return`.
func (g *sourceGen) block(depth int, top bool) sourceStmt {
	var out sourceStmt
	var run []func(m *machine)
	for range 1 + g.r.IntN(3) {
		s := g.stmt(depth)
		out.text += s.text
		run = append(run, s.run)
		if out.leaves = s.leaves; out.leaves {
			break
		}
	}
	if !out.leaves && top && g.r.IntN(4) == 0 {
		e := g.expr(g.vars, 1)
		out.text += "    return " + e.text + ";\n"
		run = append(run, func(m *machine) { panic(returned(e.eval(m))) })
		out.leaves = true
	}
	out.run = func(m *machine) {
		for _, f := range run {
			f(m)
		}
	}
	return out
}

func (g *sourceGen) stmt(depth int) sourceStmt {
	kind := g.r.IntN(9)
	if depth == 0 {
		kind = g.r.IntN(4)
		if kind == 3 {
			kind = 6
		}
	}
	switch kind {
	case 0, 1:
		v := g.variable()
		e := g.expr(g.vars, min(depth, 1))
		if g.r.IntN(2) == 0 {
			return sourceStmt{text: fmt.Sprintf("    %s = %s;\n", v, e.text), run: func(m *machine) {
				m.vars[v] = e.eval(m)
			}}
		}
		return sourceStmt{text: fmt.Sprintf("    %s += %s;\n", v, e.text), run: func(m *machine) {
			a := m.vars[v]
			m.vars[v] = a + e.eval(m)
		}}
	case 2:
		i, e := g.expr(g.vars, 0), g.expr(g.vars, min(depth, 1))
		at := func(m *machine) int32 { return (i.eval(m)%4 + 4) % 4 }
		text := fmt.Sprintf("    w[(%s %% 4 + 4) %% 4]", i.text)
		if g.r.IntN(2) == 0 {
			return sourceStmt{text: text + " = " + e.text + ";\n", run: func(m *machine) {
				k := at(m)
				m.set(k, e.eval(m))
			}}
		}
		return sourceStmt{text: text + " -= " + e.text + ";\n", run: func(m *machine) {
			k := at(m)
			a := m.vecs["w"][k]
			m.set(k, a-e.eval(m))
		}}
	case 6, 7, 8:
		return g.tensorStmt(min(depth, 1))
	case 3:
		x := g.expr(g.vars, 1)
		arms := []sourceStmt{g.block(depth-1, true), g.block(depth-1, true), g.block(depth-1, true)}
		text := fmt.Sprintf("    match %s { 0 => {\n%s}, k if k > 2 => {\n%s}, _ => {\n%s} };\n", x.text, arms[0].text,
			arms[1].text, arms[2].text)
		return sourceStmt{text: text, leaves: arms[0].leaves && arms[1].leaves && arms[2].leaves,
			run: func(m *machine) {
				switch n := x.eval(m); {
				case n == 0:
					arms[0].run(m)
				case n > 2:
					arms[1].run(m)
				default:
					arms[2].run(m)
				}
			}}
	}
	c, then := g.cond(g.vars), g.block(depth-1, true)
	if g.r.IntN(2) == 0 {
		return sourceStmt{text: fmt.Sprintf("    if %s {\n%s    };\n", c.text, then.text), run: func(m *machine) {
			if c.eval(m) != 0 {
				then.run(m)
			}
		}}
	}
	els := g.block(depth-1, true)
	return sourceStmt{text: fmt.Sprintf("    if %s {\n%s    } else {\n%s    };\n", c.text, then.text, els.text),
		leaves: then.leaves && els.leaves,
		run: func(m *machine) {
			if c.eval(m) != 0 {
				then.run(m)
			} else {
				els.run(m)
			}
		}}
}
