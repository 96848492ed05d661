package device

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

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/llvm/loops"
	"healc/codegen/llvm/ntt"
	"healc/codegen/llvm/reduce"
	"healc/codegen/target"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Code for devices]: package gpu decides what each thread of a kernel does, and in which order threads meet. This
// package translates the statements of kernel IR, by the same code as for processors, one iteration at a time. So a
// scalar instruction, a loop and the order of a reduction have one translation.

// deviceStatements has the translations of all statements.
var deviceStatements = emit.Registry{}

func init() {
	emit.RegisterScalars(deviceStatements)
	loops.RegisterLoops(deviceStatements)
	reduce.RegisterReductions(deviceStatements)
	ntt.RegisterStages(deviceStatements)
}

// DeviceModule is the LLVM module of a program for a device.
type DeviceModule struct{ m *emit.Module }

// Lines says which lines the code has: those of the source, or none, or numbers of places.
type Lines struct {
	None   bool
	Places *kernel.Places // see emit.Module.Places
}

// NewDeviceModule begins a module, with the scalar functions of the program. The observer is told of blocks and
// peepholes; nil for nobody.
func NewDeviceModule(km *kernel.Module, triple string, lines Lines, observer emit.Observer) *DeviceModule {
	m := &emit.Module{Km: km, Registry: deviceStatements, Access: emit.DeviceAccess{},
		Peepholes: emit.DevicePeepholes, Lined: !lines.None, Places: lines.Places, M: lir.NewModule(),
		Observer:   observer,
		Intrinsics: map[string]*lir.Func{},
		Funcs:      map[string]*lir.Func{},
		Machine:    target.Machine{Device: true, VectorBits: 128}.WithDefaults()}
	m.M.SourceFilename = km.Name
	m.M.TargetTriple = triple
	// so that what has no alignment of its own gets the natural one
	m.M.DataLayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
	for _, f := range km.Funcs {
		m.DeclareFunc(f)
	}
	for _, f := range km.Funcs {
		m.DefineFunc(f)
	}
	return &DeviceModule{m}
}

// String is the module as text.
func (d *DeviceModule) String() string { return build.Text(d.m.M) }

// Shared reserves memory that the threads of a block share: n elements of type t, aligned to 16 bytes. It returns the
// address of the first.
func (d *DeviceModule) Shared(name string, t lt.Type, n int64) value.Value {
	at := lt.NewArray(uint64(n), t)
	v := d.m.M.NewGlobalDef(name, constant.NewUndef(at))
	v.AddrSpace, v.Typ.AddrSpace = 3, 3
	v.Linkage = enum.LinkageInternal
	v.Align = 16
	inside := constant.NewGetElementPtr(at, v, build.Int(build.I64, 0), build.Int(build.I64, 0))
	return constant.NewAddrSpaceCast(inside, lt.NewPointer(t))
}

// Thread is the code of one thread of an entry. All values of kernel IR are scalars in it.
type Thread struct {
	g       *emit.Func
	Scratch value.Value // i8*: the kernel's scratch memory
	Err     value.Value // i64*: the words of the program's abi.Error
	err     value.Value // of this thread alone, for calls of scalar functions
}

// Entry begins an entry for k, with the parameters that runtime/abi says. A block has so many threads.
func (d *DeviceModule) Entry(name string, k *kernel.Kernel, threads int) *Thread {
	t := d.function(name, k, true)
	t.g.Fn.CallingConv = enum.CallingConvPTXKernel
	annotate(d.m, t.g.Fn, "maxntidx", threads)
	return t
}

// Function is Entry for a function with the same parameters that is called by an entry. What its buffers hold may have
// been written by other threads before the call.
func (d *DeviceModule) Function(name string, k *kernel.Kernel) *Thread {
	t := d.function(name, k, false)
	t.g.Fn.Linkage = enum.LinkageInternal
	t.g.Fn.FuncAttrs = append(t.g.Fn.FuncAttrs, enum.FuncAttrNoInline, enum.FuncAttrConvergent)
	return t
}

// function begins a function. alone says that nothing else accesses its buffers while it runs.
func (d *DeviceModule) function(name string, k *kernel.Kernel, alone bool) *Thread {
	m := d.m
	var ps []*lir.Param
	buffers := k.Params[:k.Buffers()]
	for i, p := range buffers {
		lp := lir.NewParam(fmt.Sprintf("b%d", i), lt.NewPointer(build.MemoryType(p.DType)))
		lp.Attrs = append(lp.Attrs, lir.Align(abi.DeviceAlign))
		if alone {
			lp.Attrs = append([]lir.ParamAttribute{enum.ParamAttrNoAlias}, lp.Attrs...)
			if !p.Out {
				lp.Attrs = append(lp.Attrs, enum.ParamAttrReadOnly)
			}
		}
		ps = append(ps, lp)
	}
	for i := range m.Km.Dims {
		ps = append(ps, lir.NewParam(fmt.Sprintf("d%d", i), build.I64))
	}
	scratch, errp := lir.NewParam("scratch", build.BytePtr), lir.NewParam("err", build.I64Ptr)
	fn := m.M.NewFunc(name, lt.Void, append(ps, scratch, errp)...)
	build.FunctionAttrs(fn)
	g := m.NewFunc(fn, k.Types)
	if m.Lined {
		g.Lined = m.FunctionLines(fn.Name(), k.Source, k.Product())
		g.Lined.Of(fn)
	}
	g.Params = k.Params
	for i := range buffers {
		g.Bufs = append(g.Bufs, fn.Params[i])
	}
	for i, name := range m.Km.Dims {
		g.DimCache["$"+name] = fn.Params[len(buffers)+i]
	}
	t := &Thread{g: g, Scratch: scratch, Err: errp}
	t.err = g.Stack(build.I64, abi.ErrorBytes/8)
	g.Entry.NewStore(build.Int(build.I64, 0), t.err)
	if len(m.Km.Funcs) > 0 { // which take the dims as a processor's kernel does
		g.Dims = g.Stack(build.I64, len(m.Km.Dims)+1)
		for i := range m.Km.Dims {
			g.Entry.NewStore(fn.Params[len(buffers)+i], g.Entry.NewGetElementPtr(build.I64, g.Dims,
				build.Int(build.I64, int64(i))))
		}
		room := g.Entry.NewGetElementPtr(build.I64, errp, build.Int(build.I64, abi.StackRoom/8))
		g.Entry.NewStore(g.Entry.NewLoad(build.I64, room), g.StackRoom())
	}
	g.Depth = build.Int(build.I64, -1) // no scalar function is active
	return t
}

// annotate tells the back end about an entry.
func annotate(m *emit.Module, fn *lir.Func, key string, n int) {
	tuple := &metadata.Tuple{MetadataID: -1, Fields: []metadata.Field{
		fn, &metadata.String{Value: key}, build.Int(build.I32, int64(n))}}
	m.Define(tuple)
	m.Named("nvvm.annotations", tuple)
}

// Function is the function of the thread.
func (t *Thread) Function() *lir.Func { return t.g.Fn }

// Finish ends the function.
func (t *Thread) Finish() {
	t.g.Cur.NewRet(nil)
	t.g.Close()
}

// OneBlock says that a multiprocessor need not have room for more than one block of the entry: then its values get all
// the registers that they want, and none of them goes to memory.
func (t *Thread) OneBlock() { annotate(t.g.Module, t.g.Fn, "minctasm", 1) }

// Fail sets the code for a check that fails: f ends the code of the current block. Before it, the site and the details
// are written to `report`, three words; nil is nowhere.
func (t *Thread) Fail(report value.Value, f func()) {
	t.g.Fail = f
	t.g.Errp = report
	if report == nil {
		t.g.Errp = t.err
	}
}

// Stack is the address of memory of this thread alone: n elements as a buffer of type d has them.
func (t *Thread) Stack(d types.DType, n int64) value.Value {
	return t.g.Stack(build.MemoryType(d), int(n))
}

// Place gives a parameter, which is memory of the kernel itself, its address.
func (t *Thread) Place(param int, address value.Value) {
	for len(t.g.Bufs) <= param {
		t.g.Bufs = append(t.g.Bufs, nil)
	}
	t.g.Bufs[param] = address
}

// Address is where an access begins.
func (t *Thread) Address(param int, at kernel.Access) value.Value {
	return t.g.Addr(param, t.g.AddressOf(at).Base)
}

// Offset is the number of the element where an access begins.
func (t *Thread) Offset(at kernel.Access) value.Value { return t.g.AddressOf(at).Base }

// Block is the current block, at whose end instructions are added.
func (t *Thread) Block() *lir.Block { return t.g.Cur }

// SetBlock makes b the current block.
func (t *Thread) SetBlock(b *lir.Block) { t.g.Cur = b }

// NewBlock adds a block.
func (t *Thread) NewBlock() *lir.Block { return t.g.NewBlock() }

// Intrinsic declares an intrinsic function by its whole name.
func (t *Thread) Intrinsic(name string, ret lt.Type, args ...lt.Type) value.Value {
	return t.g.Intrinsic(name, ret, args...)
}

// Value is the scalar r.
func (t *Thread) Value(r kernel.Ref) value.Value { return t.g.Uniform(r) }

// Define makes v the scalar r.
func (t *Thread) Define(r kernel.Ref, v value.Value) { t.g.Set(r, v, false) }

// With defines scalars for f alone: what they were before, they are behind it.
func (t *Thread) With(values map[kernel.Ref]value.Value, f func()) {
	outer := map[kernel.Ref]emit.Val{}
	for r, v := range values {
		outer[r] = t.g.Env[r]
		t.Define(r, v)
	}
	f()
	for r, was := range outer {
		t.g.Env[r] = was
	}
}

// Extent is the value of e.
func (t *Thread) Extent(e abi.Extent) value.Value { return t.g.Extent(e) }

// Statements translates statements in order. First f, when it is not nil, may translate each of them, those inside of
// others too, in another way; it says whether it did.
func (t *Thread) Statements(f func(kernel.Stmt) bool, stmts ...kernel.Stmt) {
	outer := t.g.Intercept
	t.g.Intercept = f
	t.g.Block(&kernel.Block{Stmts: stmts})
	t.g.Intercept = outer
}

// Vector translates stmts for w iterations of v at once, which begin at a multiple of w, and returns the values of
// result, if that is not None. CanVectorise says where it may be used. The scalars in given have a value for each
// iteration.
func (t *Thread) Vector(w int, v kernel.Ref, from value.Value, given map[kernel.Ref][]value.Value, stmts []kernel.Stmt,
	result kernel.Ref) []value.Value {
	g := t.g
	var out []value.Value
	outer, lanes := g.Intercept, g.Lanes
	g.Intercept, lanes.Width = nil, w
	lanes.Scalarise = func() {} // whose check it is that fails is found out later
	g.In(lanes, func() {
		g.Env[v] = emit.Val{V: from, Iota: true}
		for _, r := range slices.Sorted(maps.Keys(given)) {
			values := given[r]
			var x value.Value = constant.NewUndef(build.Vector(values[0].Type(), w))
			for i, y := range values {
				x = g.Cur.NewInsertElement(x, y, build.Int(build.I32, int64(i)))
			}
			g.Env[r] = emit.Val{V: x, Wide: true}
		}
		g.Block(&kernel.Block{Stmts: stmts})
		if result != scalar.None {
			x := g.Spread(g.Env[result])
			for i := range w {
				out = append(out, g.Cur.NewExtractElement(x, build.Int(build.I32, int64(i))))
			}
		}
	})
	g.Intercept = outer
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
// iterations fails, the code that Fail set runs for all, before anything that comes after the check.
func CanVectoriseChecked(k *kernel.Kernel, v kernel.Ref, stmts []kernel.Stmt, given ...kernel.Ref) (instrs int,
	ok bool) {
	a := &analysis.Analysis{Types: k.Types, Wide: map[kernel.Ref]bool{v: true}, Checks: true}
	a.Mark(true, given...)
	sh, ok := a.Block(&kernel.Block{Stmts: stmts})
	for _, s := range stmts {
		switch s := s.(type) {
		case *kernel.Let:
			if s.In.Op == scalar.Check && a.Any(s.In.Args[:]...) {
				sh.Instrs -= analysis.CheckInstrs - 1 // there is no code that does the iterations one by one
			}
		case *kernel.DimValue, *kernel.Load, *kernel.Store:
		case *kernel.If:
			ok = ok && analysis.Pure(s.Then) && analysis.Pure(s.Else)
		default:
			ok = false
		}
	}
	return sh.Instrs, ok
}

// Count writes `for i = lo; i < hi; i += step`, in which state is carried, and returns the state at its end.
func (t *Thread) Count(lo, hi, step value.Value, state []value.Value,
	body func(i value.Value, state []value.Value) []value.Value) []value.Value {
	return t.g.ForStep(lo, hi, step, state, body)
}

// Combine is the value that a reduction of kind makes from two values of type d.
func (t *Thread) Combine(kind ir.ReduceKind, d types.DType, x, y value.Value) value.Value {
	r := &reduce.Reduction{G: t.g, S: &kernel.Reduce{Kind: kind}, D: d}
	return r.Combine(x, y, 0)
}

// Better says that x is the extreme that argmax or argmin looks for when it stands behind best: it is beyond it, or the
// first NaN.
func (t *Thread) Better(kind ir.ReduceKind, d types.DType, x, best value.Value) value.Value {
	r := &reduce.Reduction{G: t.g, S: &kernel.Reduce{Kind: kind}, D: d}
	return r.Better(x, best)
}

// Identity is where a reduction of kind starts: see Note [Identities].
func Identity(kind ir.ReduceKind, d types.DType) value.Value {
	r := &reduce.Reduction{S: &kernel.Reduce{Kind: kind}, D: d}
	return r.IdentityConst()
}

// Plus, Minus and Times are i64 arithmetic that folds constants.
func (t *Thread) Plus(x, y value.Value) value.Value { return t.g.Add(x, y) }

func (t *Thread) Minus(x, y value.Value) value.Value { return t.g.Sub(x, y) }

func (t *Thread) Times(x, y value.Value) value.Value { return t.g.Mul(x, y) }

// RegisterType is the LLVM type of a value of type d.
func RegisterType(d types.DType) lt.Type { return build.RegisterType(d) }

// MemoryType is the LLVM type of an element in memory.
func MemoryType(d types.DType) lt.Type { return build.MemoryType(d) }

// Invariant splits the body of k into the statements that are the same in every iteration of the axes, and the rest.
// The first may be done once before the axes, where there are any.
func Invariant(k *kernel.Kernel) (before []kernel.Stmt, body *kernel.Block) {
	return transform.HoistInvariants(k)
}

// Stores reports whether b writes to memory.
func Stores(b *kernel.Block) bool { return analysis.Stores(b) }

// DevicePipeline is the pass pipeline for a DeviceModule, in the spelling of a version of LLVM.
func DevicePipeline(version string) string { return libllvm.Spell(devicePipeline, version) }

// devicePipeline is Pipeline without the pass that makes calls of memset and memcpy out of loops.
const devicePipeline = "always-inline,function(sroa,early-cse<memssa>,simplifycfg,instcombine," +
	"loop-mssa(loop-simplifycfg,licm,loop-rotate,licm),gvn,instcombine,loop(indvars,loop-deletion),sroa,gvn," +
	"instcombine,loop-mssa(licm),simplifycfg,dse,adce,loop-unroll,instcombine),globaldce"
