package llvm

import (
	"fmt"

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
// looked at when the program runs. The stages are merged by three: eight vectors are loaded, go through three stages and
// are stored again (nttPass). The stages within blocks of eight vectors are one pass over memory, with the last ones
// between the elements of vectors, whose elements change places (nttBlock). A block that fits the first-level
// cache goes through all of its passes before the next one is begun.
//
// Residues are not reduced at once. Factors are used with their quotients by the modulus (Shoup): with
// wq = floor(w*2^k/p) and q = floor(y*wq/2^k), y*w - q*p is in [0, 2p) for any y below 2^k, and the sums and differences
// of the stages may grow up to 2^k before p, 2p, ... is taken off (Harvey, "Faster arithmetic for number-theoretic
// transforms", 2014). docs/modular.md has the bounds of the kinds. The quotients of the factors that whole
// vectors share are made first, into the spare memory; those of the last stages when they are needed, from
// the reciprocal of the modulus.

// nttKind is how numbers modulo p are computed.
type nttKind struct {
	name  string
	limit int64 // p is below
	ifma  bool  // k is 52 and not 64
	grow  int   // sums may grow to grow*p
	slack int   // a product with a factor is below slack*p
}

// The kinds, in the order in which they are tried.
var nttKinds = []nttKind{
	{name: "p49", limit: 1 << 49, ifma: true, grow: 8, slack: 2},
	{name: "p50", limit: 1 << 50, ifma: true, grow: 4, slack: 2},
	{name: "p60", limit: kernel.TransformLimit, grow: 16, slack: 8},
}

// transform calls the function for a transform.
func (g *gen) transform(s *kernel.Transform) {
	if g.machine.Device { // the kernel takes the stages one by one then
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
		if k.ifma && !g.machine.IFMA {
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
	fn.FuncAttrs = append(fn.FuncAttrs, enum.FuncAttrNoInline)
	m.funcs[name] = fn
	g := m.newGen(fn, nil)
	n := &ntt{gen: g, nttKind: k, size: size, inverse: inverse, w: max(m.machine.VectorBits/64, 2),
		data: ps[0], source: ps[1], table: ps[2], spare: ps[3]}
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
	data, source, table, spare value.Value
	largest                    value.Value // where the largest number seen in each place of a vector is kept

	multiple map[int]value.Value // m -> m*p
	minus    map[int]value.Value // m -> -m*p
	neg      value.Value         // 2^k - p
	v, shift value.Value         // the reciprocal of p, and where p has its highest bit
	scale    factor
	scaled   factor // the factor of the last stage of the inverse, times scale
}

// factor is a vector of residues with their quotients; top is the upper half of those, without IFMA.
type factor struct{ w, q, top value.Value }

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
	if n.ifma { // the reciprocal is that of p with bit 51 as the highest
		v, shift = n.cur.NewLShr(v, ci(i64, 12)), n.cur.NewSub(shift, ci(i64, 12))
		n.neg = n.splat(n.cur.NewSub(ci(i64, 1<<52), p))
	}
	n.v, n.shift = n.splat(v), n.splat(shift)
	n.largest = n.stack(n.vector(), 1)
	n.cur.NewStore(n.num(0), n.largest)
	n.multiple, n.minus = map[int]value.Value{}, map[int]value.Value{}
	for m := 1; m < n.grow; m *= 2 {
		x := n.cur.NewMul(p, ci(i64, int64(m)))
		n.multiple[m], n.minus[m] = n.splat(x), n.splat(n.cur.NewSub(ci(i64, 0), x))
	}
	if n.inverse {
		n.scale = n.withQuotient(n.splat(scale))
		w := n.cur.NewLoad(i64, n.cur.NewGetElementPtr(i64, n.table, ci(i64, 1)))
		n.scaled = n.withQuotient(n.canonical(n.product(n.splat(w), n.scale), n.slack))
	}
}

// run writes all passes.
func (n *ntt) run() {
	log := 0
	for int64(1)<<log < n.size {
		log++
	}
	n.quotients(n.size / int64(n.w))
	inner := 3 // stages of a block of eight vectors
	for w := n.w; w > 1; w /= 2 {
		inner++
	}
	// The stages before the blocks, in passes of up to three.
	var passes [][2]int // first stage and number
	bounds := []int{}   // of the numbers before a pass, in multiples of p
	bound := 1
	for s := 0; s < log-inner; {
		r := min(3, log-inner-s)
		if log-inner-s == 4 {
			r = 2
		}
		passes, bounds = append(passes, [2]int{s, r}), append(bounds, bound)
		for range r {
			bound = n.after(bound)
		}
		s += r
	}
	outer := 0 // passes over everything; those after them stay in parts that the first-level cache holds
	for outer < len(passes) && n.size>>passes[outer][0] > int64(n.machine.L1/2/8) {
		outer++
	}
	all := func(i int) {
		n.pass(passes[i][0], passes[i][1], bounds[i], ci(i64, 0), ci(i64, 1<<passes[i][0]))
	}
	blocks := n.size / int64(8*n.w)
	if n.inverse {
		n.parts(passes, outer, blocks, func(lo, hi func(int) value.Value) {
			n.blocks(1, lo(-1), hi(-1))
			for i := len(passes) - 1; i >= outer; i-- {
				n.pass(passes[i][0], passes[i][1], bounds[i], lo(i), hi(i))
			}
		})
		for i := outer - 1; i >= 0; i-- {
			all(i)
		}
		return
	}
	for i := range outer {
		all(i)
	}
	n.parts(passes, outer, blocks, func(lo, hi func(int) value.Value) {
		for i := outer; i < len(passes); i++ {
			n.pass(passes[i][0], passes[i][1], bounds[i], lo(i), hi(i))
		}
		n.blocks(bound, lo(-1), hi(-1))
	})
}

// parts calls f for the parts in which the passes from outer on are done. lo and hi give the groups of pass i that a
// part has, and its blocks for -1.
func (n *ntt) parts(passes [][2]int, outer int, blocks int64, f func(lo, hi func(int) value.Value)) {
	count := blocks // when no pass is left
	if outer < len(passes) {
		count = int64(1) << passes[outer][0]
	}
	size := func(i int) int64 {
		if i < 0 {
			return blocks / count
		}
		return int64(1) << passes[i][0] / count
	}
	if outer == len(passes) {
		f(func(int) value.Value { return ci(i64, 0) }, func(int) value.Value { return ci(i64, blocks) })
		return
	}
	n.count(ci(i64, 0), ci(i64, count), 1, nil, func(part value.Value, _ []value.Value) []value.Value {
		at := func(i int) value.Value { return n.times(part, ci(i64, size(i))) }
		f(at, func(i int) value.Value { return n.plus(at(i), ci(i64, size(i))) })
		return nil
	})
}

// quotients fills the spare memory for the first count factors.
func (n *ntt) quotients(count int64) {
	n.count(ci(i64, 0), ci(i64, count), int64(n.w), nil, func(i value.Value, _ []value.Value) []value.Value {
		n.store(n.spare, i, n.withQuotient(n.seen(n.load(n.table, i))).q)
		return nil
	})
}

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
	one := func(base value.Value) value.Value {
		return n.splat(n.cur.NewLoad(i64, n.cur.NewGetElementPtr(i64, base, i)))
	}
	return n.upper(factor{w: one(n.table), q: one(n.spare)})
}

// pass does r stages from stage s on for the groups [lo, hi) of stage s.
func (n *ntt) pass(s, r, bound int, lo, hi value.Value) {
	group := n.size >> s
	step := group >> r
	n.count(lo, hi, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
		first := n.cur.NewAdd(i, ci(i64, 1<<s))
		var factors [][]factor
		for l := range r {
			var f []factor
			for m := range 1 << l {
				f = append(f, n.shared(n.plus(n.times(first, ci(i64, 1<<l)), ci(i64, int64(m)))))
			}
			factors = append(factors, f)
		}
		base := n.times(i, ci(i64, group))
		n.count(ci(i64, 0), ci(i64, step), int64(n.w), nil, func(j value.Value, _ []value.Value) []value.Value {
			x := make([]value.Value, 1<<r)
			at := func(m int) value.Value { return n.plus(n.plus(base, j), ci(i64, int64(m)*step)) }
			for m := range x {
				x[m] = n.read(at(m), s == 0 && !n.inverse)
			}
			n.stages(x, factors, bound, s == 0)
			for m := range x {
				n.store(n.data, at(m), x[m])
			}
			return nil
		})
		return nil
	})
}

// stages does the stages of a pass on vectors; factors[l] are those of stage l. first says that stage 0 is the
// first of all, which the inverse does last.
func (n *ntt) stages(x []value.Value, factors [][]factor, bound int, first bool) {
	layer := func(l int) {
		half := len(x) >> (l + 1)
		for m := range factors[l] {
			for j := range half {
				a, b := &x[2*half*m+j], &x[2*half*m+j+half]
				if n.inverse {
					*a, *b = n.backward(*a, *b, factors[l][m], first && l == 0)
				} else {
					*a, *b = n.forward(*a, *b, factors[l][m], bound)
				}
			}
		}
	}
	if n.inverse {
		for l := len(factors) - 1; l >= 0; l-- {
			layer(l)
		}
		return
	}
	for l := range factors {
		layer(l)
		bound = n.after(bound)
	}
}
