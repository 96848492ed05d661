package llvm

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Options choose how code is generated.
type Options struct {
	Effort  Effort  // see EffortsFor
	Triple  string  // written into the module; "" leaves it out
	Prefix  string  // put before the names of the kernels, so that several modules can be linked together
	Machine Machine // for which the code is shaped

	// Efforts are those of kernels by name, for Objects, which makes modules of those that are alike; nil when all have
	// Effort.
	Efforts map[string]Effort

	Took func(stage string, d time.Duration) // is told how long each stage took; nil for nobody
}

// Generate returns the LLVM IR text of a kernel module. The same module gives the same text. It tells the
// plan's launches how the kernels are best cut.
func Generate(km *kernel.Module, opts Options) (string, error) {
	km = Decided(km, ProductsOf(opts.Machine))
	m := &module{km: km, m: lir.NewModule(), prefix: opts.Prefix, intrinsics: map[string]*lir.Func{},
		funcs:    map[string]*lir.Func{},
		registry: registry, access: scheduledAccess{processorAccess{}}, forms: allForms,
		machine: opts.Machine.withDefaults(), quick: opts.Effort != Full}
	m.machine.Narrow = m.machine.Narrow || opts.Effort == Least
	p := &program{module: m, contractions: map[string]*contraction{}}
	p.schedule()
	m.m.SourceFilename = km.Name
	m.m.TargetTriple = opts.Triple
	for _, f := range km.Funcs {
		m.declareFunc(f)
	}
	for _, f := range km.Funcs {
		m.defineFunc(f)
	}
	for _, k := range km.Kernels {
		p.defineKernel(k)
	}
	return m.m.String(), nil
}

// module is the LLVM module under construction.
type module struct {
	km         *kernel.Module
	m          *lir.Module
	prefix     string
	intrinsics map[string]*lir.Func
	funcs      map[string]*lir.Func // scalar functions and helpers by name
	lines      *lines               // nil when no function has lines
	lined      bool                 // functions have lines, where they are known
	hint       *metadata.Tuple      // what `!nontemporal` refers to; nil when nothing does

	registry Registry // how statements are translated
	access   Access   // how vectors are read and written
	forms    Forms    // of loops
	quick    bool     // code is written once, see Options
	machine  Machine
}

// val is a scalar of the kernel in LLVM: one value, or one for each iteration of the vectorised axis.
type val struct {
	v    value.Value
	wide bool // v is a vector of gen.w
	iota bool // v is the uniform base; iteration i has v + i
}

// gen translates one function.
type gen struct {
	*module
	fn     *lir.Func
	entry  *lir.Block // constants and dims; its terminator comes last
	cur    *lir.Block
	types  []types.DType
	env    []val
	lets   map[kernel.Ref]*scalar.Instr // what computes a scalar, of those generated so far
	params []kernel.Param
	bufs   []value.Value // addresses of element 0
	dims   value.Value   // i64*
	errp   value.Value   // i64*
	depth  value.Value   // of scalar calls
	fail   func()        // ends the function after an error was written
	w      int           // width of the vectorised axis, 0 in scalar code

	oneByOne func()
	mask     value.Value // of the lanes that load and store; nil when all do, see Note [Short vectors]

	products map[value.Value]*product52 // that can be added to something else than 0

	features map[reflect.Type]any // what features keep, see state

	lined *functionLines // nil when the function has no lines

	idle value.Value // in a vector's loop that may end early: the iterations for which it has, or nil

	// statement, when it is not nil, may translate a statement in another way; it says whether it did.
	statement func(kernel.Stmt) bool
	// peephole, when it is not nil, may translate an instruction in another way; it says whether it did.
	peephole func(*kernel.Let) bool

	dimCache   map[string]value.Value
	splatCache map[string]value.Value
}

func (m *module) newGen(fn *lir.Func, ts []types.DType) *gen {
	g := &gen{module: m, fn: fn, types: ts, features: map[reflect.Type]any{}, env: make([]val, len(ts)),
		lets:     map[kernel.Ref]*scalar.Instr{},
		products: map[value.Value]*product52{},
		dimCache: map[string]value.Value{}, splatCache: map[string]value.Value{}}
	g.entry = fn.NewBlock("entry")
	g.cur = fn.NewBlock("")
	return g
}

// close ends the entry block.
func (g *gen) close() {
	g.entry.NewBr(g.fn.Blocks[1])
	if g.lined != nil {
		g.stamp()
	}
}

// block starts a new block and makes it the current one, after the current one has branched somewhere.
func (g *gen) newBlock() *lir.Block { return g.fn.NewBlock("") }

var (
	voidPtr  = lt.NewPointer(lt.I8)
	int64Ptr = lt.NewPointer(lt.I64)
)

// functionAttrs are those of all generated functions. 512-bit vectors are ours to choose, so LLVM must
// not split them.
func functionAttrs(f *lir.Func) {
	f.FuncAttrs = append(f.FuncAttrs, enum.FuncAttrNoUnwind,
		lir.AttrPair{Key: "prefer-vector-width", Value: "512"},
		lir.AttrPair{Key: "min-legal-vector-width", Value: "512"},
		lir.AttrPair{Key: "denormal-fp-math", Value: "ieee,ieee"})
}

// program is a module with what was decided about its kernels.
type program struct {
	*module
	contractions map[string]*contraction // kernels that are matrix products
}

// defineKernel makes two functions: the body, whose buffers are parameters so that they can be noalias,
// and the C entry point of runtime/abi, which takes the argument array apart.
func (m *program) defineKernel(k *kernel.Kernel) {
	var ps []*lir.Param
	buffers := k.Params[:k.Buffers()]
	for i, p := range buffers {
		lp := lir.NewParam(fmt.Sprintf("b%d", i), lt.NewPointer(memType(p.DType)))
		lp.Attrs = append(lp.Attrs, enum.ParamAttrNoAlias, enum.ParamAttrNoCapture)
		if !p.Out {
			lp.Attrs = append(lp.Attrs, enum.ParamAttrReadOnly)
		}
		ps = append(ps, lp)
	}
	dims, begin, end := lir.NewParam("dims", int64Ptr), lir.NewParam("begin", i64), lir.NewParam("end", i64)
	errp := lir.NewParam("err", int64Ptr)
	dims.Attrs = append(dims.Attrs, enum.ParamAttrNoAlias, enum.ParamAttrReadOnly)
	errp.Attrs = append(errp.Attrs, enum.ParamAttrNoAlias)
	ps = append(ps, dims, begin, end, errp)
	body := m.m.NewFunc(k.Name+".body", lt.Void, ps...)
	body.Linkage = enum.LinkageInternal
	functionAttrs(body)
	body.FuncAttrs = append(body.FuncAttrs, enum.FuncAttrAlwaysInline)
	form := m.formOf(k)
	ts := k.Types
	if form.types != nil {
		ts = form.types
	}
	g := m.newGen(body, ts)
	g.params = k.Params
	state[prefetching](g).ahead = nextRows(k)
	for i := range buffers {
		g.bufs = append(g.bufs, body.Params[i])
	}
	for _, p := range k.Params[len(buffers):] {
		n, _ := p.Shape[0].Dim.Const()
		g.bufs = append(g.bufs, g.stack(memType(p.DType), int(n)))
	}
	g.dims, g.errp = dims, errp
	g.depth = ci(i64, 0)
	g.fail = func() { g.cur.NewRet(nil) }
	form.write(g, begin, end)
	if state[streaming](g).fence {
		g.drain()
	}
	g.cur.NewRet(nil)
	g.close()

	pp := lt.NewPointer(voidPtr)
	bufs := lir.NewParam("bufs", pp)
	d, b, e, er := lir.NewParam("dims", int64Ptr), lir.NewParam("begin", i64), lir.NewParam("end", i64),
		lir.NewParam("err", int64Ptr)
	fn := m.m.NewFunc(m.prefix+k.Name, lt.Void, bufs, d, b, e, er)
	functionAttrs(fn)
	blk := fn.NewBlock("entry")
	var args []value.Value
	for i, p := range buffers {
		raw := blk.NewLoad(voidPtr, blk.NewGetElementPtr(voidPtr, bufs, ci(i64, int64(i))))
		args = append(args, blk.NewBitCast(raw, lt.NewPointer(memType(p.DType))))
	}
	args = append(args, d, b, e, er)
	blk.NewCall(body, args...)
	blk.NewRet(nil)
}

// intrinsic declares an LLVM intrinsic or C function once.
func (m *module) intrinsic(name string, ret lt.Type, args ...lt.Type) *lir.Func {
	if short, ok := strings.CutPrefix(name, "llvm.x86.avx512."); ok && m.machine.Split {
		name = splitPrefix + short
	}
	if f := m.intrinsics[name]; f != nil {
		return f
	}
	ps := make([]*lir.Param, len(args))
	for i, a := range args {
		ps[i] = lir.NewParam("", a)
	}
	f := m.m.NewFunc(name, ret, ps...)
	m.intrinsics[name] = f
	return f
}

// typeSuffix is the part of an intrinsic's name that names t: f32, v16f32, i64.
func typeSuffix(t lt.Type) string {
	switch t := t.(type) {
	case *lt.VectorType:
		return fmt.Sprintf("v%d%s", t.Len, typeSuffix(t.ElemType))
	case *lt.IntType:
		return fmt.Sprintf("i%d", t.BitSize)
	case *lt.FloatType:
		if t.Kind == lt.FloatKindFloat {
			return "f32"
		}
		return "f64"
	}
	panic(fmt.Sprintf("BUG: intrinsic on %v", t))
}

// call calls the intrinsic `name.<type of the first argument>`.
func (g *gen) call(name string, ret lt.Type, args ...value.Value) value.Value {
	ts := make([]lt.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	full := name + "." + typeSuffix(ret)
	if !ret.Equal(ts[0]) {
		full += "." + typeSuffix(ts[0])
	}
	return g.cur.NewCall(g.intrinsic(full, ret, ts...), args...)
}

// dim returns the value of a dim, computed once in the entry block.
func (g *gen) dim(d types.Dim) value.Value {
	if n, ok := d.Const(); ok {
		return ci(i64, n)
	}
	key := d.String()
	if v, ok := g.dimCache[key]; ok {
		return v
	}
	var sum value.Value
	for _, t := range d.Terms() {
		var prod value.Value = ci(i64, t.Coef)
		for _, name := range t.Vars {
			prod = g.entry.NewMul(prod, g.dimParam(name))
		}
		if sum == nil {
			sum = prod
		} else {
			sum = g.entry.NewAdd(sum, prod)
		}
	}
	g.dimCache[key] = sum
	return sum
}

func (g *gen) dimParam(name string) value.Value {
	if v, ok := g.dimCache["$"+name]; ok {
		return v
	}
	for i, d := range g.km.Dims {
		if d == name {
			v := g.entry.NewLoad(i64, g.entry.NewGetElementPtr(i64, g.dims, ci(i64, int64(i))))
			g.dimCache["$"+name] = v
			return v
		}
	}
	panic("BUG: shape parameter " + name + " has no value in " + strings.Join(g.km.Dims, ", "))
}

// extent returns ceil(Dim / Div).
func (g *gen) extent(e abi.Extent) value.Value {
	n := g.dim(e.Dim)
	if e.Div <= 1 {
		return n
	}
	if c, ok := e.Dim.Const(); ok {
		return ci(i64, (c+e.Div-1)/e.Div)
	}
	key := fmt.Sprintf("%s/%d", e.Dim, e.Div)
	if v, ok := g.dimCache[key]; ok {
		return v
	}
	v := g.entry.NewSDiv(g.entry.NewAdd(n, ci(i64, e.Div-1)), ci(i64, e.Div))
	g.dimCache[key] = v
	return v
}

// uniform returns a scalar that is known to be the same for all iterations of the vectorised axis.
func (g *gen) uniform(r kernel.Ref) value.Value {
	v := g.env[r]
	if v.wide || v.iota {
		panic(fmt.Sprintf("BUG: %%%d differs along the vectorised axis", r))
	}
	return v.v
}

// spread returns v as a vector of g.w.
func (g *gen) spread(v val) value.Value {
	switch {
	case v.wide:
		return v.v
	case v.iota:
		return g.cur.NewAdd(g.splat(v.v), iotaConst(g.w))
	}
	return g.splat(v.v)
}

// splat copies x into every element of a vector of g.w. Constants are made once, in the entry block.
func (g *gen) splat(x value.Value) value.Value {
	if g.w == 0 {
		return x
	}
	t := vec(x.Type(), g.w)
	at, key := g.cur, ""
	if c, ok := x.(constant.Constant); ok {
		key = fmt.Sprintf("%d %s", g.w, c.String())
		if v, ok := g.splatCache[key]; ok {
			return v
		}
		at = g.entry
	}
	one := at.NewInsertElement(constant.NewUndef(t), x, ci(i32, 0))
	v := at.NewShuffleVector(one, constant.NewUndef(t), constant.NewZeroInitializer(vec(i32, g.w)))
	if key != "" {
		g.splatCache[key] = v
	}
	return v
}

// set defines r.
func (g *gen) set(r kernel.Ref, v value.Value, wide bool) {
	if r != scalar.None {
		g.env[r] = val{v: v, wide: wide}
	}
}
