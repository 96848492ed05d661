package llvm

import (
	"fmt"
	"math/bits"
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Transforms]
//
// A kernel.Transform becomes a call of a function for its size, its direction and the kind of its modulus, which is
// looked at when the program runs. The stages are merged: as many vectors as the registers hold are loaded, go through several
// stages and are stored again (pass). The stages within blocks of eight vectors are one pass over memory, with the last ones
// between the elements of vectors, whose elements change places (blocks). A part of the row that fits the first-level
// cache goes through all of its passes before the next one is begun (part).
//
// Residues are not reduced at once. Factors are used with their quotients by the modulus (Shoup): with
// wq = floor(w*2^k/p) and q = floor(y*wq/2^k), y*w - q*p is in [0, 2p) for any y below 2^k, and the sums and differences
// of the stages may grow up to 2^k before multiples of p are taken off (Harvey, "Faster arithmetic for number-theoretic
// transforms", 2014). docs/modular.md has the bounds of the kinds. The quotients of the factors that whole
// vectors share are made first, into the spare memory; those of the last stages when they are needed, from
// the reciprocal of the modulus.
//
// What counts on AMD's processors is the two units that multiply: besides products they alone compare 64-bit numbers and find
// their minima and maxima, and an AVX-512 store keeps them from IFMA for more than a cycle.

// nttKind is how numbers modulo p are computed.
type nttKind struct {
	name   string
	limit  int64 // p is below
	k52    bool  // k is 52 and not 64
	ifma   bool  // the processor has products of 52 bits
	grow   int   // sums may grow to grow*p
	settle int   // below so many p are the numbers between passes of the inverse
}

// The kinds, in the order in which they are tried.
var nttKinds = []nttKind{
	{name: "p49", limit: 1 << 49, k52: true, ifma: true, grow: 8, settle: 4},
	{name: "p50", limit: 1 << 50, k52: true, ifma: true, grow: 4, settle: 2},
	{name: "p60", limit: kernel.TransformLimit, ifma: true, grow: 16, settle: 8},
	{name: "p60", limit: kernel.TransformLimit, grow: 16, settle: 8},
}

// transform calls the function for a transform.
func (g *gen) transform(s *kernel.Transform) {
	if g.machine.Narrow { // the kernel takes the stages one by one then
		g.set(s.ID, constant.False, false)
		return
	}
	var args []value.Value
	for _, l := range s.Lines() {
		args = append(args, g.addr(l.Param, g.place(l.At).base))
	}
	p := g.uniform(s.P)
	scale := value.Value(ci(i64, 0))
	if s.Inverse {
		scale = g.uniform(s.Scale)
	}
	args = append(args, p, scale)
	done := g.newBlock()
	var results []*lir.Incoming
	for _, k := range nttKinds {
		if k.ifma && !g.machine.IFMA || !k.ifma && g.machine.IFMA {
			continue
		}
		f := g.nttFunc(k, s.Size, s.Inverse)
		yes, no := g.newBlock(), g.newBlock()
		g.cur.NewCondBr(g.cur.NewICmp(enum.IPredULT, p, ci(i64, k.limit)), yes, no)
		results = append(results, lir.NewIncoming(yes.NewCall(f, args...), yes))
		yes.NewBr(done)
		g.cur = no
	}
	results = append(results, lir.NewIncoming(constant.False, g.cur))
	g.cur.NewBr(done)
	g.cur = done
	g.set(s.ID, done.NewPhi(results...), false)
}

// nttFunc is the function for a kind of modulus, made once.
func (m *module) nttFunc(k nttKind, size int64, inverse bool) *lir.Func {
	name := fmt.Sprintf("ntt.%d.%s", size, k.name)
	if inverse {
		name = fmt.Sprintf("intt.%d.%s", size, k.name)
	}
	if f := m.funcs[name]; f != nil {
		return f
	}
	var ps []*lir.Param
	for _, n := range []string{"data", "source", "table", "spare"} {
		p := lir.NewParam(n, int64Ptr)
		p.Attrs = append(p.Attrs, enum.ParamAttrNoCapture)
		ps = append(ps, p)
	}
	ps[2].Attrs = append(ps[2].Attrs, enum.ParamAttrNoAlias, enum.ParamAttrReadOnly)
	ps[3].Attrs = append(ps[3].Attrs, enum.ParamAttrNoAlias)
	ps = append(ps, lir.NewParam("p", i64), lir.NewParam("scale", i64))
	fn := m.m.NewFunc(name, i1, ps...)
	fn.Linkage = enum.LinkageInternal
	functionAttrs(fn)
	// Vectors that registers do not hold lie on the stack, where LLVM would not align them by itself.
	fn.FuncAttrs = append(fn.FuncAttrs, enum.FuncAttrNoInline, lir.AlignStack(m.machine.VectorBits/8), lir.AttrString("stackrealign"))
	m.funcs[name] = fn
	g := m.newGen(fn, nil)
	n := &ntt{gen: g, nttKind: k, size: size, inverse: inverse, w: max(m.machine.VectorBits/64, 2),
		data: ps[0], source: ps[1], table: ps[2], spare: ps[3], regs: 8, rows: 8}
	if m.machine.Registers >= 32 {
		n.regs = 16
	}
	n.constants(ps[4], ps[5])
	n.run()
	g.cur.NewRet(n.fit(ps[4]))
	g.close()
	return fn
}

// ntt generates one function. Vectors have w elements of 64 bits.
type ntt struct {
	*gen
	nttKind
	size                       int64
	inverse                    bool
	w                          int
	regs, rows                 int // how many vectors a pass keeps in registers, and how many a block has
	passes                     []nttPass
	low, bound                 int // of the numbers in memory, while passes are written
	data, source, table, spare value.Value
	largest                    value.Value // where the largest number seen in each place of a vector is kept

	multiple   []value.Value  // m*p
	minusP     value.Value    // -p
	table16    [2]value.Value // the multiples that take takes off
	centered   [2]value.Value // those that center does
	index      value.Value    // where the bits that choose one begin
	neg        value.Value    // 2^k - p
	v, shift   value.Value    // the reciprocal of p, and where p has its highest bit
	vTop, vLow value.Value    // the upper 52 bits of the reciprocal, and the others at the place of the highest
	scale      factor
	scaled     factor // the factor of the last stage of the inverse, times scale
}

// factor is a vector of residues with their quotients. Those of 64 bits are, with products of 52 bits, q and 52 more bits, low, of
// which at least 12 are good, all of them in an exact factor; without such products low is the upper half of q.
type factor struct {
	w, q, low value.Value
	exact     bool
}

func (n *ntt) vector() lt.Type { return vec(i64, n.w) }

func (n *ntt) splat(x value.Value) value.Value {
	if c, ok := x.(constant.Constant); ok {
		return splatConst(c, n.w)
	}
	one := n.cur.NewInsertElement(constant.NewUndef(n.vector()), x, ci(i32, 0))
	return n.cur.NewShuffleVector(one, constant.NewUndef(n.vector()), constant.NewZeroInitializer(vec(i32, n.w)))
}

func (n *ntt) num(x int64) value.Value { return splatConst(ci(i64, x), n.w) }

// constants computes what depends on the modulus.
func (n *ntt) constants(p, scale value.Value) {
	b := &genSink{g: n.gen}
	m := scalar.NewModulus(scalar.Emitter{Sink: b}, b.param(types.I64, p))
	v, shift := n.uniform(m.Reciprocal()), n.uniform(m.Shift())
	n.neg = n.splat(n.cur.NewSub(ci(i64, 0), p))
	if n.k52 { // the reciprocal is that of p with bit 51 as the highest
		v, shift = n.cur.NewLShr(v, ci(i64, 12)), n.cur.NewSub(shift, ci(i64, 12))
		n.neg = n.splat(n.cur.NewSub(ci(i64, 1<<52), p))
	}
	n.minusP = n.splat(n.cur.NewSub(ci(i64, 0), p))
	n.v, n.shift = n.splat(v), n.splat(shift)
	n.vTop, n.vLow = n.splat(n.cur.NewLShr(v, ci(i64, 12))), n.splat(n.cur.NewShl(v, ci(i64, 40)))
	n.largest = n.stack(n.vector(), 1)
	n.cur.NewStore(n.num(0), n.largest)
	for m := range n.grow + 1 {
		n.multiple = append(n.multiple, n.splat(n.cur.NewMul(p, ci(i64, int64(m)))))
	}
	if n.ifma {
		n.multiples(p)
	}
	if n.inverse {
		n.scale = n.withQuotient(n.splat(scale), true)
		w := n.cur.NewLoad(i64, n.cur.NewGetElementPtr(i64, n.table, ci(i64, 1)))
		n.scaled = n.withQuotient(n.canonical(n.product(number{n.splat(w), 0, 1}, n.scale)).v, true)
	}
}

// nttAhead is how many bytes ahead the first pass fetches each of its streams, when the row is long: there are more of them
// than the processor's own prefetchers follow, and no line of the row is in the caches yet. Those of the first level are no place for
// them: the streams are a power of two apart, so that their lines displace each other.
const nttAhead = 1024

// nttPass is the stages from first on, done between one load and one store of each element.
type nttPass struct{ first, stages int }

// run writes all passes.
func (n *ntt) run() {
	n.quotients()
	most := bits.Len(uint(n.regs)) - 1
	// The stages before the blocks are done in as few passes as the registers allow. In the forward transform the larger ones are
	// done on the smaller parts: what a pass loads together is a power of two apart, and has few places in the caches. The
	// inverse comes to the longest passes last, with data that is in the second-level cache, and was faster the other way.
	outer := bits.Len64(uint64(n.size/n.block())) - 1
	for first := 0; first < outer; {
		left := outer - first
		passes := (left + most - 1) / most
		p := nttPass{first, left / passes}
		if n.inverse {
			p.stages = (left + passes - 1) / passes
		}
		n.passes = append(n.passes, p)
		first += p.stages
	}
	n.bound = 1
	n.part(0, ci(i64, 0), 1)
}

// block is the number of elements in a block.
func (n *ntt) block() int64 { return int64(n.rows * n.w) }

// part does the passes from i on for part number at of so many equal ones, into which the earlier passes have cut the row.
// What fits the first-level cache goes through all of its passes before something else is begun.
func (n *ntt) part(i int, at value.Value, parts int64) {
	groups := func(i int) int64 {
		if i == len(n.passes) {
			return n.size / n.block()
		}
		return 1 << n.passes[i].first
	}
	here := func(i int) {
		each := ci(i64, groups(i)/parts)
		lo := n.times(at, each)
		if i == len(n.passes) {
			n.blocks(lo, n.plus(lo, each), groups(i)/parts)
		} else {
			n.pass(n.passes[i], lo, n.plus(lo, each))
		}
	}
	small := n.size/parts <= int64(n.machine.L1/2/8)
	switch {
	case i == len(n.passes):
		here(i)
	case !small && groups(i) > parts:
		each := groups(i) / parts
		lo := n.times(at, ci(i64, each))
		n.count(lo, n.plus(lo, ci(i64, each)), 1, nil, func(k value.Value, _ []value.Value) []value.Value {
			n.part(i, k, groups(i))
			return nil
		})
	case n.inverse:
		n.part(i+1, at, parts)
		here(i)
	default:
		here(i)
		n.part(i+1, at, parts)
	}
}

// quotients fills the spare memory for the factors that all elements of a vector share.
func (n *ntt) quotients() {
	count := n.size / int64(n.w)
	n.count(ci(i64, 0), ci(i64, count), int64(n.w), nil, func(i value.Value, _ []value.Value) []value.Value {
		f := n.withQuotient(n.seen(n.load(n.table, i)), true)
		n.store(n.spare, i, f.q)
		if n.wide() {
			n.store(n.spare, n.plus(i, ci(i64, count)), f.low)
		}
		return nil
	})
}

// wide says that quotients are two words.
func (n *ntt) wide() bool { return n.ifma && !n.k52 }

// seen notes the numbers of a vector, which have to be residues.
func (n *ntt) seen(x value.Value) value.Value {
	n.cur.NewStore(n.call("llvm.umax", x.Type(), n.cur.NewLoad(n.vector(), n.largest), x), n.largest)
	return x
}

// fit reports that all numbers that were seen are below p.
func (n *ntt) fit(p value.Value) value.Value {
	f := n.intrinsic("llvm.vector.reduce.umax."+typeSuffix(n.vector()), i64, n.vector())
	return n.cur.NewICmp(enum.IPredULT, n.cur.NewCall(f, n.cur.NewLoad(n.vector(), n.largest)), p)
}

// read is the vector at a place of the data, or of the source in the first pass.
func (n *ntt) read(at value.Value, first bool) value.Value {
	if first {
		return n.seen(n.load(n.source, at))
	}
	return n.load(n.data, at)
}

func (n *ntt) address(base, at value.Value) value.Value {
	return n.cur.NewBitCast(n.cur.NewGetElementPtr(i64, base, at), lt.NewPointer(n.vector()))
}

func (n *ntt) load(base, at value.Value) value.Value {
	l := n.cur.NewLoad(n.vector(), n.address(base, at))
	l.Align = 8
	return l
}

func (n *ntt) store(base, at, x value.Value) {
	n.cur.NewStore(x, n.address(base, at)).Align = 8
}

// shared is factor number i of the table for all elements of a vector.
func (n *ntt) shared(i value.Value) factor {
	one := func(base, i value.Value) value.Value {
		return n.splat(n.cur.NewLoad(i64, n.cur.NewGetElementPtr(i64, base, i)))
	}
	f := factor{w: one(n.table, i), q: one(n.spare, i), exact: true}
	if n.wide() {
		f.low = one(n.spare, n.plus(i, ci(i64, n.size/int64(n.w))))
	}
	return n.parts(f)
}

// tree are the factors of so many stages, when first is the number of the one for the first stage.
func (n *ntt) tree(first value.Value, stages int) [][]factor {
	var factors [][]factor
	for l := range stages {
		var f []factor
		for m := range 1 << l {
			f = append(f, n.shared(n.plus(n.times(first, ci(i64, 1<<l)), ci(i64, int64(m)))))
		}
		factors = append(factors, f)
	}
	return factors
}

// pass does a pass for the groups [lo, hi) of its first stage, with several neighbouring vectors where there are registers
// for them: the products of one pair have to wait for each other.
func (n *ntt) pass(p nttPass, lo, hi value.Value) {
	group := n.size >> p.first
	step := group >> p.stages
	columns := min(int64(n.regs>>p.stages), step/int64(n.w))
	low, bound := n.low, n.bound
	n.count(lo, hi, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
		factors := n.tree(n.cur.NewAdd(i, ci(i64, 1<<p.first)), p.stages)
		base := n.times(i, ci(i64, group))
		n.count(ci(i64, 0), ci(i64, step), columns*int64(n.w), nil, func(j value.Value, _ []value.Value) []value.Value {
			x := make([][]number, columns)
			at := func(c, m int) value.Value {
				return n.plus(n.plus(base, j), ci(i64, int64(m)*step+int64(c*n.w)))
			}
			for c := range x {
				for m := range 1 << p.stages {
					x[c] = append(x[c], number{n.read(at(c, m), p.first == 0 && !n.inverse), low, bound})
					if p.first == 0 && !n.inverse && n.size*8 > int64(n.machine.L2/4) {
						n.fetch(toSecond, n.cur.NewGetElementPtr(i64, n.source, n.plus(at(c, m), ci(i64, nttAhead/8))))
					}
				}
			}
			n.stages(x, slices.Repeat([][][]factor{factors}, len(x)), p.first == 0)
			n.settled(x, p.first > 0)
			for c := range x {
				for m := range x[c] {
					n.store(n.data, at(c, m), x[c][m].v)
				}
			}
			return nil
		})
		return nil
	})
}

// settled notes between which multiples of p numbers are that a pass stores. In the inverse they differ, and most of them are
// reduced to what makes the least work for the next pass, unless there is none.
func (n *ntt) settled(x [][]number, more bool) {
	n.low, n.bound = n.grow, 0
	for c := range x {
		for m := range x[c] {
			if n.inverse && more {
				x[c][m] = n.reduce(x[c][m], n.settle)
			}
			n.low, n.bound = min(n.low, x[c][m].low), max(n.bound, x[c][m].bound)
		}
	}
}

// stages does the stages of a pass on vectors, x[c] being those of column c; factors[c][l] are those of its stage l. first
// says that stage 0 is the first of all, which the inverse does last.
func (n *ntt) stages(x [][]number, factors [][][]factor, first bool) {
	for i := range factors[0] {
		l := i
		if n.inverse {
			l = len(factors[0]) - 1 - i
		}
		half := len(x[0]) >> (l + 1)
		for m := range factors[0][l] {
			for j := range half {
				for c, x := range x {
					a, b := &x[2*half*m+j], &x[2*half*m+j+half]
					if n.inverse {
						*a, *b = n.backward(*a, *b, factors[c][l][m], first && l == 0)
					} else {
						*a, *b = n.forward(*a, *b, factors[c][l][m])
					}
				}
			}
		}
	}
}
