package random

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Open is a random function `f` in the source language whose extents are all shape parameters, and their values.
// Compiled for these it is like one of Large; compiled for any shape, it has a loop wherever an extent decides.
func Open(seed uint64) (text string, bind map[string]int64) {
	forms := []func(*open) (text, result string){(*open).product, (*open).product, (*open).product, (*open).bytes,
		(*open).vector, (*open).vector, (*open).reduction, (*open).columns}
	if seed >= since {
		forms = append(forms, (*open).halves, (*open).across)
	}
	return newOpen(seed, 13, forms...)
}

// Vast is Open with more elements than the caches of a core have, or than one level of the results of chunks.
func Vast(seed uint64) (text string, bind map[string]int64) {
	return newOpen(seed, 14, (*open).tall, (*open).long, (*open).sheet, (*open).sheet, (*open).turned, (*open).turned)
}

type open struct {
	large
	bind map[string]int64
}

func newOpen(seed, stream uint64, forms ...func(*open) (text, result string)) (text string, bind map[string]int64) {
	o := &open{large{r: rand.New(rand.NewPCG(seed, stream))}, map[string]int64{}}
	body, result := forms[o.r.IntN(len(forms))](o)
	dims := strings.Join(slices.Sorted(maps.Keys(o.bind)), ", ")
	return "fn f[" + dims + "](" + strings.Join(o.params, ", ") + ") -> " + result + " = " + body + "\n", o.bind
}

// extent names a shape parameter and gives it a value.
func (o *open) extent(name string, n int) string {
	o.bind[name] = int64(n)
	return name
}

// param adds a parameter whose extents are named; an empty name is none.
func (o *open) param(elem string, shape ...string) string {
	name := fmt.Sprintf("x%d", len(o.params))
	o.params = append(o.params, name+": "+shapedAs(elem, shape...))
	return name
}

// shapedAs is the text of a type whose extents are named; an empty name is none.
func shapedAs(elem string, shape ...string) string {
	shape = slices.DeleteFunc(slices.Clone(shape), func(name string) bool { return name == "" })
	if len(shape) == 0 {
		return elem
	}
	return elem + "[" + strings.Join(shape, ", ") + "]"
}

// factor is an operand of a product, maybe cast, computed or transposed.
func (o *open) factor(elem, from, batch, rows, columns string) string {
	stored := o.of(elem, from, from, from)
	turned := o.r.IntN(2) == 0 && batch == ""
	if turned {
		rows, columns = columns, rows
	}
	x := o.param(stored, batch, rows, columns)
	if turned {
		x = "transpose(" + x + ")"
	}
	if stored != elem {
		x = "(" + x + " as " + elem + ")"
	}
	switch o.r.IntN(6) {
	case 0:
		x = "(" + x + " .* 2)"
	case 1, 2: // a value of the function lies in its memory row by row, while the strides of arguments are open, too
		x = "cumsum(" + x + ", axis = " + o.of("0", "-1") + ")"
	}
	return x
}

// types are an element type of a product, and one that is cast to it.
func (o *open) types() (elem, from string) {
	elem = o.of("f32", "f32", "f64", "i32", "i32", "i64")
	switch elem {
	case "f32":
		return elem, o.of(elem, elem, "f16", "bf16")
	case "i32":
		return elem, o.of(elem, "i16", "i16", "u8")
	}
	return elem, elem
}

// product is a matrix product, maybe of one row or of several matrices, and maybe with an epilogue.
func (o *open) product() (text, result string) {
	m, k, n := o.size(150), o.size(600), o.size(400)
	b, batch := 1, ""
	switch o.r.IntN(4) {
	case 0:
		b = 1 + o.r.IntN(3)
		batch = o.extent("B", b)
	case 1: // many columns, so that copies pay
		n = 256 + o.r.IntN(200)
		k = 128 + o.r.IntN(100)
	}
	rows := "1"
	if o.r.IntN(4) > 0 {
		for b*m*k*n > 3_000_000 {
			m, k = 1+m*2/3, 1+k*2/3
		}
		rows = o.extent("M", m)
	}
	inner, columns := o.extent("K", k), o.extent("N", n)
	elem, from := o.types()
	text = o.factor(elem, from, batch, rows, inner) + " @ " + o.factor(elem, from, batch, inner, columns)
	switch o.r.IntN(5) {
	case 0:
		text = "relu(" + text + ")"
	case 1:
		text += " .+ " + o.param(elem, columns)
	case 2: // in the memory of what it is added to
		x := o.param("&mut "+elem, batch, rows, columns)
		return "{ " + x + " .+= " + text + "; 1 }", "i32"
	}
	return text, shapedAs(elem, batch, rows, columns)
}

// bytes is a product of matrices of bytes.
func (o *open) bytes() (text, result string) {
	m, k, n := o.size(150), o.size(600), o.size(200)
	rows, inner, columns := o.extent("M", m), o.extent("K", k), o.extent("N", n)
	factor := func(rows, columns string) string {
		elem := o.of("i8", "u8")
		if o.r.IntN(3) == 0 {
			return "(transpose(" + o.param(elem, columns, rows) + ") as i32)"
		}
		return "(" + o.param(elem, rows, columns) + " as i32)"
	}
	return o.used(factor(rows, inner)+" @ "+factor(inner, columns), "i32", rows, columns)
}

// used is a product, maybe with an epilogue, or in the memory of what it is added to.
func (o *open) used(product, elem, rows, columns string) (text, result string) {
	switch o.r.IntN(4) {
	case 0:
		product = "relu(" + product + ")"
	case 1:
		x := o.param("&mut "+elem, rows, columns)
		return "{ " + x + " .+= " + product + "; 1 }", "i32"
	}
	return product, shapedAs(elem, rows, columns)
}

// halves is a product of matrices of bf16.
func (o *open) halves() (text, result string) {
	m, k, n := o.size(100), o.size(300), o.size(150)
	rows, inner, columns := o.extent("M", m), o.extent("K", k), o.extent("N", n)
	left := o.factor("bf16", "bf16", "", rows, inner)
	return o.used(left+" @ "+o.factor("bf16", "bf16", "", inner, columns), "bf16", rows, columns)
}

// across is a product of matrices of bytes, of which the rows of the first lie side by side in memory of the function.
func (o *open) across() (text, result string) {
	m, k, n := o.size(100), o.size(300), o.size(100)
	rows, inner, columns := o.extent("M", m), o.extent("K", k), o.extent("N", n)
	x := o.param(o.of("i8", "u8"), inner, rows)
	y := o.param(o.of("i8", "u8"), inner, columns)
	text = fmt.Sprintf("(transpose(cumsum(%s, axis = %s)) as i32) @ (%s as i32)", x, o.of("0", "-1"), y)
	return text, shapedAs("i32", rows, columns)
}

// vector is a product of a matrix and a vector, or of some of each. Rows of the matrix are often some half pages.
func (o *open) vector() (text, result string) {
	k, n := o.size(2000), o.size(300)
	if o.r.IntN(2) == 0 {
		k = 256 << o.r.IntN(3)
	}
	inner, columns := o.extent("K", k), o.extent("N", n)
	elem, from := o.types()
	if elem == "i64" { // in whose place are floats of 16 bits, whose products go by blocks
		elem = o.of("f16", "bf16")
		from = elem
	}
	switch o.r.IntN(3) {
	case 0:
		x := o.param(elem, inner)
		return x + " @ " + o.factor(elem, from, "", inner, columns), shapedAs(elem, columns)
	case 1:
		x := o.param(elem, inner)
		return o.factor(elem, from, "", columns, inner) + " @ " + x, shapedAs(elem, columns)
	}
	batch := o.extent("B", 1+o.r.IntN(4))
	x := o.param(elem, batch, "1", inner)
	return x + " @ " + o.factor(elem, from, batch, inner, columns), shapedAs(elem, batch, "1", columns)
}

// reduction is two reductions of the same rows.
func (o *open) reduction() (text, result string) {
	elem, n := o.number(), o.size(20_000)
	rows, axis := "", 0
	if o.r.IntN(3) == 0 {
		rows, axis = o.extent("M", o.size(20)), 1
		n = o.size(1000)
	}
	if o.r.IntN(4) == 0 { // no vector
		n = o.size(20)
	}
	x := o.param(elem, rows, o.extent("N", n))
	one := func() (text, result string) {
		op := o.of("+/", "max/", "min/", "argmax", "argmin")
		if op[0] == 'a' {
			return fmt.Sprintf("%s(%s, axis = %d)", op, x, axis), shapedAs("i32", rows)
		}
		return fmt.Sprintf("%s[axis=%d](%s)", op, axis, x), shapedAs(elem, rows)
	}
	a, as := one()
	b, bs := one()
	return "(" + a + ", " + b + ")", "(" + as + ", " + bs + ")"
}

// columns are one or two reductions down columns.
func (o *open) columns() (text, result string) {
	elem := o.number()
	x := o.param(elem, o.extent("M", o.size(1500)), o.extent("N", o.size(200)))
	text, result = fmt.Sprintf("%s[axis=0](%s)", o.of("+/", "*/", "max/"), o.inner(x, elem)), shapedAs(elem, "N")
	if o.r.IntN(3) == 0 {
		text = fmt.Sprintf("(%s, %s[axis=0](%s))", text, o.of("+/", "min/"), o.inner(x, elem))
		result = "(" + result + ", " + result + ")"
	}
	return text, result
}

// tall are reductions down columns of more rows than one level of chunk results takes.
func (o *open) tall() (text, result string) {
	elem := o.of("f32", "f64")
	x := o.param(elem, o.extent("M", 256*4096+1+o.r.IntN(2000)), o.extent("N", 1+o.r.IntN(2)))
	return fmt.Sprintf("%s[axis=0](%s)", o.of("+/", "*/"), x), shapedAs(elem, "N")
}

// long is a reduction of a row of more elements than that.
func (o *open) long() (text, result string) {
	x := o.param("f32", o.extent("M", 1), o.extent("N", 4096*4096+1+o.r.IntN(20_000)))
	return fmt.Sprintf("%s[axis=1](%s)", o.of("+/", "*/"), x), shapedAs("f32", "M")
}

// sheet is element by element, in rows of any length.
func (o *open) sheet() (text, result string) {
	n := 40 + o.r.IntN(2000)
	m := 2_200_000/n + 1
	rows, columns := o.extent("M", m), o.extent("N", n)
	x := o.param("f64", rows, columns)
	by := "2.0"
	if o.r.IntN(2) == 0 {
		by = o.param("f64", columns)
	}
	return x + " .* " + by, shapedAs("f64", rows, columns)
}

// turned is a transposition, maybe with two results.
func (o *open) turned() (text, result string) {
	m := 40 + o.r.IntN(2000)
	if o.r.IntN(2) == 0 {
		m = m / 64 * 64
	}
	m = max(m, 64)
	n := 2_200_000/m + 1
	if o.r.IntN(2) == 0 {
		n = n/64*64 + 64
	}
	rows, columns := o.extent("M", m), o.extent("N", n)
	x, one := o.param("f64", rows, columns), shapedAs("f64", columns, rows)
	switch o.r.IntN(3) {
	case 0:
		return fmt.Sprintf("(transpose(%s) .* 2, transpose(%s) .+ 1)", x, x), "(" + one + ", " + one + ")"
	case 1:
		return fmt.Sprintf("transpose(%s) .+ %s", x, o.param("f64", columns, rows)), one
	}
	return "transpose(" + x + ")", one
}
