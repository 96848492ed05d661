package sources

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"healc/lang/types"
)

// gen makes one program.
type gen struct {
	r     *rand.Rand
	p     *Program
	used  map[string]int // how often each maker was taken
	fuel  int            // how many more expressions are made
	mult  int64          // how often what is made is evaluated, by the lambdas around it
	next  int            // numbers names
	deep  int            // loops and lambdas around the place
	holds int            // above 0: no check that fails

	// of the function that is made
	vars    []variable
	dims    []string    // its shape parameters
	generic types.DType // its type parameter, Invalid for none
	smooth  int         // above 0: in a function that is differentiated
	start   string      // the first statements of its body
	ranks   int         // how often it says something to ranks

	lits    []string // names of extents that are numbers
	helpers []*helper
	hazards int // how many checks may fail
}

// variable is a name in scope.
type variable struct {
	name string
	typ  types.Type
	mut  bool
}

const (
	maxElems = 6000  // elements of a value
	maxWork  = 40000 // elements that one operation makes, in all calls of the lambdas around it
)

// New returns the program of a seed. used counts the makers that were taken, and may be nil.
func New(seed uint64, used map[string]int) *Program {
	if used == nil {
		used = map[string]int{}
	}
	p := &Program{Seed: seed, Bind: map[string]int64{}}
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x50c4ce)), p: p, used: used, mult: 1, generic: types.Invalid}
	if g.r.IntN(4) == 0 {
		g.hazards = 1
	}
	for i := range 2 + g.r.IntN(3) {
		name := fmt.Sprintf("L%d", i)
		p.Bind[name] = g.extent()
		g.lits = append(g.lits, name)
	}
	p.Bind["L9"] = int64(1 + g.r.IntN(5)) // one that is small
	g.lits = append(g.lits, "L9")
	for range g.r.IntN(3) {
		g.helper()
	}
	g.begin()
	for _, name := range []string{"N", "M"}[:g.r.IntN(3)] {
		p.Dims = append(p.Dims, name)
		p.Bind[name] = g.extent()
	}
	g.dims = p.Dims
	for _, name := range g.dims {
		g.param(types.Tensor{Elem: g.dtype(), Shape: types.Shape{types.Param(name)}})
	}
	for range 1 + g.r.IntN(3) {
		g.param(types.Tensor{Elem: g.dtype(), Shape: g.shape()})
	}
	g.fuel = 10 + g.r.IntN(60)
	p.Body = g.body(g.result(), 2+g.r.IntN(3))
	return p
}

// begin forgets the function before.
func (g *gen) begin() {
	g.vars, g.dims, g.generic, g.ranks = nil, nil, types.Invalid, 0
}

func (g *gen) param(t types.Tensor) {
	q := Param{fmt.Sprintf("p%d", len(g.p.Params)), g.shard(t)}
	g.p.Params = append(g.p.Params, q)
	g.parameter(q.Name, q.Type)
}

// result is the type of a function's value.
func (g *gen) result() types.Type {
	if g.r.IntN(3) > 0 {
		return g.shard(g.tensorType())
	}
	return types.Tuple{Elems: []types.Type{g.tensorType(), g.tensorType()}}
}

func (g *gen) tensorType() types.Tensor { return types.Tensor{Elem: g.dtype(), Shape: g.shape()} }

func (g *gen) chance(of int) bool { return g.r.IntN(of) == 0 }

// dtype is a random element type. Those of 8 and 16 bits, and those that are only stored, are drawn less often than the
// others.
func (g *gen) dtype() types.DType {
	if g.smooth > 0 {
		return g.float()
	}
	if g.generic != types.Invalid && g.chance(2) {
		return g.generic
	}
	for {
		d := []types.DType{types.F32, types.F32, types.F64, types.I32, types.I32, types.I64, types.Bool,
			types.Invalid}[g.r.IntN(8)]
		if d == types.Invalid {
			d = g.anyElem()
		}
		if d != g.generic && d.Converts() {
			return d
		}
	}
}

// float is an element type of floats that the function may name.
func (g *gen) float() types.DType {
	if g.generic.IsFloat() && g.chance(2) {
		return g.generic
	}
	for {
		d := []types.DType{types.F32, types.F32, types.F32, types.F64, types.F64, types.F16, types.BF16}[g.r.IntN(7)]
		if d != g.generic {
			return d
		}
	}
}

func (g *gen) number() types.DType {
	for {
		if d := g.dtype(); d.IsNumber() {
			return d
		}
	}
}

// extent draws sizes around those at which code changes: nothing, one, vectors, lanes, tiles, chunks.
func (g *gen) extent() int64 {
	small := []int64{0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65}
	if g.chance(7) {
		large := []int64{127, 128, 129, 130, 255, 256, 257, 500, 1000, 4095, 4096, 4097}
		return large[g.r.IntN(len(large))]
	}
	return small[g.r.IntN(len(small))]
}

// dim is an extent that the function knows.
func (g *gen) dim() types.Dim {
	if len(g.dims) > 0 && g.chance(2) {
		d := types.Param(g.dims[g.r.IntN(len(g.dims))])
		if g.chance(8) {
			return add(d, 1)
		}
		return d
	}
	return types.Param(g.lits[g.r.IntN(len(g.lits))])
}

// add is d + n.
func add(d types.Dim, n int64) types.Dim {
	s, err := d.Add(types.Lit(n))
	if err != nil {
		panic(err)
	}
	return s
}

// times is d * e.
func times(d, e types.Dim) types.Dim {
	s, err := d.Mul(e)
	if err != nil {
		panic(err)
	}
	return s
}

func (g *gen) shape() types.Shape {
	if len(g.vars) > 0 && g.chance(2) { // that of a variable, so that it is used
		t, ok := g.vars[g.r.IntN(len(g.vars))].typ.(types.Tensor)
		if ok && g.fits(t.Shape) {
			return t.Shape
		}
	}
	for range 20 { // in loops there may be room for a scalar alone
		s := make(types.Shape, []int{0, 1, 1, 1, 2, 2, 2, 3, 3, 4}[g.r.IntN(10)])
		for i := range s {
			s[i] = g.dim()
		}
		if g.fits(s) {
			return s
		}
	}
	return nil
}

// size is the value of an extent.
func (g *gen) size(d types.Dim) int64 {
	n, err := d.Eval(g.p.Bind)
	if err != nil {
		panic(err)
	}
	return n
}

// elems is how many elements a tensor of a shape has; too many counts as maxElems + 1.
func (g *gen) elems(s types.Shape) int64 {
	n := int64(1)
	for _, d := range s {
		x := g.size(d)
		if x < 0 || x > maxElems {
			return maxElems + 1
		}
		if n *= x; n > maxElems {
			return maxElems + 1
		}
	}
	return n
}

// fits reports that a tensor of a shape may be made here.
func (g *gen) fits(s types.Shape) bool {
	n := g.elems(s)
	return n <= maxElems && n*g.mult <= maxWork
}

// name is a name that nothing else has.
func (g *gen) name() string {
	g.next++
	return fmt.Sprintf("v%d", g.next)
}

// with makes something where more names are in scope.
func (g *gen) with(make func() *Node, vars ...variable) *Node {
	n := len(g.vars)
	g.vars = append(g.vars, vars...)
	out := make()
	g.vars = g.vars[:n:n]
	return out
}

// lambda makes the value of a function that is called so many times.
func (g *gen) lambda(calls int64, make func() *Node, vars ...variable) *Node {
	m := g.mult
	g.mult *= max(calls, 1)
	g.deep++
	out := g.with(make, vars...)
	g.deep--
	g.mult = m
	return out
}

// maker makes an expression of a type, or nil where it makes none of this type. d bounds how deep expressions nest.
type maker struct {
	name string
	make func(g *gen, t types.Tensor, d int) *Node
}

// makers are all ways to make a tensor.
var makers []maker

func define(name string, make func(g *gen, t types.Tensor, d int) *Node) {
	makers = append(makers, maker{name, make})
}

// expr is a random expression of a type.
func (g *gen) expr(t types.Type, d int) *Node {
	if u, ok := t.(types.Tuple); ok {
		return g.tuple(u, d)
	}
	x := t.(types.Tensor)
	if g.fuel--; g.fuel > 0 && d > 0 {
		if n := g.newerExpr(x, d-1); n != nil {
			return n
		}
		for range 12 {
			m := makers[g.r.IntN(len(makers))]
			if n := m.make(g, x, d-1); n != nil {
				g.used[m.name]++
				return n
			}
		}
	}
	return g.leaf(x)
}

// tuple is a random expression of a tuple.
func (g *gen) tuple(t types.Tuple, d int) *Node {
	if v, ok := g.find(t); ok && g.chance(2) {
		return ex(t, v.name)
	}
	if d > 0 && g.fuel > 0 {
		for range 3 {
			if n := g.anyValue(t, d-1); n != nil {
				return n
			}
		}
	}
	parts, kids := "(", []any{}
	for i, e := range t.Elems {
		if i > 0 {
			parts += ", "
		}
		parts += "$"
		kids = append(kids, g.expr(e, d-1))
	}
	return ex(t, parts+")", kids...)
}

// find is a variable of a type.
func (g *gen) find(t types.Type) (variable, bool) {
	var list []variable
	for _, v := range g.vars {
		if types.Equal(v.typ, t) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return variable{}, false
	}
	return list[g.r.IntN(len(list))], true
}

// leaf is a variable or something made of none.
func (g *gen) leaf(t types.Tensor) *Node {
	if v, ok := g.find(t); ok && !g.chance(6) {
		return ex(t, v.name)
	}
	if g.chance(2) { // one of another element type
		var list []variable
		for _, v := range g.vars {
			u, ok := v.typ.(types.Tensor)
			if ok && u.Elem != t.Elem && u.Elem.Converts() && u.Shape.Equal(t.Shape) && g.converts(u.Elem, t.Elem) {
				list = append(list, v)
			}
		}
		if len(list) > 0 {
			v := list[g.r.IntN(len(list))]
			return ex(t, "("+v.name+" as $)", elem(t.Elem))
		}
	}
	if g.chance(4) || g.deep > 0 && !g.chance(3) {
		return g.constant(t)
	}
	for range 4 {
		if len(g.vars) == 0 {
			break
		}
		v := g.vars[g.r.IntN(len(g.vars))]
		if u, ok := v.typ.(types.Tensor); ok && (u.Elem == t.Elem || g.converts(u.Elem, t.Elem)) {
			if n := g.adapt(ex(u, v.name), u, t); n != nil {
				return n
			}
		}
	}
	return g.constant(t)
}

// adapt makes a value of t of one of u, which has another element type or another shape; nil where it knows no way.
func (g *gen) adapt(n *Node, u, t types.Tensor) *Node {
	if t.Elem.IsStored() && !u.Shape.Equal(t.Shape) { // by way of what operations compute with
		if n = g.adapt(n, u, of(types.F32, t)); n == nil {
			return nil
		}
		return ex(t, "($ as $)", n, elem(t.Elem))
	}
	if u.Elem != t.Elem {
		u.Elem = t.Elem
		n = ex(u, "($ as $)", n, elem(t.Elem))
	}
	for len(u.Shape) > len(t.Shape) {
		if g.elems(u.Shape)*g.mult > maxWork {
			return nil
		}
		u.Shape = u.Shape[1:]
		op := "+"
		if u.Elem == types.Bool {
			op = "||"
		}
		n = ex(u, "("+op+"/[axis=0]($))", n)
	}
	index, kids, same := "", []any{n}, true
	s := t.Shape[len(t.Shape)-len(u.Shape):]
	for i, have := range u.Shape {
		if i > 0 {
			index += ", "
		}
		switch {
		case have.Equal(s[i]):
			index += ".."
			continue
		case g.size(have) < 1 || !same: // tensors as indices pick together: one of them at most
			return nil
		}
		index += "mod(0..$, $)"
		kids = append(kids, s[i], have)
		same = false
	}
	if !same {
		n = ex(types.Tensor{Elem: t.Elem, Shape: s}, "($)["+index+"]", kids...)
	}
	if len(s) < len(t.Shape) {
		if t.Elem == types.Bool {
			return nil
		}
		text, more := "($ .+ zeros[$", []any{n, elem(t.Elem)}
		for _, x := range t.Shape {
			text += ", $"
			more = append(more, x)
		}
		n = ex(t, text+"]())", more...)
	}
	return n
}

// converts reports that values of one element type may become ones of another here: where there are derivatives, none
// goes by way of integers.
func (g *gen) converts(from, to types.DType) bool {
	if to == types.Bool {
		return false
	}
	return g.smooth == 0 || from.IsFloat() && to.IsFloat()
}

// constant is something made of no variable.
func (g *gen) constant(t types.Tensor) *Node {
	if t.IsScalar() {
		return ex(t, "$", g.literal(t.Elem))
	}
	ext := "" // its extents in brackets
	kids := []any{elem(t.Elem)}
	for _, d := range t.Shape {
		ext += ", $"
		kids = append(kids, d)
	}
	switch g.r.IntN(5) {
	case 0:
		if t.Elem.IsNumber() {
			return ex(t, "zeros[$"+ext+"]()", kids...)
		}
	case 1:
		if t.Elem.IsNumber() {
			return ex(t, "ones[$"+ext+"]()", kids...)
		}
	case 2:
		if len(t.Shape) == 1 && t.Elem.IsNumber() && g.smooth == 0 {
			return ex(t, "((0..$) as $)", t.Shape[0], elem(t.Elem))
		}
		if n, ok := g.small(t.Shape); ok && len(t.Shape) == 1 && n > 0 && n < 9 {
			return g.list(t, n)
		}
	}
	return ex(t, "full[$"+ext+"]($)", append(kids, g.literal(t.Elem))...)
}

// small is the number of elements where that does not depend on shape parameters or on what Shrink changes.
func (g *gen) small(s types.Shape) (int64, bool) {
	n := int64(1)
	for _, d := range s {
		x, ok := d.Const()
		if !ok {
			return 0, false
		}
		n *= x
	}
	return n, true
}

// list is a literal of n elements.
func (g *gen) list(t types.Tensor, n int64) *Node {
	text, kids := "[", []any{}
	for i := range n {
		if i > 0 {
			text += ", "
		}
		text += "$"
		kids = append(kids, g.literal(t.Elem))
	}
	return ex(t, text+"]", kids...)
}

// literal is a random constant.
func (g *gen) literal(e types.DType) literal {
	n := g.r.IntN(10)
	switch {
	case e == types.Bool:
		return literal{e, []string{"true", "false"}[g.r.IntN(2)]}
	case e.IsFloat():
		return literal{e, []string{"0.0", "1.0", "-1.0", "0.5", "2.0", "-0.75", "3.25", "1.5", "-2.0", "0.125"}[n]}
	case e.IsUnsigned():
		return literal{e, []string{"0", "1", "2", "3", "5", "7", "10", "31", "100", "120"}[n]}
	}
	return literal{e, []string{"0", "1", "-1", "2", "3", "-3", "7", "-10", "50", "100"}[n]}
}

// cond is a condition.
func (g *gen) cond(d int) *Node { return g.expr(types.Scalar(types.Bool), min(d, 2)) }

// anyValue is a value of any type that is made by what has values of any type: conditions, blocks, loops, calls.
func (g *gen) anyValue(t types.Type, d int) *Node {
	kinds := []struct {
		name string
		make func(t types.Type, d int) *Node
	}{{"if", g.ifElse}, {"match", g.match}, {"let", g.let}, {"call", g.call}, {"iterate", g.iterate},
		{"until", g.until}, {"project", g.project}}
	k := kinds[g.r.IntN(len(kinds))]
	n := k.make(t, d)
	if n != nil {
		g.used[k.name]++
	}
	return n
}

func init() {
	for range 3 { // they are drawn as often as three others
		define("any value", func(g *gen, t types.Tensor, d int) *Node { return g.anyValue(t, d) })
	}
}

// scalars are the element types of variables in scope that are scalars.
func without(s types.Shape, axis int) types.Shape {
	return slices.Delete(slices.Clone(s), axis, axis+1)
}

// insert is s with one more axis.
func insert(s types.Shape, axis int, d types.Dim) types.Shape {
	return slices.Insert(slices.Clone(s), axis, d)
}

// replace is s with another extent.
func replace(s types.Shape, axis int, d types.Dim) types.Shape {
	s = slices.Clone(s)
	s[axis] = d
	return s
}
