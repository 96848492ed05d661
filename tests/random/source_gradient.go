package random

import (
	"fmt"
	"math/rand/v2"
)

// NewGradientSource returns the text of a random function `fn NAME(x: f64[3, 4], y: f64[4], k: i32) -> f64[4]`, for k
// from 0 to 3, which is differentiated: of scalars, vectors and matrices, with loops, folds, scans, lambdas, choices,
// indices, assignments, derivatives in it, and functions with rules of their own.
func NewGradientSource(name string, seed uint64) string {
	g := &gradientGen{r: rand.New(rand.NewPCG(seed, 0x94ad))}
	g.scalars, g.vectors, g.matrices = []string{"y[k]", "x[1, k]"}, []string{"y"}, []string{"x"}
	return fmt.Sprintf(
		"fn %s(x: f64[3, 4], y: f64[4], k: i32) -> f64[4] = {\n    let a = %s;\n    let b = %s;\n"+
			"    a * cos(b) + %s\n}\n",
		name, g.vector(2), g.vector(2), g.vector(1))
}

// gradientGen knows the names that are visible, by their types.
type gradientGen struct {
	r                          *rand.Rand
	scalars, vectors, matrices []string
	next                       int
}

func (g *gradientGen) pick(list []string) string { return list[g.r.IntN(len(list))] }

// name is a new one.
func (g *gradientGen) name() string { g.next++; return fmt.Sprintf("t%d", g.next) }

// scalarsWith and vectorsWith make text with more names visible.
func (g *gradientGen) scalarsWith(names []string, text func() string) string {
	outer := g.scalars
	g.scalars = append(outer[:len(outer):len(outer)], names...)
	defer func() { g.scalars = outer }()
	return text()
}

func (g *gradientGen) vectorsWith(name string, text func() string) string {
	outer := g.vectors
	g.vectors = append(outer[:len(outer):len(outer)], name)
	defer func() { g.vectors = outer }()
	return text()
}

// count is a number of steps: known when the program is compiled, or not.
func (g *gradientGen) count() string { return []string{"2", "3", "k", "k + 1", "0"}[g.r.IntN(5)] }

// scalar is an expression of type f64.
func (g *gradientGen) scalar(depth int) string {
	if depth == 0 {
		if g.r.IntN(4) == 0 {
			return fmt.Sprintf("%.2f_f64", g.r.Float64()*2-1)
		}
		return g.pick(g.scalars)
	}
	s := func() string { return g.scalar(depth - 1) }
	v := func() string { return g.vector(depth - 1) }
	t, u := g.name(), g.name()
	body := func() string {
		return g.scalarsWith([]string{t}, func() string { return "sin(" + g.scalar(depth-1) + ") + " + t + " * 0.5" })
	}
	step := func() string {
		return g.scalarsWith([]string{t, u}, func() string {
			return "sin(" + g.scalar(depth-1) + " * " + t + ") + " + u
		})
	}
	switch g.r.IntN(18) {
	case 0:
		return "(" + s() + " * " + s() + ")"
	case 1:
		return "(" + s() + " - " + s() + ")"
	case 2:
		return "sin(" + s() + ")"
	case 3:
		return "sum(" + v() + ")"
	case 4:
		return "max/(" + v() + ")"
	case 5:
		return "*/(sin(" + v() + "))"
	case 6:
		return "mean(" + g.matrix(depth-1) + ")"
	case 7:
		return fmt.Sprintf("fold(%s, |%s, %s| %s, %s)", s(), t, u, step(), v())
	case 8:
		return fmt.Sprintf("iterate(%s, %s, |%s| %s)", g.count(), s(), t, body())
	case 9:
		return fmt.Sprintf("iterate_until(%s, |%s| %s, |%s| %s > 0.7, %s)", s(), t, body(), t, t, g.count())
	case 10:
		return fmt.Sprintf("(if %s < %s { %s } else { %s })", s(), s(), s(), s())
	case 11:
		return fmt.Sprintf("(match k { 0 => %s, 1 => %s, _ => %s })", s(), s(), s())
	case 12:
		return fmt.Sprintf("(%s)[k]", v())
	case 13:
		return fmt.Sprintf("grad(|%s| %s)(%s)", t, body(), s())
	case 14:
		return fmt.Sprintf("checkpoint(|%s| %s)(%s)", t, body(), s())
	case 15:
		return fmt.Sprintf("custom_vjp(|%s| %s * 2.0, |%s, %s| %s * %s)(%s)", t, t, t, u, u, t, s())
	case 16:
		return fmt.Sprintf("(|%s, %s| %s)/(%s)", t, u, step(), v())
	}
	return fmt.Sprintf("{ let (%s, %s) = iterate(%s, (%s, %s), |(%s, %s)| (sin(%s), %s)); %s * sum(%s) }", t, u,
		g.count(), s(), v(), t, u,
		g.scalarsWith([]string{t}, s), g.vectorsWith(u, v), t, u)
}

// vector is an expression of type f64[4].
func (g *gradientGen) vector(depth int) string {
	if depth == 0 {
		return g.pick(g.vectors)
	}
	s := func() string { return g.scalar(depth - 1) }
	v := func() string { return g.vector(depth - 1) }
	m := func() string { return g.matrix(depth - 1) }
	t, u := g.name(), g.name()
	over := func() string {
		return g.scalarsWith([]string{t}, func() string { return "sin(" + g.scalar(depth-1) + ")" })
	}
	body := func() string { return g.vectorsWith(t, func() string { return "sin(" + g.vector(depth-1) + ")" }) }
	switch g.r.IntN(22) {
	case 0:
		return "(" + v() + " * " + v() + ")"
	case 1:
		return "(" + v() + " - " + v() + ")"
	case 2:
		return "tanh(" + v() + ")"
	case 3:
		return "(" + m() + ")[k % 3]"
	case 4:
		return "+/[axis=0](" + m() + ")"
	case 5:
		return "max/[axis=0](" + m() + ")"
	case 6:
		return fmt.Sprintf("map(|%s| %s, %s)", t, over(), v())
	case 7:
		return fmt.Sprintf("{ let %s = %s; tabulate(4, |i| %s) }", t, v(),
			g.scalarsWith([]string{t + "[i]", t + "[3 - i]", "y[i]"}, func() string {
				return "sin(" + g.scalar(depth-1) + ")"
			}))
	case 8:
		return "cumsum(" + v() + ")"
	case 9:
		return fmt.Sprintf("scan(%s, |%s, %s| %s, %s)", s(), t, u, g.scalarsWith([]string{t, u}, func() string {
			return "sin(" + g.scalar(depth-1) + ") * " + t + " + " + u
		}), v())
	case 10:
		return "sort(" + v() + ", 0)"
	case 11:
		return "flip(" + v() + ", 0)"
	case 12:
		return fmt.Sprintf("where(%s .> %s, %s, %s)", v(), v(), v(), v())
	case 13:
		return fmt.Sprintf("{ let %s = %s; concat((%s[2..4], %s[0..2]), 0) }", t, v(), t, t)
	case 14:
		return fmt.Sprintf("(%s)[[3, 0, 3, k]]", v())
	case 15:
		return fmt.Sprintf("iterate(%s, %s, |%s| %s)", g.count(), v(), t, body())
	case 16:
		return fmt.Sprintf("checkpoint(|%s| %s)(%s)", t, body(), v())
	case 17:
		return fmt.Sprintf("grad(|%s| sum(%s))(%s)", t, body(), v())
	case 18:
		return fmt.Sprintf("{ let mut %s = %s; %s[k] = %s; %s[1..3] *= %s; %s .+= %s; %s }", t, v(), t, s(), t, s(), t,
			v(), t)
	case 19:
		return fmt.Sprintf("(transpose(%s) @ +/[axis=1](%s))", m(), m())
	case 20:
		return fmt.Sprintf("scatter_add(%s, [1, 1, k, 0], %s, 0)", v(), v())
	}
	return fmt.Sprintf("(if %s < 0.2 { %s } else { %s })", s(), v(), v())
}

// matrix is an expression of type f64[3, 4].
func (g *gradientGen) matrix(depth int) string {
	if depth == 0 {
		return g.pick(g.matrices)
	}
	v := func() string { return g.vector(depth - 1) }
	m := func() string { return g.matrix(depth - 1) }
	t, u := g.name(), g.name()
	switch g.r.IntN(9) {
	case 0:
		return "(" + m() + " .* " + v() + ")"
	case 1:
		return "(" + m() + " - " + m() + ")"
	case 2:
		return "sin(" + m() + ")"
	case 3:
		return "expand(" + v() + ", [3, 4])"
	case 4:
		return "stack((" + v() + ", " + v() + ", " + v() + "), 0)"
	case 5:
		return "cumsum(" + m() + ")"
	case 6:
		return fmt.Sprintf("scan(%s, |%s, %s| %s, %s)", g.scalar(depth-1), t, u,
			g.scalarsWith([]string{t, u}, func() string {
				return "sin(" + g.scalar(depth-1) + ") + " + t
			}), m())
	case 7:
		return "tabulate(3, |i| " + g.vectorsWith("x[i]", func() string {
			return "sin(" + g.vector(depth-1) + ")"
		}) + ")"
	}
	return fmt.Sprintf("{ let mut %s = %s; %s[k %% 3] = %s; %s }", t, m(), t, v(), t)
}
