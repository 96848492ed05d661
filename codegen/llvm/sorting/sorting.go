package sorting

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Sorting by parts]
//
// A kernel.Sort is a call of a function for the type of the elements. It is quicksort: of a part of the row, those
// below a pivot go to the lower end of its place in the data, the others to the spare memory, in the order in which
// they were; those of a vector by two instructions that put the chosen elements together (partition). The part that is
// cut lies in one of the two memories, or is the whole row where it comes from. What stays there may be written while
// it is read, since no more is written than was read; so whole vectors are stored, with anything behind the elements.
// Wherever the part was, the lower ones then are at the beginning of its place in the data, with as much spare memory
// as they take behind the upper ones, and the upper ones are in the spare memory, with their place in the data free:
// two parts that have nothing to do with each other. A part of up to `rows` vectors is sorted in registers (Note
// [Networks]), and written to its place in the data.
//
// Where nothing is below the pivot it is the least element. Then those that equal it are taken out, which are sorted;
// so rows of few different elements take a time that is linear in their length. A pivot is a median of a few elements.
// After twice as many cuts as halves would take it is instead the middle between the least element and the greatest, as
// numbers of their bits, so that no row needs more cuts after each other than a key has bits.
//
// Equal elements have the same bits, but for zeros and NaNs. NaNs are taken out first, in their order: of what is at
// most infinity they are the upper ones. Where there are both zeros, the first pivot is 0: those that equal it are
// taken out in their order, too.

// rows is how many vectors are sorted in registers: half of them, the others hold what is compared.
const rows = 16

// Register registers sorting.
func Register(r emit.Registry) { emit.Register(r, sort) }

// sort calls the function for a sort.
func sort(g *emit.Func, s *kernel.Sort) {
	d := g.Params[s.Data.Param].DType
	t := lt.NewPointer(build.MemoryType(d))
	var args []value.Value
	for _, l := range s.Lines() {
		p := g.Addr(l.Param, g.AddressOf(l.At).Base)
		if !p.Type().Equal(t) {
			p = g.Cur.NewBitCast(p, t)
		}
		args = append(args, p)
	}
	f := sortFunc(g.Module, d)
	if s.Positions {
		f = positionsFunc(g.Module)
	}
	g.Cur.NewCall(f, append(args, g.Dim(s.Size))...)
}

// kind is the type of the elements of a row.
type kind struct {
	d types.DType
	t lt.Type
	w int // elements of a vector
}

// code writes a function.
type code struct {
	*emit.Func
	kind
}

func (k kind) vector() lt.Type { return build.Vector(k.t, k.w) }

// sortFunc is the function for elements of type d, made once.
func sortFunc(m *emit.Module, d types.DType) *lir.Func {
	k := kind{d: d, t: build.MemoryType(d), w: m.Machine.VectorBits / d.Bits()}
	return k.function(m, "sort."+d.String(), func(m *emit.Module) { sortFunc(m, d) }, (*code).row)
}

// function is a function of the data, the source, the spare memory and the number of elements, made once; kernels of
// several modules may share it, and then again makes it in its own.
func (k kind) function(m *emit.Module, name string, again func(m *emit.Module),
	body func(c *code, data, source, spare, n value.Value)) *lir.Func {
	p := lt.NewPointer(k.t)
	data, source, spare := lir.NewParam("data", p), lir.NewParam("source", p), lir.NewParam("spare", p)
	n := lir.NewParam("n", build.I64)
	for _, x := range []*lir.Param{data, source, spare} {
		x.Attrs = append(x.Attrs, enum.ParamAttrNoCapture)
	}
	fn, fresh := m.SharedFunc(name, lt.Void, []*lir.Param{data, source, spare, n}, again)
	if !fresh {
		return fn
	}
	fn.FuncAttrs = append(fn.FuncAttrs, enum.FuncAttrNoInline)
	c := &code{Func: m.NewFunc(fn, nil), kind: k}
	body(c, data, source, spare, n)
	c.Cur.NewRet(nil)
	c.Close()
	return fn
}

// helper is a function that the one for a type calls, made once. body gives its result, or nil.
func (k kind) helper(m *emit.Module, name string, result lt.Type, params []*lir.Param,
	body func(c *code) value.Value) *lir.Func {
	name = "sort." + k.d.String() + "." + name
	fn, fresh := m.OwnFunc(name, result, params...)
	if !fresh {
		return fn
	}
	fn.FuncAttrs = append(fn.FuncAttrs, enum.FuncAttrNoInline)
	c := &code{Func: m.NewFunc(fn, nil), kind: k}
	if x := body(c); x != nil {
		c.Cur.NewRet(x)
	} else {
		c.Cur.NewRet(nil)
	}
	c.Close()
	return fn
}

func (c *code) int(n int64) constant.Constant { return build.Int(build.I64, n) }

func (c *code) at(p, i value.Value) value.Value { return c.Cur.NewGetElementPtr(c.t, p, i) }

// A part of the row: n elements that belong to the data from at on, with as many elements of the spare memory from
// spare on. where says where they lie. cuts is how many pivots may be guessed.
type part struct{ at, n, spare, where, cuts value.Value }

// Where the elements of a part lie: in its place in the data, in the spare memory, or in the source.
const (
	inData = iota
	inSpare
	inSource
)

func (p part) values() []value.Value { return []value.Value{p.at, p.n, p.spare, p.where, p.cuts} }

func partOf(v []value.Value) part { return part{v[0], v[1], v[2], v[3], v[4]} }

// partWords is how many values a part is, and pending how many parts may wait: of two the smaller one is done first.
const (
	partWords = 5
	pending   = 64
)

// row sorts a row.
func (c *code) row(data, source, spare, n value.Value) {
	zero, one := c.int(0), c.int(1)
	log := c.Cur.NewSub(c.int(64), c.Cur.NewCall(c.Intrinsic("llvm.ctlz.i64", build.I64, build.I64, build.I1), n,
		constant.False))
	whole := part{at: zero, n: n, spare: zero, where: c.int(inSource), cuts: c.Cur.NewShl(log, one)}
	waiting := c.Stack(build.I64, partWords*pending)
	top := value.Value(zero)
	push := func(top value.Value, p part) value.Value {
		base := c.Cur.NewMul(top, c.int(partWords))
		for i, x := range p.values() {
			c.Cur.NewStore(x, c.Cur.NewGetElementPtr(build.I64, waiting, c.Cur.NewAdd(base, c.int(int64(i)))))
		}
		return c.Cur.NewAdd(top, one)
	}
	if c.d.IsFloat() {
		whole, top = c.special(data, source, spare, whole, func(p part) value.Value { return push(zero, p) })
	}
	head, body, leaf, cut, exit := c.NewBlock(), c.NewBlock(), c.NewBlock(), c.NewBlock(), c.NewBlock()
	next := c.NewBlock()
	state := make([]*lir.InstPhi, 0, partWords+1)
	for _, x := range append(whole.values(), top) {
		state = append(state, head.NewPhi(lir.NewIncoming(x, c.Cur)))
	}
	again := func(from *lir.Block, p part, top value.Value) {
		for i, x := range append(p.values(), top) {
			state[i].Incs = append(state[i].Incs, lir.NewIncoming(x, from))
		}
		from.NewBr(head)
	}
	c.Cur.NewBr(head)
	p := part{state[0], state[1], state[2], state[3], state[4]}
	depth := value.Value(state[5])
	head.NewBr(body)
	c.Cur = body
	place, other := c.at(data, p.at), c.at(spare, p.spare)
	is := func(where int64) value.Value { return c.Cur.NewICmp(enum.IPredEQ, p.where, c.int(where)) }
	from := c.Cur.NewSelect(is(inData), place, c.Cur.NewSelect(is(inSpare), other, source))
	c.Cur.NewCondBr(c.Cur.NewICmp(enum.IPredSLE, p.n, c.int(int64(rows*c.w))), leaf, cut)

	c.Cur = leaf
	c.small(place, from, p.n)
	c.Cur.NewBr(next)

	c.Cur = cut
	guess := c.Cur.NewICmp(enum.IPredSGT, p.cuts, zero)
	pivot := c.IfElse(guess, func() []value.Value {
		return []value.Value{c.Cur.NewCall(c.median(), from, p.n)}
	}, func() []value.Value {
		return []value.Value{c.Cur.NewCall(c.middle(), from, p.n)}
	})[0]
	lower := c.Cur.NewCall(c.partition(false), place, other, from, p.n, pivot)
	cuts := c.Cur.NewSub(p.cuts, one)
	some, none := c.NewBlock(), c.NewBlock()
	c.Cur.NewCondBr(c.Cur.NewICmp(enum.IPredSGT, lower, zero), some, none)

	c.Cur = none // the pivot is the least
	same := c.Cur.NewCall(c.partition(true), place, other, other, p.n, pivot)
	rest := part{c.Cur.NewAdd(p.at, same), c.Cur.NewSub(p.n, same), p.spare, c.int(inSpare), cuts}
	again(c.Cur, rest, depth)

	c.Cur = some
	upper := c.Cur.NewSub(p.n, lower)
	l := part{p.at, lower, c.Cur.NewAdd(p.spare, upper), c.int(inData), cuts}
	u := part{c.Cur.NewAdd(p.at, lower), upper, p.spare, c.int(inSpare), cuts}
	fewer := c.Cur.NewICmp(enum.IPredSLT, lower, upper)
	var first, second []value.Value
	for i := range l.values() {
		x, y := l.values()[i], u.values()[i]
		first, second = append(first, c.Cur.NewSelect(fewer, x, y)), append(second, c.Cur.NewSelect(fewer, y, x))
	}
	deeper := push(depth, partOf(second))
	again(c.Cur, partOf(first), deeper)

	c.Cur = next
	last := c.Cur.NewSub(depth, one)
	more := c.NewBlock()
	c.Cur.NewCondBr(c.Cur.NewICmp(enum.IPredSGE, last, zero), more, exit)
	c.Cur = more
	base := c.Cur.NewMul(last, c.int(partWords))
	popped := make([]value.Value, partWords)
	for i := range popped {
		popped[i] = c.Cur.NewLoad(build.I64, c.Cur.NewGetElementPtr(build.I64, waiting,
			c.Cur.NewAdd(base, c.int(int64(i)))))
	}
	again(c.Cur, partOf(popped), last)
	c.Cur = exit
}

// special takes NaNs out of a row of floats, and zeros if there are both. It gives what is left to sort, and how many
// parts wait beside it.
func (c *code) special(data, source, spare value.Value, whole part, push func(p part) value.Value) (part, value.Value) {
	found := c.Cur.NewCall(c.look(), source, whole.n)
	is := func(bits int64) value.Value {
		return c.Cur.NewICmp(enum.IPredEQ, c.Cur.NewAnd(found, c.int(bits)), c.int(bits))
	}
	zero := c.int(0)
	numbers := c.If(is(isNaN), []value.Value{whole.n, whole.where, source}, func() []value.Value {
		inf := build.FromBits(c.t, scalar.FloatBits(c.d, math.Inf(1)))
		n := c.Cur.NewCall(c.partition(true), data, spare, source, whole.n, inf)
		c.For(n, whole.n, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
			x := c.Cur.NewLoad(c.t, c.at(spare, c.Cur.NewSub(i, n)))
			c.Cur.NewStore(x, c.at(data, i))
			return nil
		})
		return []value.Value{n, c.int(inData), data}
	})
	whole.n, whole.where = numbers[0], numbers[1]
	out := c.If(is(isZero|isMinusZero), append(whole.values(), zero), func() []value.Value {
		null := build.FromBits(c.t, 0)
		negative := c.Cur.NewCall(c.partition(false), data, spare, numbers[2], whole.n, null)
		others := c.Cur.NewSub(whole.n, negative)
		zeros := c.Cur.NewCall(c.partition(true), c.at(data, negative), spare, spare, others, null)
		positive := c.Cur.NewSub(others, zeros)
		top := push(part{zero, negative, positive, c.int(inData), whole.cuts})
		rest := part{c.Cur.NewAdd(negative, zeros), positive, zero, c.int(inSpare), whole.cuts}
		return append(rest.values(), top)
	})
	return partOf(out), out[partWords]
}
