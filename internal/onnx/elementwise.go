package onnx

import (
	"fmt"
	"math"
	"strings"

	"healc/lang/types"
)

// elementwiseOps go element by element.
var elementwiseOps = map[string]*entry{
	"Abs":        unary("abs(x)"),
	"Acos":       unary("acos(x)"),
	"Acosh":      unary("log(x + sqrt(x * x - 1.0))"),
	"Asin":       unary("asin(x)"),
	"Asinh":      unary("sign(x) * log(abs(x) + sqrt(x * x + 1.0))"),
	"Atan":       unary("atan(x)"),
	"Atanh":      unary("(log1p(x) - log1p(-x)) * 0.5"),
	"Ceil":       folded(unary("ceil(x)"), nil, math.Ceil),
	"Cos":        unary("cos(x)"),
	"Cosh":       unary("cosh(x)"),
	"Erf":        unary("erf(x)"),
	"Exp":        unary("exp(x)"),
	"Floor":      folded(unary("floor(x)"), nil, math.Floor),
	"HardSwish":  unary("x * clamp(x / 6.0 + 0.5, 0.0, 1.0)"),
	"IsNaN":      predicate("is_nan(x)"),
	"Log":        unary("log(x)"),
	"Mish":       unary("x * tanh(softplus(x))"),
	"Neg":        folded(unary("-x"), func(d types.Dim) types.Dim { return mul(d, number(-1)) }, nil),
	"Not":        predicate("!x"),
	"Reciprocal": unary("1.0 / x"),
	"Relu":       unary("relu(x)"),
	"Round":      unary("round(x)"),
	"Sigmoid":    unary("sigmoid(x)"),
	"Sign":       unary("sign(x)"),
	"Sin":        unary("sin(x)"),
	"Sinh":       unary("sinh(x)"),
	"Softplus":   unary("softplus(x)"),
	"Softsign":   unary("x / (1.0 + abs(x))"),
	"Sqrt":       unary("sqrt(x)"),
	"Tan":        unary("tan(x)"),
	"Tanh":       unary("tanh(x)"),

	"Celu": {since: 12, write: func(c *call) {
		c.replace("max(x, 0.0) + min(0.0, a * expm1(x / a))", "a", c.float("alpha", 1))
	}},
	"Elu": {since: 1, write: func(c *call) {
		c.replace("where(x .< 0.0, a * expm1(x), x)", "a", c.float("alpha", 1))
	}},
	"HardSigmoid": {since: 1, write: func(c *call) {
		c.replace("clamp(x * a + b, 0.0, 1.0)", "a", c.float("alpha", 0.2), "b", c.float("beta", 0.5))
	}},
	"LeakyRelu": {since: 1, write: func(c *call) {
		c.replace("where(x .< 0.0, a * x, x)", "a", c.float("alpha", 0.01))
	}},
	"Selu": {since: 1, write: func(c *call) {
		c.replace("where(x .> 0.0, g * x, g * (a * exp(x) - a))", "a", c.float("alpha", 1.67326319217681884765625),
			"g", c.float("gamma", 1.05070102214813232421875))
	}},
	"Shrink": {since: 9, write: func(c *call) {
		b, l := c.float("bias", 0), c.float("lambd", 0.5)
		c.replace("where(x .< m, x + b, where(x .> l, x - b, 0.0))", "b", b, "l", l, "m", -l)
	}},
	"ThresholdedRelu": {since: 10, write: func(c *call) {
		c.replace("where(x .> a, x, 0.0)", "a", c.float("alpha", 1))
	}},
	"Gelu": {since: 20, write: func(c *call) {
		if c.string("approximate", "none") == "tanh" {
			c.replace("x * 0.5 * (1.0 + tanh((x + x * x * x * 0.044715) * r))", "r", math.Sqrt(2/math.Pi))
		} else {
			c.replace("gelu(x)")
		}
	}},
	"IsInf": {since: 10, write: func(c *call) {
		text, v := c.text(0), c.arg(0)
		switch minus, plus := c.flag("detect_negative", 1), c.flag("detect_positive", 1); {
		case minus && plus:
			c.result(0, types.Bool, v.shape, "is_inf(%s)", text)
		case minus:
			c.result(0, types.Bool, v.shape, "%s .== %s", text, floatText(v.elem, math.Inf(-1)))
		case plus:
			c.result(0, types.Bool, v.shape, "%s .== %s", text, floatText(v.elem, math.Inf(1)))
		default:
			c.result(0, types.Bool, v.shape, "%s .!= %s", text, text)
		}
	}},

	"Add":            {since: 1, write: arithmetic("+", add, func(a, b float64) float64 { return a + b })},
	"Sub":            {since: 1, write: arithmetic("-", sub, func(a, b float64) float64 { return a - b })},
	"Mul":            {since: 1, write: arithmetic("*", mul, func(a, b float64) float64 { return a * b })},
	"Div":            {since: 1, write: divide},
	"Mod":            {since: 10, write: modulo},
	"Pow":            {since: 1, write: power},
	"And":            {since: 1, write: comparison("&&", nil)},
	"Or":             {since: 1, write: comparison("||", nil)},
	"Xor":            {since: 1, write: comparison("!=", nil)},
	"Equal":          {since: 1, write: comparison("==", func(a, b int64) bool { return a == b })},
	"Greater":        {since: 1, write: comparison(">", func(a, b int64) bool { return a > b })},
	"GreaterOrEqual": {since: 12, write: comparison(">=", func(a, b int64) bool { return a >= b })},
	"Less":           {since: 1, write: comparison("<", func(a, b int64) bool { return a < b })},
	"LessOrEqual":    {since: 12, write: comparison("<=", func(a, b int64) bool { return a <= b })},
	"BitShift": {since: 11, write: func(c *call) {
		texts, s := c.elementwise(c.arg(0), c.arg(1))
		name := map[string]string{"LEFT": "shl", "RIGHT": "shr"}[c.string("direction", "")]
		if name == "" {
			c.fail("its direction is neither LEFT nor RIGHT")
		}
		c.result(0, c.arg(0).elem, s, "%s(%s, %s)", name, texts[0], texts[1])
	}},
	"BitwiseAnd": {since: 18, write: bitwise("band")},
	"BitwiseOr":  {since: 18, write: bitwise("bor")},
	"BitwiseXor": {since: 18, write: bitwise("bxor")},
	"BitwiseNot": unary("bnot(x)"),
	"PRelu": {since: 7, write: func(c *call) {
		x, slope := c.arg(0), c.arg(1)
		texts, s := c.elementwise(x, slope)
		zero := "0.0"
		if !x.elem.IsFloat() {
			zero = "0"
		}
		c.result(0, x.elem, s, "where(%s .< %s, %s .* %s, %s)", texts[0], zero, texts[0], texts[1], texts[0])
	}},
	"Where": {since: 9, write: func(c *call) {
		if c.foldWhere() {
			return
		}
		texts, s := c.elementwise(c.arg(0), c.arg(1), c.arg(2))
		c.result(0, c.arg(1).elem, s, "where(%s)", strings.Join(texts, ", "))
	}},
	"Clip": {since: 6, write: clip},
	"Max":  {since: 1, write: many(func(a, b string) string { return "max(" + a + ", " + b + ")" }, false)},
	"Min":  {since: 1, write: many(func(a, b string) string { return "min(" + a + ", " + b + ")" }, false)},
	"Sum":  {since: 1, write: many(func(a, b string) string { return a + " .+ " + b }, false)},
	"Mean": {since: 1, write: many(func(a, b string) string { return a + " .+ " + b }, true)},

	"Cast":     {since: 6, write: func(c *call) { c.cast(c.int("to", 0)) }},
	"CastLike": {since: 15, write: func(c *call) { c.convert(c.arg(1).elem) }},
	"Identity": {since: 1, write: func(c *call) { c.same(c.arg(0)) }},
	"Dropout": {since: 7, ignored: "seed ratio", write: func(c *call) {
		if c.has(2) {
			if n, ok := c.arg(2).integers(); !ok || n[0] != 0 {
				c.fail("unsupported: dropout that trains")
			}
		}
		c.same(c.arg(0))
		if c.output(1) {
			c.set(1, &value{elem: types.Bool, shape: c.arg(0).shape, name: c.node.Outputs[1]})
			c.result(1, types.Bool, c.arg(0).shape, "like(%s, 0) .== like(%s, 0)", c.text(0), c.text(0))
		}
	}},
}

// unary is the entry of a function of x.
func unary(text string) *entry {
	return &entry{since: 1, write: func(c *call) { c.replace(text) }}
}

// folded is an entry that computes what is known while the program is written.
func folded(e *entry, ints func(types.Dim) types.Dim, floats func(float64) float64) *entry {
	write := e.write
	e.write = func(c *call) {
		x := c.arg(0)
		switch k := x.known; {
		case k != nil && k.ints != nil && ints != nil && foldable(x.elem) && !k.clamped:
			to := &known{ints: []types.Dim{}}
			for _, d := range k.ints {
				to.ints = append(to.ints, ints(d))
			}
			c.knownResult(x.elem, x.shape, to)
		case k != nil && k.floats != nil && floats != nil:
			to := &known{}
			for _, f := range k.floats {
				to.floats = append(to.floats, floats(f))
			}
			c.knownResult(x.elem, x.shape, to)
		default:
			write(c)
		}
	}
	return e
}

// predicate is the entry of a function of x that gives bools.
func predicate(text string) *entry {
	return &entry{since: 1, write: func(c *call) {
		c.result(0, types.Bool, c.arg(0).shape, "%s", replaced(text, "x", c.text(0)))
	}}
}

// replace writes text with input 0 for x, and numbers for other letters.
func (c *call) replace(text string, numbers ...any) {
	v := c.arg(0)
	text = replaced(text, "x", "\x00")
	for i := 0; i < len(numbers); i += 2 {
		text = replaced(text, numbers[i].(string), floatText(v.elem, rounded(numbers[i+1].(float64))))
	}
	if v.known != nil && v.text == "" && strings.Count(text, "\x00") > 1 {
		// a literal that stands more than once
		v = c.let("x", v.elem, v.shape, "%s", c.t.operand(v))
	}
	c.result(0, v.elem, v.shape, "%s", strings.ReplaceAll(text, "\x00", c.t.operand(v)))
}

// rounded is the shortest number that is the same float of 32 bits, as attributes are.
func rounded(v float64) float64 {
	if math.Abs(v) < 1e-30 || float64(float32(v)) != v {
		return v
	}
	var out float64
	fmt.Sscan(fmt.Sprint(float32(v)), &out)
	return out
}

// replaced puts by in the place of a word.
func replaced(text, name, by string) string {
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if w == name {
			return by
		}
		return w
	})
}

// fold makes output 0 known, element by element, if both inputs are known.
func (c *call) fold(elem types.DType, ints func(a, b types.Dim) (types.Dim, bool),
	floats func(a, b float64) float64) bool {
	a, b := c.arg(0), c.arg(1)
	if a.known == nil || b.known == nil {
		return false
	}
	s, elements, ok := c.elements(a, b)
	if !ok {
		return false
	}
	k := &known{clamped: a.known.clamped || b.known.clamped}
	for _, from := range elements {
		i, j := from[0], from[1]
		if a.known.floats != nil && b.known.floats != nil && floats != nil {
			x := floats(a.known.floats[i], b.known.floats[j])
			if elem == types.F32 {
				x = float64(float32(x))
			} else if elem != types.F64 {
				return false
			}
			k.floats = append(k.floats, x)
		} else if a.known.ints != nil && b.known.ints != nil && ints != nil && a.elem != types.Bool {
			d, ok := ints(a.known.ints[i], b.known.ints[j])
			if !ok {
				return false
			}
			k.ints = append(k.ints, d)
		} else {
			return false
		}
	}
	c.knownResult(elem, s, k)
	return true
}

// elements says of each element of the shape that values broadcast to, in order, of which element of each value it is
// made; ok reports that all extents are known, and that there are few enough.
func (c *call) elements(vs ...*value) (s shape, from [][]int, ok bool) {
	s = c.broadcast(vs...)
	extents, ok := s.Ints()
	if !ok {
		return s, nil, false
	}
	n := int64(1)
	for _, e := range extents {
		if n *= e; n > maxKnown {
			return s, nil, false
		}
	}
	shapes := make([][]int64, len(vs))
	for i, v := range vs {
		if shapes[i], ok = v.shape.Ints(); !ok {
			return s, nil, false
		}
	}
	for _, index := range positions(extents) {
		one := make([]int, len(vs))
		for i := range vs {
			one[i] = flat(shapes[i], index)
		}
		from = append(from, one)
	}
	return s, from, true
}

// foldable reports whether integers of this type are computed while the program is written: those of shapes. They have
// room for what comes of it.
func foldable(d types.DType) bool { return d == types.I64 || d == types.I32 }

// arithmetic writes an operator of numbers.
func arithmetic(op string, ints func(a, b types.Dim) types.Dim, floats func(a, b float64) float64) func(*call) {
	return func(c *call) {
		a, b := c.arg(0), c.arg(1)
		exact := func(x, y types.Dim) (types.Dim, bool) { return within(a.elem, ints(x, y)) }
		if (foldable(a.elem) || a.elem.IsFloat()) && c.fold(a.elem, exact, floats) {
			return
		}
		text, s := c.operator(op, a, b)
		c.result(0, a.elem, s, "%s", text)
	}
}

// within reports whether a number is one of its type.
func within(elem types.DType, d types.Dim) (types.Dim, bool) {
	n, ok := d.Const()
	return d, !ok || elem == types.I64 || n >= math.MinInt32 && n <= math.MaxInt32
}

func divide(c *call) {
	a, b := c.arg(0), c.arg(1)
	if (foldable(a.elem) || a.elem.IsFloat()) &&
		c.fold(a.elem, div, func(x, y float64) float64 { return x / y }) {
		return
	}
	text, s := c.operator("/", a, b)
	c.result(0, a.elem, s, "%s", text)
}

// modulo has the sign of the divisor, or with fmod that of the dividend.
func modulo(c *call) {
	a, b := c.arg(0), c.arg(1)
	text, s := c.operator("%", a, b)
	if c.flag("fmod", 0) || a.elem.IsUnsigned() {
		c.result(0, a.elem, s, "%s", text)
		return
	}
	if a.elem.IsFloat() {
		c.fail("fmod is 0, and the operands are floats")
	}
	r := c.let("remainder", a.elem, s, "%s", text)
	by := c.t.operand(b)
	c.result(0, a.elem, s, "where((%s .!= 0) .&& ((%s .< 0) .!= (%s .< 0)), %s .+ %s, %s)", r.text, r.text, by, r.text,
		by, r.text)
}

func power(c *call) {
	a, b := c.arg(0), c.arg(1)
	if b.known != nil && b.known.len() == 1 && c.broadcast(a, b).Equal(a.shape) && a.elem.IsFloat() {
		e := math.NaN()
		if b.known.floats != nil {
			e = b.known.floats[0]
		} else if n, ok := b.known.ints[0].Const(); ok {
			e = float64(n)
		}
		switch x := c.t.operand(a); e {
		case 1:
			c.same(a)
			return
		case 2:
			c.result(0, a.elem, a.shape, "%s * %s", x, x)
			return
		case 3:
			c.result(0, a.elem, a.shape, "%s * %s * %s", x, x, x)
			return
		case 0.5:
			c.result(0, a.elem, a.shape, "sqrt(%s)", x)
			return
		}
	}
	texts, s := c.elementwise(a, b)
	switch {
	case a.elem == b.elem:
		c.result(0, a.elem, s, "pow(%s, %s)", texts[0], texts[1])
	case a.elem.IsFloat() || b.elem.IsInt():
		c.result(0, a.elem, s, "pow(%s, %s as %v)", texts[0], texts[1], a.elem)
	default: // an integer to the power of a float
		c.result(0, a.elem, s, "pow(%s as %v, %s) as %v", texts[0], b.elem, texts[1], a.elem)
	}
}

// comparison writes an operator that gives bools; holds folds it for integers.
func comparison(op string, holds func(a, b int64) bool) func(*call) {
	return func(c *call) {
		a, b := c.arg(0), c.arg(1)
		decided := func(x, y types.Dim) (types.Dim, bool) {
			apart := sub(x, y)
			switch n, ok := apart.Const(); {
			case holds == nil:
				return types.Dim{}, false
			case ok:
				return bit(holds(n, 0)), true
			case apart.AlwaysPositive(): // extents are never negative
				return bit(holds(1, 0)), true
			case sub(y, x).AlwaysPositive():
				return bit(holds(-1, 0)), true
			}
			return types.Dim{}, false
		}
		if foldable(a.elem) && c.fold(types.Bool, decided, nil) {
			return
		}
		text, s := c.operator(op, a, b)
		c.result(0, types.Bool, s, "%s", text)
	}
}

func bit(b bool) types.Dim {
	if b {
		return number(1)
	}
	return types.Dim{}
}

// bitwise writes a function of the bits of two integers.
func bitwise(name string) func(*call) {
	return func(c *call) {
		texts, s := c.elementwise(c.arg(0), c.arg(1))
		c.result(0, c.arg(0).elem, s, "%s(%s, %s)", name, texts[0], texts[1])
	}
}

// foldWhere makes the elements of a choice known.
func (c *call) foldWhere() bool {
	cond, a, b := c.arg(0), c.arg(1), c.arg(2)
	which, ok := cond.integers()
	if !ok || a.known == nil || b.known == nil || (a.known.ints == nil) != (b.known.ints == nil) {
		return false
	}
	s, elements, ok := c.elements(cond, a, b)
	if !ok {
		return false
	}
	k := &known{clamped: a.known.clamped || b.known.clamped}
	for _, i := range elements {
		from, at := b.known, i[2]
		if which[i[0]] != 0 {
			from, at = a.known, i[1]
		}
		one := from.pick([]int{at})
		k.ints, k.floats = append(k.ints, one.ints...), append(k.floats, one.floats...)
	}
	c.knownResult(a.elem, s, k)
	return true
}

// clip bounds by attributes in old versions, by inputs in new ones.
func clip(c *call) {
	x := c.arg(0)
	text := c.t.operand(x)
	bound := func(name string, i int) string {
		if a := c.attr(name, kindFloat); a != nil {
			return floatText(x.elem, rounded(a.Float))
		}
		if !c.has(i) {
			return ""
		}
		return c.text(i)
	}
	low, high := bound("min", 1), bound("max", 2)
	switch {
	case low == "" && high == "":
		c.same(x)
	case high == "":
		c.result(0, x.elem, x.shape, "max(%s, %s)", text, low)
	case low == "":
		c.result(0, x.elem, x.shape, "min(%s, %s)", text, high)
	default:
		c.result(0, x.elem, x.shape, "min(max(%s, %s), %s)", text, low, high)
	}
}

// many writes a function of any number of operands, from the first to the last.
func many(join func(a, b string) string, mean bool) func(*call) {
	return func(c *call) {
		args := c.args()
		texts, s := c.elementwise(args...)
		text := texts[0]
		for _, next := range texts[1:] {
			text = join(text, next)
		}
		switch {
		case mean && len(args) > 1:
			text = fmt.Sprintf("(%s) ./ %d.0", text, len(args))
		case len(args) == 1:
			c.same(args[0])
			return
		}
		c.result(0, args[0].elem, s, "%s", text)
	}
}

// cast converts to an element type of ONNX.
func (c *call) cast(to int64) {
	elem, err := elemType(to)
	if err != nil {
		c.fail("%v", err)
	}
	c.convert(elem)
}

func (c *call) convert(elem types.DType) {
	v := c.arg(0)
	saturate := c.flag("saturate", 1)
	switch k := v.known; {
	case elem == v.elem:
		c.same(v)
		return
	case k != nil && !k.clamped && k.ints != nil && foldable(elem) && c.fits(k, elem):
		c.knownResult(elem, v.shape, k)
		return
	case k != nil && k.ints != nil && elem.IsFloat():
		if list, ok := v.integers(); ok && !k.clamped {
			to := &known{}
			for _, n := range list {
				if n > 1<<11 || n < -1<<11 { // those that every float type has but bf16, which rounds
					to = nil
					break
				}
				to.floats = append(to.floats, float64(n))
			}
			if to != nil && elem != types.BF16 {
				c.knownResult(elem, v.shape, to)
				return
			}
		}
	case k != nil && k.floats != nil && foldable(elem):
		to := &known{}
		for _, f := range k.floats {
			if !(math.Abs(f) < 1<<31) {
				to = nil
				break
			}
			to.ints = append(to.ints, number(int64(f)))
		}
		if to != nil {
			c.knownResult(elem, v.shape, to)
			return
		}
	}
	if elem == types.Bool && !v.elem.Computes() {
		c.fail("unsupported: %v to bool", v.elem)
	}
	text := c.t.operand(v)
	if top := largest[elem]; top != "" && saturate && v.elem.IsFloat() {
		text = fmt.Sprintf("clamp(%s, -%s, %s)", text, top, top)
	}
	c.result(0, elem, v.shape, "%s as %v", text, elem)
}

// largest are the largest numbers of types to which Heal converts what is larger as an infinity or NaN.
var largest = map[types.DType]string{types.F8E4M3: "448.0", types.F8E5M2: "57344.0"}

// fits reports whether a conversion changes none of the elements.
func (c *call) fits(k *known, elem types.DType) bool {
	for _, d := range k.ints {
		if _, ok := within(elem, d); !ok {
			return false
		}
	}
	return true
}
