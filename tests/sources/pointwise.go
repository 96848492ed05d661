package sources

import (
	"healc/lang/types"
)

// operand is an expression of t, or of a type that broadcasts to it where wide is false.
func (g *gen) operand(t types.Tensor, d int, wide bool) *Node {
	if wide || g.chance(2) {
		return g.expr(t, d)
	}
	s := t.Shape
	for len(s) > 0 && g.chance(3) {
		s = s[1:]
	}
	for i := range s {
		if g.chance(3) {
			s = replace(s, i, types.Lit(1))
		}
	}
	return g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d)
}

// two are operands for a dotted operator with the shape of t; one of them has it.
func (g *gen) two(t types.Tensor, d int) (a, b *Node) {
	first := g.chance(2)
	return g.operand(t, d, first), g.operand(t, d, !first)
}

func of(e types.DType, t types.Tensor) types.Tensor { return types.Tensor{Elem: e, Shape: t.Shape} }

var floatFuncs = []string{"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin",
	"cos",
	"tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "sigmoid", "silu", "gelu", "softplus"}

var numberFuncs = []string{"abs", "sign", "neg", "relu", "floor", "ceil", "round", "trunc"}

func init() {
	arithmetic := func(g *gen, t types.Tensor, d int) *Node {
		if !t.Elem.IsNumber() {
			return nil
		}
		op := []string{"+", "-", "*", "+", "-", "*", "/"}[g.r.IntN(7)]
		if op == "/" && !t.Elem.IsFloat() {
			return nil
		}
		if g.chance(2) { // plain: one shape, or a scalar
			b := t
			if g.chance(4) {
				b = types.Scalar(t.Elem)
			}
			return ex(t, "($ "+op+" $)", g.expr(t, d), g.expr(b, d))
		}
		a, b := g.two(t, d)
		return ex(t, "($ ."+op+" $)", a, b)
	}
	for range 3 {
		define("arithmetic", arithmetic)
	}
	define("divide integers", func(g *gen, t types.Tensor, d int) *Node {
		if !t.Elem.IsInt() || t.Elem == g.generic {
			return nil
		}
		a, b := g.two(t, d)
		op := []string{"./", ".%"}[g.r.IntN(2)]
		return ex(t, "($ "+op+" bor($, $))", a, b, literal{t.Elem, "1"})
	})
	define("float function", func(g *gen, t types.Tensor, d int) *Node {
		if !t.Elem.IsFloat() {
			return nil
		}
		return ex(t, floatFuncs[g.r.IntN(len(floatFuncs))]+"($)", g.expr(t, d))
	})
	define("number function", func(g *gen, t types.Tensor, d int) *Node {
		if !t.Elem.IsNumber() {
			return nil
		}
		return ex(t, numberFuncs[g.r.IntN(len(numberFuncs))]+"($)", g.expr(t, d))
	})
	define("bits", func(g *gen, t types.Tensor, d int) *Node {
		if !t.Elem.IsInt() {
			return nil
		}
		if g.chance(3) {
			return ex(t, []string{"bnot", "popcount", "clz"}[g.r.IntN(3)]+"($)", g.expr(t, d))
		}
		a, b := g.two(t, d)
		return ex(t, []string{"band", "bor", "bxor", "shl", "shr"}[g.r.IntN(5)]+"($, $)", a, b)
	})
	define("two numbers", func(g *gen, t types.Tensor, d int) *Node {
		if !t.Elem.IsNumber() {
			return nil
		}
		a, b := g.two(t, d)
		switch {
		case t.Elem.IsFloat() && g.chance(3):
			return ex(t, []string{"pow", "atan2"}[g.r.IntN(2)]+"($, $)", a, b)
		case t.Elem.IsFloat() && g.chance(3):
			return ex(t, "fma($, $, $)", a, b, g.operand(t, d, false))
		case g.chance(3):
			return ex(t, "clamp($, $, $)", g.expr(t, d), a, b)
		case g.chance(5) && t.Elem != g.generic:
			return ex(t, "($ .^ $)", g.expr(t, d), ex(types.Scalar(t.Elem), "$", literal{t.Elem, []string{"0", "1", "2",
				"3"}[g.r.IntN(4)] + map[bool]string{true: ".0"}[t.Elem.IsFloat()]}))
		}
		return ex(t, []string{"max", "min"}[g.r.IntN(2)]+"($, $)", a, b)
	})
	define("compare", func(g *gen, t types.Tensor, d int) *Node {
		if t.Elem != types.Bool {
			return nil
		}
		u := of(g.number(), t)
		op := []string{"==", "!=", "<", "<=", ">", ">="}[g.r.IntN(6)]
		if t.IsScalar() {
			return ex(t, "($ "+op+" $)", g.expr(u, d), g.expr(u, d))
		}
		a, b := g.two(u, d)
		return ex(t, "($ ."+op+" $)", a, b)
	})
	define("logic", func(g *gen, t types.Tensor, d int) *Node {
		switch {
		case t.Elem != types.Bool:
			return nil
		case g.chance(4):
			return ex(t, "(!$)", g.expr(t, d))
		case t.IsScalar() && g.chance(2):
			return ex(t, "($ "+[]string{"&&", "||"}[g.r.IntN(2)]+" $)", g.expr(t, d), g.expr(t, d))
		case g.chance(4) && !t.IsScalar():
			f := of(g.float(), t)
			return ex(t, []string{"is_nan", "is_inf", "is_finite"}[g.r.IntN(3)]+"($)", g.expr(f, d))
		}
		a, b := g.two(t, d)
		return ex(t, "($ "+[]string{".&&", ".||"}[g.r.IntN(2)]+" $)", a, b)
	})
	define("cast", func(g *gen, t types.Tensor, d int) *Node {
		from := g.dtype()
		if from == t.Elem || !g.converts(from, t.Elem) {
			return nil
		}
		return ex(t, "($ as $)", g.expr(of(from, t), d), elem(t.Elem))
	})
	define("where", func(g *gen, t types.Tensor, d int) *Node {
		a, b := g.two(t, d)
		return ex(t, "where($, $, $)", g.operand(of(types.Bool, t), d, false), a, b)
	})
	define("require", func(g *gen, t types.Tensor, d int) *Node {
		return ex(t, "require($, $, \"never\")", g.expr(t, d), ex(types.Scalar(types.Bool), "true"))
	})
	define("map", func(g *gen, t types.Tensor, d int) *Node {
		if t.IsScalar() {
			return nil
		}
		u, v := of(g.dtype(), t), of(g.dtype(), t)
		first := g.chance(2)
		a, b := g.operand(u, d, first), g.operand(v, d, !first)
		x, y := g.name(), g.name()
		body := g.lambda(g.elems(t.Shape), func() *Node { return g.expr(types.Scalar(t.Elem), d) },
			variable{name: x, typ: types.Scalar(u.Elem)}, variable{name: y, typ: types.Scalar(v.Elem)})
		return ex(t, "map(|"+x+", "+y+"| $, $, $)", body, a, b)
	})
	define("tabulate", func(g *gen, t types.Tensor, d int) *Node {
		if t.IsScalar() {
			return nil
		}
		rank := len(t.Shape)
		if g.chance(4) && rank > 1 { // the function gives rows
			rank = 1 + g.r.IntN(rank-1)
		}
		text, kids, vars, names := "tabulate(", []any{}, []variable{}, ""
		for i, x := range t.Shape[:rank] {
			v := g.name()
			text += "$, "
			kids = append(kids, x)
			vars = append(vars, variable{name: v, typ: types.Scalar(types.I32)})
			if i > 0 {
				names += ", "
			}
			names += v
		}
		inner := types.Tensor{Elem: t.Elem, Shape: t.Shape[rank:]}
		body := g.lambda(g.elems(t.Shape[:rank]), func() *Node { return g.expr(inner, d) }, vars...)
		return ex(t, text+"|"+names+"| $)", append(kids, body)...)
	})
}
