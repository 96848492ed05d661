package ntt

import (
	"fmt"
	"math/bits"
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/codegen/target"
	"healc/ir/kernel"
)

// Note [Transforms]
//
// A kernel.Transform becomes a call of a function for its size, its direction and the kind of its modulus, which is
// looked at when the program runs. The stages are merged: as many vectors as the registers hold are loaded, go through
// several stages and are stored again (pass). The stages within blocks of eight vectors are one pass over memory, with
// the last ones between the elements of vectors, whose elements change places (blocks); vectors of four doubles have
// Note [Single stages]. A part of the row that fits the first-level cache goes through all of its passes before the
// next one is begun (part).
//
// Residues are not reduced at once. Factors are used with their quotients by the modulus (Shoup): with wq =
// floor(w*2^k/p) and q = floor(y*wq/2^k), y*w - q*p is in [0, 2p) for any y below 2^k, and the sums and differences of
// the stages may grow up to 2^k before multiples of p are taken off (Harvey, "Faster arithmetic for number-theoretic
// transforms", 2014). docs/modular-theory.md has the bounds of the kinds. The quotients of the factors that whole
// vectors share are made first, into the spare memory; those of the last stages when they are needed, from the
// reciprocal of the modulus. An nttArith does all that: nttWords with integers, and, where there is no product of
// 52-bit integers, NttDoubles with doubles for moduli below 2^50 and nttHalves with the halves of integers for others.
//
// AMD's processors are bounded by the two units that multiply. Besides products these alone compare 64-bit numbers and
// find their minima and maxima, and an AVX-512 store keeps them from IFMA for more than a cycle
// (docs/tuning/transforms.md).

// NttKind is for which moduli and processors numbers are computed how.
type NttKind struct {
	name   string
	limit  int64 // p is below
	k52    bool  // k is 52 and not 64
	ifma   bool  // the processor has products of 52 bits
	double bool  // numbers are doubles, where it has none but fused multiply-adds
	short  bool  // the fewest instructions count
	halves bool  // numbers are 64 bits, multiplied by halves, on such processors with vectors of up to 256 bits
	One    int   // the unit of low and bound in a number is p/one
	Grow   int   // sums may grow to so many units
	settle int   // below so many are the numbers between passes of the inverse
}

// The kinds, in the order in which they are tried.
var nttKinds = []NttKind{
	{name: "p49", limit: 1 << 49, k52: true, ifma: true, One: 1, Grow: 8, settle: 4},
	{name: "p50", limit: 1 << 50, k52: true, ifma: true, short: true, One: 1, Grow: 4, settle: 4},
	{name: "p50", limit: 1 << 50, k52: true, ifma: true, One: 1, Grow: 4, settle: 2},
	{name: "d50", limit: 1 << 50, double: true, One: NttOne, Grow: 8 * NttOne, settle: 2 * NttOne},
	{name: "p60", limit: kernel.TransformLimit, ifma: true, One: 1, Grow: 16, settle: 8},
	{name: "h60", limit: kernel.TransformLimit, halves: true, One: 1, Grow: 7, settle: 3},
	{name: "p60", limit: kernel.TransformLimit, One: 1, Grow: 16, settle: 8},
}

// suits says that a kind is for the processor and the direction. Where doubles are, what they leave is for halves, or
// for words of 512 bits.
func (k NttKind) suits(m target.Machine, inverse bool) bool {
	switch doubles := !m.IFMA && !m.NoFMA; {
	case k.double:
		return doubles
	case k.halves:
		return doubles && m.VectorBits < 512
	case k.name == "p50" && m.IFMA:
		return k.short == (m.Profile.NTT.Alike != 0 || inverse && m.Profile.NTT.ShortBack != 0)
	case !k.ifma:
		return !m.IFMA && (!doubles || m.VectorBits >= 512)
	}
	return m.IFMA
}

// nttArith computes with the numbers of a kind.
type nttArith interface {
	// constants computes the values that depend on the modulus and, for the inverse, on the factor of its result.
	constants(p, scale value.Value)
	// seen notes integers that have to be residues, and fit reports that all were.
	seen(x value.Value) value.Value
	fit(p value.Value) value.Value
	// enter makes numbers of residues, canonical residues of numbers.
	enter(x value.Value) number
	canonical(x number) number
	// multiplied is x*w, for a number of the row.
	multiplied(x number, w Factor) number
	// lessen takes multiples of p off until x is below bound.
	lessen(x number, bound int) number
	// forward does pairs of the forward transform: x + y*w and x - y*w.
	forward(pairs []nttPair)
	// backward does pairs of the inverse: x + y and (x - y)*w. The last ones are scaled and canonical.
	backward(pairs []nttPair, last bool)
	// withQuotient makes a factor of residues w; exact asks for the least error.
	withQuotient(w value.Value, exact bool) Factor
	// keep puts the factors that whole vectors share, from number i on, into the spare memory, and shared is number i
	// for a vector.
	keep(i value.Value, f Factor)
	shared(i value.Value) Factor
	// chosen takes the factors in the given places.
	chosen(f Factor, places func(i int) int) Factor
}

// number is a vector of numbers from low*p on and below bound*p, in units of p/one.
type number struct {
	v          value.Value
	low, bound int
}

// nttPair is two numbers that a stage makes two others of, in their place.
type nttPair struct {
	x, y *number
	f    Factor
}

// Factor is a vector of residues with their quotients. Those of 64 bits are, with products of 52 bits, q and 52 more
// bits, low, of which at least 12 are good, all of them in an exact factor; without such products low is the upper half
// of q. Doubles have q = w/p.
type Factor struct {
	w, q, low value.Value
	Exact     bool
	Most      int // of doubles: |w| is at most so many units
	upper     nttUpper
}

// RegisterTransforms registers number theoretic transforms.
func RegisterTransforms(r emit.Registry) { emit.Register(r, transform) }

// RegisterStages registers what code without vectors has instead: it says that nothing was transformed, and the kernel
// takes the stages one by one then.
func RegisterStages(r emit.Registry) {
	emit.Register(r, func(g *emit.Func, s *kernel.Transform) { g.Set(s.ID, constant.False, false) })
}

// transform calls the function for a transform.
func transform(g *emit.Func, s *kernel.Transform) {
	var args []value.Value
	for _, l := range []*kernel.Line{&s.Data, &s.Source, &s.Table, &s.Spare, s.Times} {
		if l != nil {
			args = append(args, g.Addr(l.Param, g.AddressOf(l.At).Base))
		}
	}
	p := g.Uniform(s.P)
	scale := value.Value(build.Int(build.I64, 0))
	if s.Inverse {
		scale = g.Uniform(s.Scale)
	}
	args = append(args, p, scale, quotientsOf(g, s))
	next := rowsFollow(g, s)
	done := g.NewBlock()
	var results []*lir.Incoming
	for _, k := range nttKinds {
		if !k.suits(g.Machine, s.Inverse) {
			continue
		}
		f := nttFunc(g.Module, k, s.Size, s.Inverse, s.Times != nil, next)
		yes, no := g.NewBlock(), g.NewBlock()
		g.Cur.NewCondBr(g.Cur.NewICmp(enum.IPredULT, p, build.Int(build.I64, k.limit)), yes, no)
		results = append(results, lir.NewIncoming(yes.NewCall(f, args...), yes))
		yes.NewBr(done)
		g.Cur = no
	}
	results = append(results, lir.NewIncoming(constant.False, g.Cur))
	g.Cur.NewBr(done)
	g.Cur = done
	g.Set(s.ID, done.NewPhi(results...), false)
}

// nttFunc is the function for a kind of modulus, made once.
func nttFunc(m *emit.Module, k NttKind, size int64, inverse, product, next bool) *lir.Func {
	name := fmt.Sprintf("ntt.%d.%s", size, k.name)
	if inverse {
		name = fmt.Sprintf("intt.%d.%s", size, k.name)
	}
	lines := []string{"data", "source", "table", "spare"}
	if product {
		name += ".product"
		lines = append(lines, "times")
	}
	if next {
		name += ".next"
	}
	var ps []*lir.Param
	for _, n := range lines {
		p := lir.NewParam(n, build.I64Ptr)
		p.Attrs = append(p.Attrs, enum.ParamAttrNoCapture)
		ps = append(ps, p)
	}
	ps[2].Attrs = append(ps[2].Attrs, enum.ParamAttrNoAlias, enum.ParamAttrReadOnly)
	ps[3].Attrs = append(ps[3].Attrs, enum.ParamAttrNoAlias)
	p, scale := lir.NewParam("p", build.I64), lir.NewParam("scale", build.I64)
	kept := lir.NewParam("kept", build.I64Ptr)
	kept.Attrs = append(kept.Attrs, enum.ParamAttrNoCapture, enum.ParamAttrNoAlias)
	ps = append(ps, p, scale, kept)
	again := func(m *emit.Module) { nttFunc(m, k, size, inverse, product, next) }
	fn, fresh := m.SharedFunc(name, build.I1, ps, again)
	if !fresh {
		return fn
	}
	// Vectors that registers do not hold lie on the stack, where LLVM would not align them by itself.
	fn.FuncAttrs = append(fn.FuncAttrs, enum.FuncAttrNoInline, lir.AlignStack(m.Machine.VectorBits/8),
		lir.AttrString("stackrealign"))
	g := m.NewFunc(fn, nil)
	n := &Ntt{Func: g, NttKind: k, size: size, inverse: inverse, w: max(m.Machine.VectorBits/64, 2),
		data: ps[0], source: ps[1], table: ps[2], spare: ps[3], kept: kept, next: next, regs: 8, rows: 8}
	if product {
		n.factors = ps[4]
	}
	if m.Machine.Registers >= 32 {
		n.regs = 16
	}
	if k.double {
		// Of 128 bits two registers are a vector: that halves the shuffles, and the spare memory has room for both
		// words of a factor.
		n.w = max(n.w, 4)
		n.single = n.w == 4
		if !n.single {
			n.regs = 16
		}
		n.nttArith = &NttDoubles{Ntt: n}
	} else if k.halves {
		n.w = max(n.w, 4) // as above
		n.single = true
		n.nttArith = &nttHalves{Ntt: n}
	} else if k.short {
		n.nttArith = &nttShort{nttWords: &nttWords{Ntt: n}}
	} else {
		n.nttArith = &nttWords{Ntt: n}
	}
	n.constants(p, scale)
	n.missingQuotients(p)
	n.run()
	fit := n.fit(p)
	n.noteQuotients(p, fit)
	g.Cur.NewRet(fit)
	g.Close()
	return fn
}

// Ntt generates one function. Vectors have w elements of 64 bits.
type Ntt struct {
	*emit.Func
	NttKind
	nttArith
	size       int64
	inverse    bool
	w          int
	regs, rows int  // how many vectors a pass keeps in registers, and how many a block has
	single     bool // passes of a single stage, see Note [Single stages]
	passes     []nttPass
	low, bound int // of the numbers in memory, while passes are written
	// the bound of those in the second half of each group; bound is that of the first half then
	second                     int
	data, source, table, spare value.Value
	factors                    value.Value // of the source, or nil
	kept                       value.Value // Note [Quotients of several rows]
	next                       bool        // Note [The row that follows]
}

func (n *Ntt) vector() lt.Type { return build.Vector(build.I64, n.w) }

func (n *Ntt) splat(x value.Value) value.Value {
	if c, ok := x.(constant.Constant); ok {
		return build.SplatConst(c, n.w)
	}
	t := build.Vector(x.Type(), n.w)
	one := n.Cur.NewInsertElement(constant.NewUndef(t), x, build.Int(build.I32, 0))
	return n.Cur.NewShuffleVector(one, constant.NewUndef(t), constant.NewZeroInitializer(build.Vector(build.I32, n.w)))
}

func (n *Ntt) num(x int64) value.Value { return build.SplatConst(build.Int(build.I64, x), n.w) }

// Note [Prefetched streams]
//
// The first pass fetches each of its streams ahead when the row is long: there are more of them than the processor's
// own prefetchers follow, and no line of the row is in the caches yet. Those of the first level are no place for them:
// the streams are a power of two apart, so that their lines displace each other (docs/tuning/transforms.md).

// Note [Single stages]
//
// The schedulers of a processor with AVX2 bound a product of doubles, by the instructions that wait in them, and not
// loads and stores: passes of two or three stages take more cycles for a pair than single ones
// (docs/tuning/transforms.md). So vectors of four doubles go through one stage at a time where the first-level cache
// holds them, and through two while they come from further away. The stages within vectors are two such passes, over
// squares. Making residues of the results of the forward transform is a pass of its own, for the same reason.
//
// Halves of 64 bits need more constants for a stage than there are registers beside them, as soon as LLVM mixes the
// instructions of pairs. So their pairs follow each other, with a barrier in between.

// nttPass is one or more stages, done between one load and one store of each element.
type nttPass struct {
	groups int64                                // so many parts of the row can be done one after the other
	do     func(lo, hi value.Value, many int64) // does parts [lo, hi), of which there are so many
}

// run writes all passes.
func (n *Ntt) run() {
	most := bits.Len(uint(n.regs)) - 1
	if n.double && n.w*8 < 64 {
		// Neighbouring vectors, so that a pass goes through whole lines of the cache: more streams than there are
		// places for lines a power of two apart would take each line twice (docs/tuning/transforms.md).
		most--
	}
	// The stages before the blocks are done in as few passes as the registers allow. In the forward transform the
	// larger ones are done on the smaller parts: the vectors that a pass loads together are a power of two apart, and
	// have few places in the caches. The inverse comes to the longest passes last, with data that is in the
	// second-level cache, and is faster the other way.
	outer := bits.Len64(uint64(n.size/n.block())) - 1
	merged := outer
	if n.single {
		outer = bits.Len64(uint64(n.size/int64(n.w))) - 1
		near := n.near()
		if n.halves { // which take longer than the second-level cache
			near = int64(n.Machine.L2 / 2 / 8)
		}
		merged = min(outer, bits.Len64(uint64((n.size-1)/near)))
	}
	var stages []int
	for left := merged; left > 0; {
		passes := (left + most - 1) / most
		k, more := left/passes, (left+passes-1)/passes
		if n.inverse || left == merged && n.longFirst(k, more) {
			k = more
		}
		stages = append(stages, k)
		left -= k
	}
	for range outer - merged { // single stages
		stages = append(stages, 1)
	}
	first := 0
	for i, k := range stages {
		p, settle := nttStages{first, k}, 0
		if i > 0 {
			settle = n.settleFor(stages[i-1])
		}
		n.passes = append(n.passes, nttPass{1 << first, func(lo, hi value.Value, many int64) {
			n.pass(p, settle, lo, hi, many)
		}})
		first += k
	}
	if n.single {
		for _, t := range []int{2, 1} {
			settle := n.settleFor(1) // that of distance 2
			if t == 2 {
				settle = n.settleFor(stages[len(stages)-1])
			}
			n.passes = append(n.passes, nttPass{n.size / 16, func(lo, hi value.Value, many int64) {
				n.squares(t, settle, lo, hi, many)
			}})
		}
		if !n.inverse {
			n.passes = append(n.passes, nttPass{n.size / 16, n.last})
		}
	} else {
		n.passes = append(n.passes, nttPass{n.size / n.block(), n.blocks})
	}
	n.bound, n.second = n.One, n.One
	n.part(0, build.Int(build.I64, 0), 1)
}

// nttStages are so many stages from first on.
type nttStages struct{ first, stages int }

// settleFor is the bound of the numbers that a pass of so many stages loads in the inverse.
func (n *Ntt) settleFor(stages int) int {
	if n.double && n.single { // as much as it can add without taking anything off
		return n.Grow >> stages
	}
	return n.settle
}

// longFirst reports that the first pass of the forward transform does more stages, and not the smaller number: then its
// parts fit the first-level cache, where the next pass would go through the second-level one. Longer arithmetic hides
// that.
func (n *Ntt) longFirst(stages, more int) bool {
	fits := func(k int) bool { return n.size>>k*8 <= int64(n.Machine.L1) }
	return n.Machine.Profile.NTT.LongFirst != 0 && n.short && fits(more) && !fits(stages)
}

// near is how many elements the first-level cache holds beside other things.
func (n *Ntt) near() int64 { return int64(n.Machine.L1 / 2 / 8) }

// block is the number of elements in a block.
func (n *Ntt) block() int64 { return int64(n.rows * n.w) }

// part does the passes from i on for part number at of so many equal ones, into which the earlier passes have cut the
// row. What fits the first-level cache goes through all of its passes before something else is begun.
func (n *Ntt) part(i int, at value.Value, parts int64) {
	if i == len(n.passes) {
		return
	}
	p := n.passes[i]
	here := func() {
		each := build.Int(build.I64, p.groups/parts)
		lo := n.Mul(at, each)
		p.do(lo, n.Add(lo, each), p.groups/parts)
	}
	switch {
	case i < len(n.passes)-1 && n.size/parts > n.near() && p.groups > parts:
		each := p.groups / parts
		lo := n.Mul(at, build.Int(build.I64, each))
		n.For(lo, n.Add(lo, build.Int(build.I64, each)), 1, nil, func(k value.Value, _ []value.Value) []value.Value {
			n.part(i, k, p.groups)
			return nil
		})
	case n.inverse:
		n.part(i+1, at, parts)
		here()
	default:
		here()
		n.part(i+1, at, parts)
	}
}

// read is the vector at a place of the data, or of the source in the first pass.
func (n *Ntt) read(at value.Value, first bool) number {
	return n.made(func(base value.Value) value.Value { return n.load(base, at) }, first)
}

// made is the number that load loads.
func (n *Ntt) made(load func(base value.Value) value.Value, first bool) number {
	if first {
		x := n.enter(n.seen(load(n.source)))
		if n.factors != nil {
			x = n.multiplied(x, n.withQuotient(n.tabled(load(n.factors)), false))
		}
		return x
	}
	x := load(n.data)
	if n.double {
		x = n.Cur.NewBitCast(x, build.Vector(lt.Double, n.w))
	}
	return number{x, n.low, n.bound}
}

// tabled is what is loaded for a factor, which has to be a residue: its quotient shows that in some kinds.
func (n *Ntt) tabled(w value.Value) value.Value {
	if n.halves || n.short {
		return w
	}
	return n.seen(w)
}

// note replaces the notes before by the result of f for these and x; joint makes one number of them.
func (n *Ntt) note(where, x value.Value, f func(all, x value.Value) value.Value) {
	n.Cur.NewStore(f(n.Cur.NewLoad(x.Type(), where), x), where)
}

// notes is a place for notes, which begin with first.
func (n *Ntt) notes(first value.Value) value.Value {
	where := n.Stack(first.Type(), 1)
	n.Cur.NewStore(first, where)
	return where
}

// joint makes one number of a vector.
func (n *Ntt) joint(how string, x value.Value, t lt.Type) value.Value {
	return n.Cur.NewCall(n.Intrinsic("llvm.vector.reduce."+how+"."+build.TypeSuffix(x.Type()), t, x.Type()), x)
}

func (n *Ntt) address(base, at value.Value) value.Value {
	return n.Cur.NewBitCast(n.Cur.NewGetElementPtr(build.I64, base, at), lt.NewPointer(n.vector()))
}

func (n *Ntt) load(base, at value.Value) value.Value {
	l := n.Cur.NewLoad(n.vector(), n.address(base, at))
	l.Align = 8
	return l
}

func (n *Ntt) store(base, at, x value.Value) {
	if !x.Type().Equal(n.vector()) {
		x = n.Cur.NewBitCast(x, n.vector())
	}
	n.Cur.NewStore(x, n.address(base, at)).Align = 8
}

// all is element i of memory, in all places of a vector.
func (n *Ntt) all(base, i value.Value) value.Value {
	return n.splat(n.Cur.NewLoad(build.I64, n.Cur.NewGetElementPtr(build.I64, base, i)))
}

// places takes the elements of a vector that are in the given places.
func (n *Ntt) places(x value.Value, which func(i int) int) value.Value {
	return n.Permute(x, n.w, which)
}

// tree are the factors of so many stages, when first is the number of the one for the first stage.
func (n *Ntt) tree(first value.Value, stages int) [][]Factor {
	var factors [][]Factor
	for l := range stages {
		var f []Factor
		for m := range 1 << l {
			f = append(f, n.shared(n.Add(n.Mul(first, build.Int(build.I64, 1<<l)), build.Int(build.I64, int64(m)))))
		}
		factors = append(factors, f)
	}
	return factors
}

// pass does stages for the groups [lo, hi) of the first one, of which there are so many, with several neighbouring
// vectors, or groups, where there are registers for them: the products of one pair have to wait for each other.
//
// A stage of the inverse leaves large sums in the first half of each group, and small products in the second. For the
// single stage that follows these are the halves of both numbers of a pair, so that it does the first half of a group
// and the second apart, each with its own reduction.
// It is long because the bounds of the numbers run through all of it, from the loads to the stores.
func (n *Ntt) pass(p nttStages, settle int, lo, hi value.Value, many int64) {
	group := n.size >> p.first
	step := group >> p.stages
	room := max(1, int64(n.regs>>p.stages))
	columns := min(room, step/int64(n.w))
	side := min(room/columns, many)
	bounds, parts := [2]int{n.bound, n.second}, int64(1)
	switch apart := n.double && n.inverse && n.single && p.stages == 1; {
	case apart && step >= 2*columns*int64(n.w):
		parts = 2
	case apart && columns > 1: // each half is half of the columns
	default:
		bounds[0] = max(n.bound, n.second)
		bounds[1] = bounds[0]
	}
	var left [2]int
	low := n.Grow
	n.For(lo, hi, side, nil, func(i value.Value, _ []value.Value) []value.Value {
		var factors [][][]Factor
		for g := range side {
			tree := n.tree(n.Add(i, build.Int(build.I64, 1<<p.first+g)), p.stages)
			factors = append(factors, slices.Repeat([][][]Factor{tree}, int(columns))...)
		}
		base := n.Mul(i, build.Int(build.I64, group))
		for part := range parts {
			body := func(j value.Value, _ []value.Value) []value.Value {
				at := func(c, m int) value.Value {
					g, k := int64(c)/columns, int64(c)%columns
					return n.Add(n.Add(base, j), build.Int(build.I64, g*group+int64(m)*step+k*int64(n.w)))
				}
				does := func(from, to int) {
					x := make([][]number, to-from)
					for i := range x {
						c := from + i
						n.bound = bounds[part]
						if parts == 1 && int64(c)%columns >= (columns+1)/2 {
							n.bound = bounds[1]
						}
						for m := range 1 << p.stages {
							x[i] = append(x[i], n.read(at(c, m), p.first == 0 && !n.inverse))
							if p.first == 0 && !n.inverse && n.size*8 > int64(n.Machine.L2/4) {
								loops.PrefetchLine(n.Func, loops.ToL2, n.Cur.NewGetElementPtr(build.I64, n.source,
									n.Add(at(c, m), build.Int(build.I64, int64(n.Machine.Profile.NTT.Ahead/8)))))
							}
						}
					}
					n.stages(x, factors[from:to], p.first == 0)
					n.settled(x, settle)
					low = min(low, n.low)
					for i := range x {
						for m := range x[i] {
							h := m >> (p.stages - 1)
							left[h] = max(left[h], x[i][m].bound)
							n.store(n.data, at(from+i, m), x[i][m].v)
						}
					}
				}
				all := int(side * columns)
				each := all
				if n.halves {
					each = 1
				}
				for c := 0; c < all; c += each {
					if c > 0 {
						n.barrier()
					}
					does(c, c+each)
				}
				return nil
			}
			from, to := step/parts*part, step/parts*(part+1)
			if n.halves && (to-from)/(columns*int64(n.w)) <= 4 { // a loop of a few rounds is no loop
				for j := from; j < to; j += columns * int64(n.w) {
					if j > from {
						n.barrier()
					}
					body(build.Int(build.I64, j), nil)
				}
				continue
			}
			n.For(build.Int(build.I64, from), build.Int(build.I64, to), columns*int64(n.w), nil, body)
		}
		return nil
	})
	if !n.inverse || !n.single {
		left[0] = max(left[0], left[1])
		left[1] = left[0]
	}
	n.low, n.bound, n.second = low, left[0], left[1]
}

// settled notes between which multiples of p the numbers are that a pass stores. In the inverse they differ, and most
// of them are reduced to the bound that makes the least work for the next pass, unless there is none: then settle is
// 0.
func (n *Ntt) settled(x [][]number, settle int) {
	n.low, n.bound = n.Grow, 0
	for c := range x {
		for m := range x[c] {
			if n.inverse && settle > 0 {
				x[c][m] = n.lessen(x[c][m], settle)
			}
			n.low, n.bound = min(n.low, x[c][m].low), max(n.bound, x[c][m].bound)
		}
	}
	n.second = n.bound
}

// stages does the stages of a pass on vectors, x[c] being those of column c; factors[c][l] are those of its stage l.
// first says that stage 0 is the first of all, which the inverse does last.
func (n *Ntt) stages(x [][]number, factors [][][]Factor, first bool) {
	for i := range factors[0] {
		l := i
		if n.inverse {
			l = len(factors[0]) - 1 - i
		}
		half := len(x[0]) >> (l + 1)
		var pairs []nttPair
		for m := range factors[0][l] {
			for j := range half {
				for c, x := range x {
					pairs = append(pairs, nttPair{&x[2*half*m+j], &x[2*half*m+j+half], factors[c][l][m]})
				}
			}
		}
		n.pairs(pairs, first && l == 0)
	}
}

// barrier keeps LLVM from mixing loads and stores before with those after, and the computations between them. It is no
// instruction.
func (n *Ntt) barrier() {
	fence := lir.NewFence(enum.AtomicOrderingSequentiallyConsistent)
	fence.SyncScope = "singlethread"
	n.Cur.Insts = append(n.Cur.Insts, fence)
}

// pairs does pairs, two at a time: more take more registers, and are no faster.
func (n *Ntt) pairs(pairs []nttPair, last bool) {
	for two := range slices.Chunk(pairs, 2) {
		if n.inverse {
			n.backward(two, last)
		} else {
			n.forward(two)
		}
	}
}
