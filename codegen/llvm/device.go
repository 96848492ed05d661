package llvm

import (
	"fmt"
	"maps"
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/libllvm"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Code for devices]: package gpu decides what each thread of a kernel does, and in which order threads meet; what
// the statements of kernel IR compute is translated here, by the same code as for processors, one iteration at a time.
// So a scalar instruction, a loop and the order of a reduction have one translation.

// deviceStatements has the translations of all statements.
var deviceStatements = Registry{}

func init() {
	registerScalars(deviceStatements)
	registerLoops(deviceStatements)
	registerReductions(deviceStatements)
	registerTransforms(deviceStatements)
}

// DeviceModule is the LLVM module of a program for a device.
type DeviceModule struct{ m *module }

// NewDeviceModule begins a module, with the scalar functions of the program. lines says that the code has the lines of
// the source.
func NewDeviceModule(km *kernel.Module, triple string, lines bool) *DeviceModule {
	m := &module{km: km, registry: deviceStatements, access: deviceAccess{}, lined: lines, m: lir.NewModule(),
		intrinsics: map[string]*lir.Func{},
		funcs:      map[string]*lir.Func{},
		machine:    Machine{Device: true, Narrow: true, VectorBits: 128}.withDefaults()}
	m.m.SourceFilename = km.Name
	m.m.TargetTriple = triple
	// so that what has no alignment of its own gets the natural one
	m.m.DataLayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
	for _, f := range km.Funcs {
		m.declareFunc(f)
	}
	for _, f := range km.Funcs {
		m.defineFunc(f)
	}
	return &DeviceModule{m}
}

// String is the module as text.
func (d *DeviceModule) String() string { return d.m.m.String() }

// Shared reserves memory that the threads of a block share: n elements of type t, aligned to 16 bytes. It returns the
// address of the first.
func (d *DeviceModule) Shared(name string, t lt.Type, n int64) value.Value {
	at := lt.NewArray(uint64(n), t)
	v := d.m.m.NewGlobalDef(name, constant.NewUndef(at))
	v.AddrSpace, v.Typ.AddrSpace = 3, 3
	v.Linkage = enum.LinkageInternal
	v.Align = 16
	inside := constant.NewGetElementPtr(at, v, ci(i64, 0), ci(i64, 0))
	return constant.NewAddrSpaceCast(inside, lt.NewPointer(t))
}

// Thread is the code of one thread of an entry. All values of kernel IR are scalars in it.
type Thread struct {
	g       *gen
	Scratch value.Value // i8*: the kernel's scratch memory
	Err     value.Value // i64*: the words of the program's abi.Error
	err     value.Value // of this thread alone, for calls of scalar functions
}

// Entry begins an entry for k, with the parameters that runtime/abi says. A block has so many threads.
func (d *DeviceModule) Entry(name string, k *kernel.Kernel, threads int) *Thread {
	t := d.function(name, k, true)
	t.g.fn.CallingConv = enum.CallingConvPTXKernel
	d.m.annotate(t.g.fn, "maxntidx", threads)
	return t
}

// Function is Entry for a function with the same parameters that is called by an entry. What its buffers hold may have
// been written by other threads before the call.
func (d *DeviceModule) Function(name string, k *kernel.Kernel) *Thread {
	t := d.function(name, k, false)
	t.g.fn.Linkage = enum.LinkageInternal
	t.g.fn.FuncAttrs = append(t.g.fn.FuncAttrs, enum.FuncAttrNoInline, enum.FuncAttrConvergent)
	return t
}

// function begins a function. alone says that nothing else accesses its buffers while it runs.
func (d *DeviceModule) function(name string, k *kernel.Kernel, alone bool) *Thread {
	m := d.m
	var ps []*lir.Param
	buffers := k.Params[:k.Buffers()]
	for i, p := range buffers {
		lp := lir.NewParam(fmt.Sprintf("b%d", i), lt.NewPointer(memType(p.DType)))
		lp.Attrs = append(lp.Attrs, lir.Align(abi.DeviceAlign))
		if alone {
			lp.Attrs = append([]lir.ParamAttribute{enum.ParamAttrNoAlias}, lp.Attrs...)
			if !p.Out {
				lp.Attrs = append(lp.Attrs, enum.ParamAttrReadOnly)
			}
		}
		ps = append(ps, lp)
	}
	for i := range m.km.Dims {
		ps = append(ps, lir.NewParam(fmt.Sprintf("d%d", i), i64))
	}
	scratch, errp := lir.NewParam("scratch", voidPtr), lir.NewParam("err", int64Ptr)
	fn := m.m.NewFunc(name, lt.Void, append(ps, scratch, errp)...)
	functionAttrs(fn)
	g := m.newGen(fn, k.Types)
	if m.lined {
		g.lined = m.functionLines(fn, k.Source)
	}
	g.params = k.Params
	for i := range buffers {
		g.bufs = append(g.bufs, fn.Params[i])
	}
	for i, name := range m.km.Dims {
		g.dimCache["$"+name] = fn.Params[len(buffers)+i]
	}
	t := &Thread{g: g, Scratch: scratch, Err: errp}
	t.err = g.stack(i64, abi.ErrorBytes/8)
	g.entry.NewStore(ci(i64, 0), t.err)
	if len(m.km.Funcs) > 0 { // which take the dims as a processor's kernel does
		g.dims = g.stack(i64, max(len(m.km.Dims), 1))
		for i := range m.km.Dims {
			g.entry.NewStore(fn.Params[len(buffers)+i], g.entry.NewGetElementPtr(i64, g.dims, ci(i64, int64(i))))
		}
	}
	g.depth = ci(i64, 0)
	return t
}

// annotate tells the back end about an entry.
func (m *module) annotate(fn *lir.Func, key string, n int) {
	tuple := &metadata.Tuple{MetadataID: metadata.MetadataID(len(m.m.MetadataDefs)), Fields: []metadata.Field{
		fn, &metadata.String{Value: key}, ci(i32, int64(n))}}
	m.m.MetadataDefs = append(m.m.MetadataDefs, tuple)
	m.named("nvvm.annotations", tuple)
}

// Function is the function of the thread.
func (t *Thread) Function() *lir.Func { return t.g.fn }

// Finish ends the function.
func (t *Thread) Finish() {
	t.g.cur.NewRet(nil)
	t.g.close()
}

// OneBlock says that a multiprocessor need not have room for more than one block of the entry: then its values get all
// the registers that they want, and none of them goes to memory.
func (t *Thread) OneBlock() { t.g.annotate(t.g.fn, "minctasm", 1) }

// Fail says what a check that fails does: f ends the code of the current block. Before it, the site and the details
// are written to `report`, three words; nil is nowhere.
func (t *Thread) Fail(report value.Value, f func()) {
	t.g.fail = f
	t.g.errp = report
	if report == nil {
		t.g.errp = t.err
	}
}

// Stack is the address of memory of this thread alone: n elements as a buffer of type d has them.
func (t *Thread) Stack(d types.DType, n int64) value.Value { return t.g.stack(memType(d), int(n)) }

// Place gives a parameter, which is memory of the kernel itself, its address.
func (t *Thread) Place(param int, address value.Value) {
	for len(t.g.bufs) <= param {
		t.g.bufs = append(t.g.bufs, nil)
	}
	t.g.bufs[param] = address
}

// Address is where an access begins.
func (t *Thread) Address(param int, at kernel.Access) value.Value {
	return t.g.addr(param, t.g.place(at).base)
}

// Offset is the number of the element where an access begins.
func (t *Thread) Offset(at kernel.Access) value.Value { return t.g.place(at).base }

// Block is the current block, at whose end instructions are added.
func (t *Thread) Block() *lir.Block { return t.g.cur }

// SetBlock makes b the current block.
func (t *Thread) SetBlock(b *lir.Block) { t.g.cur = b }

// NewBlock adds a block.
func (t *Thread) NewBlock() *lir.Block { return t.g.newBlock() }

// Intrinsic declares an intrinsic function by its whole name.
func (t *Thread) Intrinsic(name string, ret lt.Type, args ...lt.Type) value.Value {
	return t.g.intrinsic(name, ret, args...)
}

// Value is the scalar r.
func (t *Thread) Value(r kernel.Ref) value.Value { return t.g.uniform(r) }

// Define makes v the scalar r.
func (t *Thread) Define(r kernel.Ref, v value.Value) { t.g.set(r, v, false) }

// Extent is the value of e.
func (t *Thread) Extent(e abi.Extent) value.Value { return t.g.extent(e) }

// Statements translates statements in order. First f, when it is not nil, may translate each of them, those inside of
// others too, in another way; it says whether it did.
func (t *Thread) Statements(f func(kernel.Stmt) bool, stmts ...kernel.Stmt) {
	outer := t.g.statement
	t.g.statement = f
	t.g.block(&kernel.Block{Stmts: stmts})
	t.g.statement = outer
}

// Vector translates stmts for w iterations of v at once, which begin at a multiple of w, and returns the values of
// result, if that is not None. CanVectorise says where it may be used. The scalars in given have a value for each
// iteration.
func (t *Thread) Vector(w int, v kernel.Ref, from value.Value, given map[kernel.Ref][]value.Value, stmts []kernel.Stmt,
	result kernel.Ref) []value.Value {
	g := t.g
	outer, oneByOne := g.statement, g.oneByOne
	g.statement, g.w = nil, w
	g.oneByOne = func() {} // whose check it is that fails is found out later
	g.env[v] = val{v: from, iota: true}
	for _, r := range slices.Sorted(maps.Keys(given)) {
		values := given[r]
		var x value.Value = constant.NewUndef(vec(values[0].Type(), w))
		for i, y := range values {
			x = g.cur.NewInsertElement(x, y, ci(i32, int64(i)))
		}
		g.env[r] = val{v: x, wide: true}
	}
	g.block(&kernel.Block{Stmts: stmts})
	var out []value.Value
	if result != scalar.None {
		x := g.spread(g.env[result])
		for i := range w {
			out = append(out, g.cur.NewExtractElement(x, ci(i32, int64(i))))
		}
	}
	g.statement, g.oneByOne, g.w = outer, oneByOne, 0
	return out
}

// CanVectorise reports whether stmts can be done for several iterations of v at once: all take the same path, and no
// check, call or loop is among them. The scalars in given differ between the iterations, too. instrs is the number of
// instructions.
func CanVectorise(k *kernel.Kernel, v kernel.Ref, stmts []kernel.Stmt, given ...kernel.Ref) (instrs int, ok bool) {
	for _, s := range stmts {
		if s, is := s.(*kernel.Let); is && s.In.Op == scalar.Check {
			return 0, false
		}
	}
	return CanVectoriseChecked(k, v, stmts, given...)
}

// CanVectoriseChecked is CanVectorise for stmts with checks, none of them in an arm of an If. When one of the
// iterations fails, what Fail says is done for all, before anything that comes after the check.
func CanVectoriseChecked(k *kernel.Kernel, v kernel.Ref, stmts []kernel.Stmt, given ...kernel.Ref) (instrs int,
	ok bool) {
	a := &analysis{types: k.Types, wide: map[kernel.Ref]bool{v: true}, checks: true}
	a.mark(true, given...)
	sh, ok := a.block(&kernel.Block{Stmts: stmts})
	for _, s := range stmts {
		switch s := s.(type) {
		case *kernel.Let:
			if s.In.Op == scalar.Check && a.any(s.In.Args[:]...) {
				sh.instrs -= longBody - 1 // there is no code that does the iterations one by one
			}
		case *kernel.DimValue, *kernel.Load, *kernel.Store:
		case *kernel.If:
			ok = ok && pure(s.Then) && pure(s.Else)
		default:
			ok = false
		}
	}
	return sh.instrs, ok
}

// Count writes `for i = lo; i < hi; i += step`, in which state is carried, and returns the state at its end.
func (t *Thread) Count(lo, hi, step value.Value, state []value.Value,
	body func(i value.Value, state []value.Value) []value.Value) []value.Value {
	return t.g.countBy(lo, hi, step, state, body)
}

// Combine is what a reduction of kind makes of two values of type d.
func (t *Thread) Combine(kind ir.ReduceKind, d types.DType, x, y value.Value) value.Value {
	r := &reduction{g: t.g, s: &kernel.Reduce{Kind: kind}, d: d}
	return r.combine(x, y, 0)
}

// Better says that x is the extreme that argmax or argmin looks for when it stands behind best: it is beyond it, or the
// first NaN.
func (t *Thread) Better(kind ir.ReduceKind, d types.DType, x, best value.Value) value.Value {
	r := &reduction{g: t.g, s: &kernel.Reduce{Kind: kind}, d: d}
	return r.better(x, best)
}

// Identity is where a reduction of kind starts: see Note [Identities].
func Identity(kind ir.ReduceKind, d types.DType) value.Value {
	r := &reduction{s: &kernel.Reduce{Kind: kind}, d: d}
	return r.identityConst()
}

// Plus, Minus and Times are i64 arithmetic that folds constants.
func (t *Thread) Plus(x, y value.Value) value.Value  { return t.g.plus(x, y) }
func (t *Thread) Minus(x, y value.Value) value.Value { return t.g.minus(x, y) }
func (t *Thread) Times(x, y value.Value) value.Value { return t.g.times(x, y) }

// Product is a kernel that is a matrix product, as Note [Matrix products] says: X differs between rows, Y between
// columns.
type Product struct {
	Batches []kernel.Axis
	Row     *kernel.Axis // nil: the product of a vector with a matrix
	Col     kernel.Axis
	Loop    *kernel.Loop // over k
	Before  []kernel.Stmt
	After   []kernel.Stmt
	X, Y    Factor
	Step    []kernel.Stmt // from the factors and Loop.Vars to Loop.Next
	Uniform bool          // what stands before the loop is the same for all rows and columns
}

// Factor is an operand of a product: Stmts, in the loop, compute Val. Main is the read that moves with both axes, nil
// when none does.
type Factor struct {
	Val   kernel.Ref
	Stmts []kernel.Stmt
	Main  *kernel.Load
}

// ProductOf recognises a matrix product; it is nil for any other kernel.
func ProductOf(k *kernel.Kernel) *Product {
	c := contractionOf(k)
	if c == nil {
		return nil
	}
	factor := func(o operand) Factor { return Factor{Val: o.val, Stmts: o.stmts, Main: o.main} }
	p := &Product{Batches: c.batches, Row: c.row, Col: c.col, Loop: c.chains, Before: c.before, After: c.after,
		X: factor(c.x), Y: factor(c.y), Step: []kernel.Stmt{c.fma}, Uniform: true}
	if last := c.chains.Next[0]; last != c.fma.ID {
		for _, st := range c.chains.Body.Stmts {
			if l, ok := st.(*kernel.Let); ok && l.ID == last {
				p.Step = append(p.Step, l)
			}
		}
	}
	for _, st := range c.before {
		p.Uniform = p.Uniform && c.depOf(st) == 0
	}
	return p
}

// RegisterType is the LLVM type of a value of type d.
func RegisterType(d types.DType) lt.Type { return regType(d) }

// MemoryType is the LLVM type of an element in memory.
func MemoryType(d types.DType) lt.Type { return memType(d) }

// Invariant splits the body of k into what is the same in every iteration of the axes, which may be done once before
// them where there are any, and the rest.
func Invariant(k *kernel.Kernel) (before []kernel.Stmt, body *kernel.Block) { return invariant(k) }

// Stores reports whether b writes to memory.
func Stores(b *kernel.Block) bool { return stores(b) }

// DevicePipeline is the pass pipeline for a DeviceModule, in the spelling of a version of LLVM.
func DevicePipeline(version string) string { return libllvm.Spell(devicePipeline, version) }

// devicePipeline is Pipeline without what makes calls of memset and memcpy out of loops.
const devicePipeline = "always-inline,function(sroa,early-cse<memssa>,simplifycfg,instcombine," +
	"loop-mssa(loop-simplifycfg,licm,loop-rotate,licm),gvn,instcombine,loop(indvars,loop-deletion),sroa,gvn," +
	"instcombine,loop-mssa(licm),simplifycfg,dse,adce,loop-unroll,instcombine),globaldce"
