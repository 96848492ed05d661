package random

import (
	"fmt"
	"slices"
)

// part is a slice of an axis of extent 4: its text and the positions.
func (g *sourceGen) part() (string, []int) {
	step, lo := 1+g.r.IntN(3), g.r.IntN(4)
	count := g.r.IntN((4-lo+step-1)/step + 1)
	var at []int
	for k := range count {
		at = append(at, lo+k*step)
	}
	if count > 0 && g.r.IntN(3) == 0 {
		slices.Reverse(at)
		return fmt.Sprintf("%d..=%d by -%d", at[0], lo, step), at
	}
	end := lo + count*step
	if count > 0 {
		end = at[count-1] + 1
	}
	return fmt.Sprintf("%d..%d by %d", lo, end, step), at
}

// tensorStmt assigns w or u or parts of them, or calls a function that changes them.
func (g *sourceGen) tensorStmt(depth int) sourceStmt {
	op := []string{"=", "+=", "-="}[g.r.IntN(3)]
	apply := func(old, x int32) int32 {
		switch op {
		case "+=":
			return old + x
		case "-=":
			return old - x
		}
		return x
	}
	switch g.r.IntN(8) {
	case 0:
		v := g.vec(g.vars, depth+1)
		return sourceStmt{text: fmt.Sprintf("    w %s %s;\n", op, v.text), run: func(m *machine) {
			old := m.vecs["w"]
			m.vecs["w"] = old.zip(v.eval(m), apply)
		}}
	case 1:
		text, at := g.part()
		v := g.vec(g.vars, depth)
		from, _ := g.partOf(len(at))
		return sourceStmt{text: fmt.Sprintf("    w[%s] %s (%s)[%s];\n", text, op, v.text, from.text),
			run: func(m *machine) {
				old, x := m.vecs["w"], v.eval(m)
				w := m.vecs["w"]
				for i, k := range at {
					w[k] = apply(old[k], x[from.at[i]])
				}
				m.vecs["w"] = w
			}}
	case 2:
		text, at := g.part()
		e, r := g.expr(g.vars, depth), g.index(g.vars, 3)
		return sourceStmt{text: fmt.Sprintf("    u[%s, %s] %s %s;\n", r.text, text, op, e.text), run: func(m *machine) {
			i := r.eval(m)
			old := m.u[i] // before e: Go would leave open which comes first
			x := e.eval(m)
			for _, k := range at {
				m.u[i][k] = apply(old[k], x)
			}
		}}
	case 3:
		c, e := g.index(g.vars, 4), g.expr(g.vars, depth)
		return sourceStmt{text: fmt.Sprintf("    u[2..=0 by -2, %s] %s %s;\n", c.text, op, e.text),
			run: func(m *machine) {
				j := c.eval(m)
				a, b := m.u[2][j], m.u[0][j]
				x := e.eval(m)
				m.u[2][j], m.u[0][j] = apply(a, x), apply(b, x)
			}}
	case 4:
		r, v := g.index(g.vars, 3), g.vec(g.vars, depth)
		return sourceStmt{text: fmt.Sprintf("    u[%s] %s %s;\n", r.text, op, v.text), run: func(m *machine) {
			i := r.eval(m)
			old := m.u[i]
			m.u[i] = old.zip(v.eval(m), apply)
		}}
	case 5: // what is given broadcasts
		dotted := map[string]string{"=": "=", "+=": ".+=", "-=": ".-="}[op]
		text, at := g.part()
		v := g.vec(g.vars, depth)
		from, _ := g.partOf(len(at))
		return sourceStmt{text: fmt.Sprintf("    u[1..3, %s] %s (%s)[%s];\n", text, dotted, v.text, from.text),
			run: func(m *machine) {
				old, x := m.u, v.eval(m)
				for i, k := range at {
					m.u[1][k], m.u[2][k] = apply(old[1][k], x[from.at[i]]), apply(old[2][k], x[from.at[i]])
				}
			}}
	case 6:
		x, y := g.variable(), g.variable()
		a, b := g.fresh("x"), g.fresh("y")
		s := g.tupleLoop(g.vars, depth)
		v := g.vec(g.vars, depth)
		text := fmt.Sprintf("    let (%s, %s) = (%s, %s);\n    %s += %s;\n    %s = %s[-1];\n", a, b, s.text, v.text, x,
			a, y, b)
		return sourceStmt{text: text, run: func(m *machine) {
			n, w := s.eval(m), v.eval(m)
			m.vars[x] += n
			m.vars[y] = w[3]
		}}
	}
	return g.help.change.stmt(g, depth)
}

type partText struct {
	text string
	at   []int
}

// partOf is a slice of n elements.
func (g *sourceGen) partOf(n int) (partText, bool) {
	for range 1000 {
		if text, at := g.part(); len(at) == n {
			return partText{text, at}, true
		}
	}
	panic("no slice of so many elements was drawn")
}
