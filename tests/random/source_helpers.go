package random

import (
	"fmt"
	"strings"
)

// helperFuncs are the functions that a source declares for its own use: generic ones, and one that changes its
// parameter.
type helperFuncs struct {
	fold   foldHelper
	pair   pairHelper
	scale  scaleHelper
	change changeHelper
}

// helpers draws the functions and returns their text.
func (g *sourceGen) helpers() string {
	h := &g.help
	h.fold.draw(g)
	h.pair.draw(g)
	h.scale.draw(g)
	h.change.draw(g)
	return h.fold.text + h.pair.text + h.scale.text + h.change.text
}

// wrapTo is x as a value of an integer type, back in an i32.
func wrapTo(t string, x int64) int64 {
	switch t {
	case "i8":
		return int64(int8(x))
	case "u8":
		return int64(uint8(x))
	case "i16":
		return int64(int16(x))
	case "i32":
		return int64(int32(x))
	}
	return x
}

// foldHelper is `fn NAMEg[T: int, N](x: T[N], k: T) -> T`, a fold over x for any integer type.
type foldHelper struct {
	name, text string
	step       func(acc, x int64) int64
}

func (h *foldHelper) draw(g *sourceGen) {
	h.name = g.name + "g"
	body := ""
	switch c := int64(1 + g.r.IntN(5)); g.r.IntN(3) {
	case 0:
		body, h.step = fmt.Sprintf("a * %d + v", c), func(a, v int64) int64 { return a*c + v }
	case 1:
		body, h.step = fmt.Sprintf("v - a * %d", c), func(a, v int64) int64 { return v - a*c }
	case 2:
		body, h.step = fmt.Sprintf("if a < v { a + %d } else { v }", c), func(a, v int64) int64 {
			if a < v {
				return a + c
			}
			return v
		}
	}
	h.text = fmt.Sprintf("fn %s[T: int, N](x: T[N], k: T) -> T = fold(k, |a, v| %s, x)\n", h.name, body)
}

func (h *foldHelper) call(g *sourceGen, vars []string, depth int) sourceExpr {
	t := []string{"i8", "u8", "i16", "i32", "i64"}[g.r.IntN(5)]
	v, k := g.vec(vars, depth), g.expr(vars, 0)
	return sourceExpr{fmt.Sprintf("(%s((%s) as %s, %s as %s) as i32)", h.name, v.text, t, k.text, t),
		func(m *machine) int32 {
			x, acc := v.eval(m), wrapTo(t, int64(k.eval(m)))
			for _, e := range x {
				acc = wrapTo(t, h.step(acc, wrapTo(t, int64(e))))
			}
			return int32(acc)
		}}
}

// pairHelper is `fn NAMEt[T: num](a: T, b: T) -> (T, T)`.
type pairHelper struct {
	name, text string
	first      func(a, b int32) int32
}

func (h *pairHelper) draw(g *sourceGen) {
	h.name = g.name + "t"
	h.first = func(a, b int32) int32 { return a - b }
	e := "a - b"
	if g.r.IntN(2) == 0 {
		e, h.first = "max(a, b) * a", func(a, b int32) int32 { return max(a, b) * a }
	}
	h.text = fmt.Sprintf("fn %s[T: num](a: T, b: T) -> (T, T) = { if a < b { return (b, a); }; (%s, b) }\n", h.name, e)
}

func (h *pairHelper) call(g *sourceGen, vars []string, depth int) sourceExpr {
	a, b := g.expr(vars, depth), g.expr(vars, depth)
	x, y := g.fresh("x"), g.fresh("y")
	return sourceExpr{fmt.Sprintf("{ let (%s, %s) = %s(%s, %s); (%s - 2 * %s) }", x, y, h.name, a.text, b.text, x, y),
		func(m *machine) int32 {
			u, v := a.eval(m), b.eval(m)
			if u < v {
				return v - 2*u
			}
			return h.first(u, v) - 2*v
		}}
}

// scaleHelper is `fn NAMEh[T: num, N](x: T[N], k: T) -> T[N]`.
type scaleHelper struct {
	name, text string
	f          func(x, k int32) int32
}

func (h *scaleHelper) draw(g *sourceGen) {
	h.name = g.name + "h"
	body := "x * k + x"
	h.f = func(x, k int32) int32 { return x*k + x }
	if g.r.IntN(2) == 0 {
		body, h.f = "map(|e| if e < k { e - k } else { e }, x)", func(x, k int32) int32 {
			if x < k {
				return x - k
			}
			return x
		}
	}
	h.text = fmt.Sprintf("fn %s[T: num, N](x: T[N], k: T) -> T[N] = %s\n", h.name, body)
}

func (h *scaleHelper) vec(g *sourceGen, vars []string, x vecExpr) vecExpr {
	k := g.expr(vars, 0)
	return vecExpr{fmt.Sprintf("%s(%s, %s)", h.name, x.text, k.text), func(m *machine) vector {
		v, by := x.eval(m), k.eval(m)
		return v.zip(v, func(a, _ int32) int32 { return h.f(a, by) })
	}}
}

// changeHelper is `fn NAMEm[N](x: &mut i32[N], k: i32) -> i32`, which changes x and returns a number.
type changeHelper struct {
	name, text string
	run        []func(x []int32, k int32) (leave bool)
}

func (h *changeHelper) draw(g *sourceGen) {
	h.name = g.name + "m"
	kinds := []struct {
		text string
		run  func(x []int32, k int32) bool
	}{
		{"x += k;", func(x []int32, k int32) bool {
			for i := range x {
				x[i] += k
			}
			return false
		}},
		{"x[0] = x[N - 1] - k;", func(x []int32, k int32) bool { x[0] = x[len(x)-1] - k; return false }},
		{"x[1..N] -= 2;", func(x []int32, _ int32) bool {
			for i := 1; i < len(x); i++ {
				x[i] -= 2
			}
			return false
		}},
		{"if k > 2 { x[0] += 1; return k; };", func(x []int32, k int32) bool {
			if k > 2 {
				x[0]++
			}
			return k > 2
		}},
		{"x = flip(x);", func(x []int32, _ int32) bool {
			for i, j := 0, len(x)-1; i < j; i, j = i+1, j-1 {
				x[i], x[j] = x[j], x[i]
			}
			return false
		}},
		{"x = iterate(2, x, |y| y * 2 - x);", func(x []int32, _ int32) bool {
			for i, old := range x {
				x[i] = 2*(2*old-old) - old
			}
			return false
		}},
	}
	var texts []string
	for range 1 + g.r.IntN(4) {
		k := kinds[g.r.IntN(len(kinds))]
		texts, h.run = append(texts, k.text), append(h.run, k.run)
	}
	h.text = fmt.Sprintf("fn %s[N](x: &mut i32[N], k: i32) -> i32 = { %s +/(x) }\n", h.name, strings.Join(texts, " "))
}

// stmt calls the function on w and keeps or drops what it returns.
func (h *changeHelper) stmt(g *sourceGen, depth int) sourceStmt {
	g.hold++
	e, v := g.expr(g.vars, depth), g.variable()
	g.hold--
	call := fmt.Sprintf("%s(w, %s)", h.name, e.text)
	run := func(m *machine) int32 {
		k, x := e.eval(m), m.vecs["w"]
		result, left := k, false
		for _, f := range h.run {
			if left = f(x[:], k); left {
				break
			}
		}
		if !left {
			result = x[0] + x[1] + x[2] + x[3]
		}
		m.vecs["w"] = x
		return result
	}
	if g.r.IntN(2) == 0 {
		return sourceStmt{text: "    " + call + ";\n", run: func(m *machine) { run(m) }}
	}
	return sourceStmt{text: fmt.Sprintf("    %s = %s;\n", v, call), run: func(m *machine) { m.vars[v] = run(m) }}
}
