package format_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// generator writes random well-formed sources: every form of the grammar, names of all lengths so
// that lines break in all places, and blanks, new lines and comments between tokens.
type generator struct {
	r *rand.Rand
	b strings.Builder
}

func (g *generator) pick(options ...string) string { return options[g.r.IntN(len(options))] }

// put writes tokens with something between them.
func (g *generator) put(tokens ...string) {
	for _, t := range tokens {
		g.b.WriteString(t)
		g.b.WriteString(g.pick(" ", " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", "  ", "\n",
			"\n\n\n", " # c\n", "\n# own\n", " /* d */ ", "\n/* e */ ", " /* f */\n"))
	}
}

func (g *generator) name() string {
	return g.pick("a", "x", "value", "max", "by", "keep", "axis", "a_rather_long_name",
		"the_longest_name_of_all_the_names_here")
}

// many writes one to n items with commas, perhaps one trailing.
func (g *generator) many(n int, trail bool, item func()) {
	n = 1 + g.r.IntN(n)
	for i := range n {
		item()
		if i+1 < n || trail && g.r.IntN(4) == 0 {
			g.put(",")
		}
	}
}

func (g *generator) typeExpr(depth int) {
	if tuple := g.castType(depth); tuple {
		return
	}
	if g.r.IntN(8) == 0 {
		g.put("in", g.name())
	}
	if g.r.IntN(8) == 0 {
		g.put("on", g.name())
	}
	if g.r.IntN(8) == 0 {
		g.put("sharded", "(")
		g.expr(min(depth, 1))
		g.put(")")
	}
}

// castType is a type without the words that may stand behind it, and whether it is a tuple.
func (g *generator) castType(depth int) (tuple bool) {
	if depth > 0 && g.r.IntN(4) == 0 {
		g.put("(")
		g.typeExpr(depth - 1)
		g.put(",")
		g.many(2, true, func() { g.typeExpr(depth - 1) })
		g.put(")")
		return true
	}
	g.put(g.pick("f32", "i64", "T"))
	if g.r.IntN(2) == 0 {
		g.put("[")
		g.many(2, true, func() { g.expr(min(depth, 1)) })
		g.put("]")
	}
	return false
}

func (g *generator) block(depth int) {
	g.put("{")
	for g.r.IntN(3) > 0 {
		switch g.r.IntN(5) {
		case 0:
			g.put("let", g.name(), "=")
			g.expr(depth)
		case 1:
			g.put("let", "mut", "(", "p", ",", "_", ")", ":")
			g.typeExpr(1)
			g.put("=")
			g.expr(depth)
		case 2:
			g.put("x", "[")
			g.expr(depth)
			g.put("]", g.pick("=", "+=", ".*="))
			g.expr(depth)
		case 3:
			g.put("return")
			g.expr(depth)
		default:
			g.expr(depth)
		}
		g.put(";")
	}
	if g.r.IntN(2) == 0 {
		g.expr(depth)
	}
	g.put("}")
}

func (g *generator) expr(depth int) {
	if depth <= 0 {
		g.put(g.pick("1", "2.5_f32", "'c'", `"text"`, "true", g.name(), g.name()))
		return
	}
	depth--
	sub := func() { g.expr(depth - g.r.IntN(2)) }
	switch g.r.IntN(18) {
	case 0, 1, 2:
		sub()
		g.put(g.pick("+", "-", "*", "%", ".+", "./", "@", ".^", "&&", "||"))
		sub()
	case 3:
		g.put("(", "(")
		sub()
		g.put(")", g.pick("<", ".==", "/"), "(")
		sub()
		g.put(")", ")")
	case 4:
		g.put(g.pick("-", "!", "+/", "//", "*/", "max/", "value/"))
		sub()
	case 5:
		g.put(g.pick("+/", "fold/"), "[", g.pick("axis=1,keep", "keep,axis=0", "axis=-1", "axis=(0,1,)"), "]", "(")
		sub()
		g.put(")")
	case 6, 7, 8:
		g.put("f_"+g.name(), "(")
		g.many(4, true, func() {
			if g.r.IntN(4) == 0 {
				g.put("axis", "=")
			}
			sub()
		})
		g.put(")")
	case 9:
		g.put("[")
		g.many(12, true, sub)
		g.put("]")
	case 10:
		g.put("(")
		sub()
		g.put(",")
		g.many(3, true, sub)
		g.put(")")
	case 11:
		g.put("x", "[")
		g.many(3, true, func() {
			switch g.r.IntN(3) {
			case 0:
				sub()
			case 1:
				g.put("..", "4", "by", "2")
			default:
				g.put("1", "..")
			}
		})
		g.put("]")
	case 12:
		g.put("|", g.name(), ",", "(", "b", ",", "c", ")", "|")
		sub()
	case 13:
		g.put("let", g.name(), "=")
		sub()
		g.put("in")
		sub()
	case 14:
		g.put("if")
		sub()
		g.block(depth - 1)
		for g.r.IntN(3) == 0 {
			g.put("else", "if")
			sub()
			g.block(depth - 1)
		}
		if g.r.IntN(2) == 0 {
			g.put("else")
			g.block(depth - 1)
		}
	case 15:
		g.put("match")
		g.expr(0)
		g.put("{")
		g.many(3, true, func() {
			g.put(g.pick("0", "-1", "_", "n"))
			if g.r.IntN(3) == 0 {
				g.put("if")
				sub()
			}
			g.put("=>")
			sub()
		})
		g.put("}")
	case 16:
		g.put("(", "x", "|>", "g", "(")
		sub()
		g.put(")", "|>", "h", ")")
	default:
		g.put("x", "as")
		g.castType(1)
	}
}

func (g *generator) file() string {
	for range 1 + g.r.IntN(3) {
		switch g.r.IntN(5) {
		case 0:
			g.put("const", g.name(), ":", "nat", "=")
			g.expr(2)
		case 1:
			g.put("test", `"name"`)
			g.block(2)
		default:
			g.put(g.pick("", "@io", "@io @grad(w,)"), g.pick("", "pub"), "fn", g.name(), g.pick("", "[N, M: nat,]"),
				"(")
			if g.r.IntN(3) > 0 {
				g.many(3, true, func() {
					g.put(g.name(), ":", g.pick("", "&mut"))
					g.typeExpr(1)
				})
			}
			g.put(")")
			if g.r.IntN(2) == 0 {
				g.put("->")
				g.typeExpr(1)
			}
			if g.r.IntN(3) == 0 {
				g.block(3)
			} else {
				g.put("=")
				g.expr(1 + g.r.IntN(5))
			}
		}
		g.b.WriteString("\n")
	}
	return g.b.String()
}

// TestRandom formats random programs. The seed is fixed, so a failure comes again.
func TestRandom(t *testing.T) {
	n := 1500
	if *all {
		n = 50000
	} else if testing.Short() {
		n = 300
	}
	for seed := range n {
		g := &generator{r: rand.New(rand.NewPCG(uint64(seed), 1))}
		if formatted(t, g.file()); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
