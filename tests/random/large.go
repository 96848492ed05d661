package random

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Large is a random function `f` in the source language of few operations on many elements: what New draws is the
// other way round, and seldom has products of some tiles, rows of some chunks or transforms of several passes. The
// extents are numbers; the arguments are drawn by who runs it.
func Large(seed uint64) string {
	l := &large{r: rand.New(rand.NewPCG(seed, 9)), halves: seed >= halvesSince,
		starts: seed >= startsSince}
	forms := []func(*large) (text, result string){
		(*large).product, (*large).product, (*large).reduction, (*large).reduction, (*large).columns,
		(*large).transform, (*large).turn, (*large).rows, (*large).residues, (*large).scan, (*large).chain,
		(*large).words, (*large).recursion,
	}
	if seed >= sumsSince {
		forms = append(forms, (*large).sums, (*large).sums)
	}
	if l.starts {
		forms = append(forms, (*large).channels)
	}
	if seed >= changesSince {
		forms = append(forms, (*large).changes, (*large).oddSums)
	}
	if seed >= vectorsSince {
		forms = append(forms, (*large).byVector, (*large).byVector, (*large).byVector, (*large).remainders)
	}
	if seed >= ownSince {
		forms = append(forms, (*large).byItself, (*large).byItself)
	}
	if seed >= positionsSince {
		forms = append(forms, (*large).positions)
	}
	body, result := forms[l.r.IntN(len(forms))](l)
	return l.before + "fn f(" + strings.Join(l.params, ", ") + ") -> " + result + " = " + body + "\n"
}

// halvesSince is the first seed that draws products of 16-bit floats. Those before it stay what they are: tests/reach
// names them.
const halvesSince = 1 << 20

// sumsSince is the same for sums of products modulo numbers that are not known.
const sumsSince = 1 << 21

// startsSince is the same for products whose chains start at the elements of a matrix, and for channels.
const startsSince = 1 << 22

// changesSince is the same for products that change parts of a matrix, and for sums over several axes.
const changesSince = 1 << 23

// vectorsSince is the same for long rows by a vector, and for remainders of floats.
const vectorsSince = 1 << 24

// ownSince is the same for matrices by their own transposes.
const ownSince = 1 << 25

// positionsSince is the same for what is added at many positions.
const positionsSince = 1 << 26

type large struct {
	r      *rand.Rand
	halves bool
	starts bool
	params []string
	before string // functions in front of f
}

// of is one of some words.
func (l *large) of(words ...string) string { return words[l.r.IntN(len(words))] }

// size is a number up to most: of any magnitude, often next to a multiple of a vector.
func (l *large) size(most int) int {
	n := 1 + l.r.IntN(1+l.r.IntN(most))
	if l.r.IntN(2) == 0 {
		n = n/16*16 + l.r.IntN(3) - 1
	}
	if l.r.IntN(8) == 0 {
		n = most
	}
	return min(max(n, 1), most)
}

// param adds a parameter.
func (l *large) param(elem string, shape ...int) string {
	name := fmt.Sprintf("x%d", len(l.params))
	l.params = append(l.params, name+": "+tensorOf(elem, shape...))
	return name
}

// tensorOf is the text of a type.
func tensorOf(elem string, shape ...int) string {
	text := elem
	for i, n := range shape {
		text += []string{"[", ", "}[min(i, 1)] + fmt.Sprint(n)
	}
	if len(shape) > 0 {
		text += "]"
	}
	return text
}

func (l *large) number() string {
	return l.of("f32", "f32", "f64", "i32", "i64", "f16", "u8", "i16", "u32", "u64", "i8")
}

// product is a matrix product with a prologue and an epilogue.
func (l *large) product() (text, result string) {
	m, k, n := l.size(200), l.size(300), l.size(300)
	switch l.r.IntN(6) {
	case 0:
		m = 1 + l.r.IntN(8)
	case 1:
		n = 1 + l.r.IntN(20)
	case 2:
		k = l.size(2000)
	}
	for m*k*n > 3_000_000 {
		m, k, n = 1+m*2/3, 1+k*2/3, 1+n*2/3
	}
	elem, from := l.of("f32", "f32", "f64", "i32", "i64"), ""
	if elem == "i32" && l.r.IntN(2) == 0 {
		from = l.of("i16", "i16", "i8", "u8", "u16")
	} else if elem == "f32" && l.r.IntN(4) == 0 {
		from = l.of("f16", "bf16")
	}
	if l.halves && l.r.IntN(3) == 0 {
		elem, from = l.of("f16", "bf16"), ""
	}
	var batch []int
	if l.r.IntN(6) == 0 {
		batch = []int{1 + l.r.IntN(4)}
		for m*k*n*batch[0] > 3_000_000 {
			k = 1 + k/2
		}
	}
	factor := func(rows, columns int) string {
		text := elem
		if from != "" && l.r.IntN(4) > 0 {
			text = from
		}
		turned := l.r.IntN(3) == 0 && batch == nil
		if turned {
			rows, columns = columns, rows
		}
		x := l.param(text, append(batch, rows, columns)...)
		if turned {
			x = "transpose(" + x + ")"
		}
		if text != elem {
			x = "(" + x + " as " + elem + ")"
		}
		if l.r.IntN(5) == 0 {
			x = "(" + x + " .* 2)"
		}
		return x
	}
	vector := func() string { return l.param(elem, k) }
	shape := append(batch, m, n)
	switch kind := l.r.IntN(8); {
	case l.starts && kind > 5 && batch == nil:
		step := "s + %s[i, k] * %s[k, j]"
		if elem[0] == 'f' || elem[0] == 'b' {
			step = "fma(%s[i, k], %s[k, j], s)"
		}
		if l.r.IntN(3) == 0 { // of several pieces
			k = 400 + l.r.IntN(800)
			for m*k*n > 3_000_000 {
				m, n = 1+m*2/3, 1+n*2/3
			}
			shape = []int{m, n}
		}
		start, x, y := l.param(elem, m, n), l.param(elem, m, k), l.param(elem, k, n)
		text = fmt.Sprintf("tabulate(%d, %d, |i, j| fold(%s[i, j], |s, k| "+fmt.Sprintf(step, x, y)+", 0..%d))", m, n,
			start, k)
	case kind == 0 && batch == nil:
		text, shape = vector()+" @ "+factor(k, n), []int{n}
	case kind == 1 && batch == nil:
		return factor(m, k) + " @ " + vector(), tensorOf(elem, m)
	default:
		text = factor(m, k) + " @ " + factor(k, n)
	}
	switch l.r.IntN(6) {
	case 0:
		text = "relu(" + text + ")"
	case 1:
		text += " .+ " + l.param(elem, n)
	case 2:
		text += " .* 3 .- 1"
	case 3:
		text, elem = text+" .> 0", "bool"
	}
	return text, tensorOf(elem, shape...)
}

// shape has up to so many elements.
func (l *large) shape(rank, most int) []int {
	out := make([]int, rank)
	long := l.r.IntN(rank)
	left := most
	for i := range out {
		if i != long {
			out[i] = l.size(min(left, 40))
			left /= out[i]
		}
	}
	out[long] = l.size(max(left, 1))
	return out
}

// inner is what a reduction or a row goes over, of x.
func (l *large) inner(x, elem string) string {
	switch l.r.IntN(5) {
	case 0:
		return x + " .* " + x
	case 1:
		if elem[0] == 'f' {
			return l.of("exp", "log", "sqrt", "sin", "tanh") + "(" + x + ")"
		}
	case 2:
		return x + " .+ 1"
	}
	return x
}

// reduction is one or two reductions of a tensor along an axis or all.
func (l *large) reduction() (text, result string) {
	elem := l.number()
	s := l.shape(1+l.r.IntN(3), 150_000)
	x := l.param(elem, s...)
	one := func(axis int) (text, result string) {
		left := slices.Delete(slices.Clone(s), axis, axis+1)
		op := l.of("+/", "+/", "max/", "min/", "*/", "argmax", "argmin", "any", "mean")
		in := l.inner(x, elem)
		switch {
		case op == "any":
			return fmt.Sprintf("any(%s .> 7, axis = %d)", x, axis), tensorOf("bool", left...)
		case op == "mean" && elem[0] != 'f':
			op = "+/"
		}
		if op[0] == 'a' {
			return fmt.Sprintf("%s(%s, axis = %d)", op, in, axis), tensorOf("i32", left...)
		}
		if op == "mean" {
			return fmt.Sprintf("mean(%s, axis = %d)", in, axis), tensorOf(elem, left...)
		}
		return fmt.Sprintf("%s[axis=%d](%s)", op, axis, in), tensorOf(elem, left...)
	}
	axis := l.r.IntN(len(s))
	text, result = one(axis)
	if l.r.IntN(2) == 0 {
		if l.r.IntN(4) == 0 {
			axis = l.r.IntN(len(s))
		}
		more, other := one(axis)
		return "(" + text + ", " + more + ")", "(" + result + ", " + other + ")"
	}
	return text, result
}

// columns are reductions down columns, with something behind them.
func (l *large) columns() (text, result string) {
	elem := l.number()
	rows, columns := l.size(600), l.size(500)
	x := l.param(elem, rows, columns)
	op := l.of("+/", "+/", "max/", "min/", "*/")
	text, result = fmt.Sprintf("%s[axis=0](%s)", op, l.inner(x, elem)), tensorOf(elem, columns)
	switch l.r.IntN(4) {
	case 0:
		text += " .+ " + l.param(elem, columns)
	case 1:
		text = fmt.Sprintf("(%s, %s[axis=0](%s))", text, l.of("+/", "max/", "min/"), l.inner(x, elem))
		result = "(" + result + ", " + result + ")"
	case 2:
		text, result = x+" .- "+text, tensorOf(elem, rows, columns)
	}
	return text, result
}

// positions are additions at many positions of one row, or of some.
func (l *large) positions() (text, result string) {
	elem := l.number()
	size, n := l.size(400), 2000+l.size(3000)
	rows := []int{}
	if l.r.IntN(2) == 0 {
		rows, n = append(rows, 1+l.r.IntN(5)), 600+l.size(1500)
	}
	result = tensorOf(elem, append(slices.Clone(rows), size)...)
	x, i := l.param(elem, append(slices.Clone(rows), size)...), l.param("i32", append(slices.Clone(rows), n)...)
	added := "(1 as " + elem + ")"
	if l.r.IntN(2) == 0 {
		added = l.param(elem, append(slices.Clone(rows), n)...)
	}
	return fmt.Sprintf("scatter_add(%s, (%s %% %d + %[3]d) %% %[3]d, %s, %d)", x, i, size, added, len(rows)), result
}

// moduli are of the kinds that have code of their own: of up to 30 bits, 52, 60 and more.
func (l *large) modulus(word string) string {
	if word == "i32" {
		return l.of("2", "17", "12289", "1073741789", "2147483647")
	}
	return l.of("2", "17", "12289", "1073741789", "2147483647", "4503599627370449", "1125899906842597",
		"1152921504606846883", "2305843009213693951", "9223372036854775783")
}

// transform is a number theoretic transform of rows, of roots and in an order that are drawn: it is defined for all.
func (l *large) transform() (text, result string) {
	word := l.of("i64", "i64", "i64", "i32")
	k, m := 1+l.r.IntN(3), 1<<l.r.IntN(13)
	rows := 1 + l.r.IntN(min(40, max(1, 8192/m/k)))
	var ps []string
	for range k {
		ps = append(ps, l.modulus(word))
	}
	p := fmt.Sprintf("([%s] as %s)", strings.Join(ps, ", "), word)
	last := l.r.IntN(2) == 0
	shape := []int{m, rows, k}
	axis := ""
	if last {
		shape, axis = []int{rows, k, m}, ", axis = -1"
	}
	result = tensorOf(word, shape...)
	a, w := l.param(word, shape...), l.param(word, k, m)
	if l.r.IntN(3) > 0 { // residues
		q := p
		if last {
			q = fmt.Sprintf("reshape(%s, [%d, 1])", p, k)
		}
		a = fmt.Sprintf("mod(%s, %s)", a, q)
	}
	w = fmt.Sprintf("mod(%s, reshape(%s, [%d, 1]))", w, p, k)
	perm := l.of(fmt.Sprintf("(0..%d)", m), fmt.Sprintf("flip(0..%d, 0)", m))
	if l.r.IntN(3) == 0 {
		axis += ", skip_perm = true"
	}
	if l.r.IntN(3) == 0 {
		return fmt.Sprintf("intt(%s, %s, %s, mod(%s, %s), %s%s)", a, p, w, l.param(word, k), p, perm,
			strings.Replace(axis, ", skip_perm = true", "", 1)), result
	}
	return fmt.Sprintf("ntt(%s, %s, %s, %s%s)", a, p, w, perm, axis), result
}

// turn moves axes.
func (l *large) turn() (text, result string) {
	elem := l.of("f32", "f64", "u8", "i16", "bool", "i64", "f16")
	more := func(x string) string {
		if elem == "bool" || l.r.IntN(2) == 0 {
			return x
		}
		return x + " .+ 1"
	}
	switch l.r.IntN(3) {
	case 0:
		a, b := l.size(400), l.size(400)
		return more("transpose(" + l.param(elem, a, b) + ")"), tensorOf(elem, b, a)
	case 1: // one of a few
		n, k := l.size(20_000), 2+l.r.IntN(7)
		return more("transpose(" + l.param(elem, k, n) + ")"), tensorOf(elem, n, k)
	}
	s := []int{l.size(30), l.size(60), l.size(80)}
	x, i, j := l.param(elem, s...), l.r.IntN(3), l.r.IntN(3)
	moved := slices.Insert(slices.Delete(slices.Clone(s), i, i+1), j, s[i])
	return more(fmt.Sprintf("moveaxis(%s, %d, %d)", x, i, j)), tensorOf(elem, moved...)
}

// rows are whole rows: softmax and its like, and sorts.
func (l *large) rows() (text, result string) {
	m, n := l.size(200), l.size(2000)
	for m*n > 100_000 {
		m = 1 + m/2
	}
	elem := l.of("f32", "f64", "f16")
	x := l.param(elem, m, n)
	switch l.r.IntN(3) {
	case 0:
		return fmt.Sprintf("{ let e = exp(%s .- max/[axis=1, keep](%s)); e ./ +/[axis=1, keep](e) }", x, x),
			tensorOf(elem, m, n)
	case 1:
		return fmt.Sprintf("{ let c = %s .- mean(%s, axis = 1, keep = true); c ./ sqrt(mean(c .* c, axis = 1, "+
			"keep = true) .+ 1.0) }", x, x), tensorOf(elem, m, n)
	}
	return fmt.Sprintf("(sort(%s), max/[axis=1](%s))", x, x),
		"(" + tensorOf(elem, m, n) + ", " + tensorOf(elem, m) + ")"
}

// residues are sums and products of residues.
func (l *large) residues() (text, result string) {
	word := l.of("i64", "i64", "i32")
	rows, n := l.size(300), l.size(300)
	if l.r.IntN(3) == 0 {
		n = l.size(9)
	}
	x, y := l.param(word, rows, n), l.param(word, rows, n)
	p := l.modulus(word)
	if l.r.IntN(2) == 0 {
		x, y = fmt.Sprintf("mod(%s, %s)", x, p), fmt.Sprintf("mod(%s, %s)", y, p)
	}
	text = l.of(fmt.Sprintf("modmul(%s, %s, %s)", x, y, p), fmt.Sprintf("modsum(%s, %s, %s)", x, y, p), x)
	if l.r.IntN(2) == 0 {
		return fmt.Sprintf("axis_modsum(%s, %s, 0)", text, p), tensorOf(word, n)
	}
	return text, tensorOf(word, rows, n)
}

// sums are products and sums modulo one number, or one for each column, of numbers of any size or of residues.
func (l *large) sums() (text, result string) {
	word := l.of("i64", "i64", "i64", "i32")
	rows, n := l.size(700), l.size(60)
	one := func() string {
		p := l.modulus(word)
		if l.r.IntN(3) == 0 {
			p = l.of("2", "17", "12289")
		}
		return "(" + p + " as " + word + ")"
	}
	p := one()
	switch l.r.IntN(3) {
	case 0:
		p = fmt.Sprintf("(if %s { %s } else { %s })", l.param("bool"), one(), one())
	case 1:
		n = 1 + l.r.IntN(9)
		ps := make([]string, n)
		for i := range ps {
			ps[i] = one()
		}
		if l.r.IntN(2) == 0 { // all of one size
			ps = slices.Repeat(ps[:1], n)
		}
		p = "[" + strings.Join(ps, ", ") + "]"
	}
	kind, alike := l.r.IntN(5), l.r.IntN(3) > 0
	factor := func() string {
		x := l.param(word, rows, n)
		if !alike {
			kind = l.r.IntN(5)
		}
		switch kind {
		case 0:
			return x
		case 1:
			return "abs(" + x + ")"
		case 2: // of some length, and not below zero
			return "(mod(" + x + ", 4096) .* " + map[string]string{"i64": "549755813881", "i32": "524287"}[word] + ")"
		case 3: // wraps
			return "(" + x + " .* " + map[string]string{"i64": "6364136223846793005", "i32": "1103515245"}[word] + ")"
		}
		return "mod(" + x + ", " + p + ")"
	}
	switch l.r.IntN(4) {
	case 0:
		return fmt.Sprintf("%s(%s, %s, %s)", l.of("modmul", "modsum"), factor(), factor(), p), tensorOf(word, rows, n)
	case 1:
		return fmt.Sprintf("axis_modsum(%s, %s, 0)", factor(), p), tensorOf(word, n)
	}
	return fmt.Sprintf("modmul_axis_sum(%s, %s, %s, 0)", factor(), factor(), p), tensorOf(word, n)
}

// channels are operations modulo another number in each row, of numbers of any size or of residues.
func (l *large) channels() (text, result string) {
	rows, n := 1+l.r.IntN(6), l.size(3000)
	ps := make([]string, rows)
	for i := range ps {
		ps[i] = "(" + l.modulus("i64") + " as i64)"
	}
	x, y := l.param("i64", rows, n), l.param("i64", rows, n)
	factor := func(x string) string {
		if l.r.IntN(2) == 0 {
			return "mod(" + x + ", p)"
		}
		return x
	}
	text = fmt.Sprintf("modmul(%s, %s, p)", factor(x), factor(y))
	if l.r.IntN(2) == 0 {
		text = fmt.Sprintf("modsum(%s, %s, p)", text, factor(x))
	}
	return "{ let p = unsqueeze([" + strings.Join(ps, ", ") + "], 1); " + text + " }", tensorOf("i64", rows, n)
}

// scan are scans along either axis.
func (l *large) scan() (text, result string) {
	elem := l.number()
	s := []int{l.size(300), l.size(300)}
	x, axis := l.param(elem, s...), l.r.IntN(2)
	return fmt.Sprintf("(cumsum(%s, axis = %d), %s[axis=%d](%s))", x, l.r.IntN(2), l.of("+/", "max/"), axis, x),
		"(" + tensorOf(elem, s...) + ", " + tensorOf(elem, s[1-axis]) + ")"
}

// chain is element by element, with many elements.
func (l *large) chain() (text, result string) {
	elem := l.of("f32", "f64", "i32", "u8", "f16")
	n := l.size(120_000)
	x, y := l.param(elem, n), l.param(elem, n)
	if l.r.IntN(4) == 0 {
		return fmt.Sprintf("concat((%s, %s))", x, y), tensorOf(elem, 2*n)
	}
	return fmt.Sprintf(l.of("%s .* %s .+ 1", "%s .+ %s", "where(%s .> 3, %s, 1)"), x, y), tensorOf(elem, n)
}

// words are strings in a function of positions, which are computed before.
func (l *large) words() (text, result string) {
	n := l.size(300)
	c := l.param("i32")
	return fmt.Sprintf(`tabulate(%d, |i| { let s = if %s > 3 { "ab" } else { "c" }; if i > %d { len(s ++ "de") as i32 `+
		`} else { i as i32 } })`, n, c, l.r.IntN(n+1)), tensorOf("i32", n)
}

// recursion goes deep for some elements.
func (l *large) recursion() (text, result string) {
	n := l.size(60)
	l.before = "fn down(n: i32) -> i32 = if n < 1 { 0 } else { 1 + down(n - 1) }\n"
	depth := []int{50, 9000, 12000}[l.r.IntN(3)]
	return fmt.Sprintf("map(|x| down(mod(x, %d)), %s)", depth, l.param("i32", n)), tensorOf("i32", n)
}

// Huge is Large with more elements than the caches of a core have, and few operations on each.
func Huge(seed uint64) string {
	l := &large{r: rand.New(rand.NewPCG(seed, 10))}
	body, result := l.huge()
	return "fn f(" + strings.Join(l.params, ", ") + ") -> " + result + " = " + body + "\n"
}

func (l *large) huge() (text, result string) {
	n := 1_450_000 + l.r.IntN(300_000)
	switch l.r.IntN(7) {
	case 0: // past the caches
		x, y := l.param("f64", n), l.param("f64", n)
		return fmt.Sprintf(l.of("%s .* %s .+ 1", "max(%s, %s)"), x, y), tensorOf("f64", n)
	case 1:
		x, y := l.param("f64", n), l.param("f64", n)
		return fmt.Sprintf("(%s .+ %s, %s .> 1)", x, y, x), "(" + tensorOf("f64", n) + ", " + tensorOf("bool", n) + ")"
	case 2: // rows of any length
		m := 100 + l.r.IntN(1000)
		x := l.param("f64", n/m, m)
		return fmt.Sprintf("%s .+ %s .* 2", x, l.param("f64", n/m, m)), tensorOf("f64", n/m, m)
	case 3: // other orders
		a := 1 + l.r.IntN(2000)
		b := 2*n/a + 1
		if l.r.IntN(2) == 0 {
			a = 2 + l.r.IntN(7)
			b = 2*n/a + 1
		}
		text := "transpose(" + l.param("f64", a, b) + ")"
		return text, tensorOf("f64", b, a)
	case 4: // several levels of chunks
		elem := l.of("f32", "u8", "f64", "i16")
		if elem == "f32" { // more than 4096 chunks of 4096
			n += 15_600_000
		}
		x := l.param(elem, n)
		if l.r.IntN(3) == 0 {
			return "argmax(" + x + ")", "i32"
		}
		return l.of("+/", "max/") + "(" + x + ")", elem
	case 5:
		elem, k := l.of("f32", "u8"), 1+l.r.IntN(4)
		return fmt.Sprintf("%s[axis=0](%s)", l.of("+/", "max/"), l.param(elem, n*3/4, k)), tensorOf(elem, k)
	}
	elem, rows := l.of("f32", "u8", "i32"), 1+l.r.IntN(2)
	return "+/[axis=1](" + l.param(elem, rows, n*3/4) + ")", tensorOf(elem, rows)
}

var number = regexp.MustCompile(`\b[0-9]+\b`)

// Symbolic is a program of Large or Huge with one extent, a long one, as a shape parameter, and its value; the program
// itself where its extents have to be known.
func Symbolic(text string) (string, map[string]int64) {
	head, _, _ := strings.Cut(text, " -> ")
	if strings.Contains(text, "ntt(") || strings.Contains(text, "down(") || strings.Contains(text, "tabulate(") ||
		strings.Contains(text, "concat(") {
		return text, nil
	}
	most := int64(16)
	for _, word := range number.FindAllString(head, -1) {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			most = max(most, n)
		}
	}
	name := fmt.Sprint(most)
	if !slices.Contains(number.FindAllString(head, -1), name) {
		return text, nil
	}
	text = number.ReplaceAllStringFunc(text, func(word string) string {
		if word == name {
			return "N"
		}
		return word
	})
	return strings.Replace(text, "fn f(", "fn f[N](", 1), map[string]int64{"N": most}
}

// changes is a matrix from a part of which a product is taken in each of some steps, the part being another one each
// time, as factorisations have it.
func (l *large) changes() (text, result string) {
	m, n, k := 2+l.size(150), 2+l.size(150), 1+l.r.IntN(40)
	elem := l.of("f32", "f64")
	c, x, y := l.param(elem, m, n), l.param(elem, m, k), l.param(elem, k, n)
	guard := l.of("i >= t && j >= t", "i < t", "j > t", "t <= i && t > j")
	text = fmt.Sprintf("{ let (_, r) = iterate(3, (%d, %s), |(t, c)| (t + %d, tabulate(%d, %d, |i, j| where(%s, "+
		"fold(c[i, j], |s, k| fma(-%s[i, k], %s[k, j], s), 0..%d), c[i, j])))); r }", l.r.IntN(9)-3, c,
		1+l.r.IntN(max(m, n)), m, n, guard, x, y, k)
	return text, tensorOf(elem, m, n)
}

// oddSums is a sum over several axes, the last among them, of rows that fill no vectors.
func (l *large) oddSums() (text, result string) {
	shape := []int{1 + l.size(60), 1 + l.size(60), 1 + l.size(300)}
	elem := l.of("f32", "f64", "f16", "i32")
	x := l.param(elem, shape...)
	switch l.r.IntN(3) {
	case 0:
		return fmt.Sprintf("sum(%s, axis = (0, 2))", x), tensorOf(elem, shape[1])
	case 1:
		return fmt.Sprintf("sum(%s, axis = (1, 2))", x), tensorOf(elem, shape[0])
	}
	return fmt.Sprintf("sum(%s .* %s, axis = (0, 1, 2))", x, x), elem
}

// byVector is a product of a matrix, which may have long rows, by a vector, in one chain or in blocks.
func (l *large) byVector() (text, result string) {
	m, k, elem := 1+l.size(300), 1+l.size(300), l.of("f32", "f64", "f16", "bf16", "i32")
	switch l.r.IntN(4) {
	case 0: // rows for several threads, and whole blocks
		m, k, elem = 1024+l.r.IntN(500), 256*(1+l.r.IntN(4)), l.of("f32", "f32", elem)
	case 1: // rows of some KiB, which do not fit in the second-level cache
		m, k = 250+l.r.IntN(100), 2100+l.r.IntN(400)
	}
	a, x := l.param(elem, m, k), l.param(elem, k)
	text = fmt.Sprintf(l.of("(%s @ %s)", "matmul(%s, %s, split = 32)", "matmul(%s, %s, split = 256)"), a, x)
	text = fmt.Sprintf(l.of("%s", "relu(%s)", "neg(neg(%s))", "abs(neg(%s))"), text)
	if l.r.IntN(2) == 0 {
		text += " .+ " + l.param(elem, m)
	}
	return text, tensorOf(elem, m)
}

// byItself is a product of a matrix, or of each of a batch, with its own transpose.
func (l *large) byItself() (text, result string) {
	n, k, elem := 90+l.r.IntN(50), 120+l.r.IntN(60), l.of("f32", "f64", "f32", "f64", "i32", "i64", "u32", "i8", "bf16")
	shape := []int{n, k}
	if l.r.IntN(4) == 0 {
		shape = []int{2, n, k}
	}
	rows := l.r.IntN(2) == 0
	if !rows {
		shape[len(shape)-2], shape[len(shape)-1] = k, n
	}
	x := l.param(elem, shape...)
	turned := fmt.Sprintf("transpose(%s)", x)
	if len(shape) == 3 {
		turned = fmt.Sprintf("permute_axes(%s, [0, 2, 1])", x)
	}
	if text = turned + " @ " + x; rows {
		text = x + " @ " + turned
	}
	text = fmt.Sprintf(l.of("%s", "neg(%s)", "%[1]s .+ %[1]s"), text)
	shape[len(shape)-2], shape[len(shape)-1] = n, n
	return text, tensorOf(elem, shape...)
}

// remainders of floats, of which some are far larger than what they are divided by.
func (l *large) remainders() (text, result string) {
	n, elem := l.size(3000), l.of("f32", "f64", "f16")
	x, y := l.param(elem, n), l.param(elem, n)
	return fmt.Sprintf(l.of("%s .%% %s", "(%s .* %[1]s .* %[1]s) .%% %[2]s"), x, y), tensorOf(elem, n)
}
