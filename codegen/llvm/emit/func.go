package emit

import (
	"fmt"
	"reflect"
	"strings"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/schedule"
	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Module is the LLVM module under construction.
type Module struct {
	Km         *kernel.Module
	M          *lir.Module
	Prefix     string
	Intrinsics map[string]*lir.Func
	Funcs      map[string]*lir.Func // scalar functions and helpers by name
	lines      *lines               // nil when no function has lines
	Lined      bool                 // functions have lines, where they are known
	Places     *kernel.Places       // numbers what lines stand for; nil: they are those of the files
	Hint       *metadata.Tuple      // what `!nontemporal` refers to; nil when nothing does

	Registry Registry // how statements are translated
	Access   Access   // how vectors are read and written
	Forms    Forms    // of loops

	Peepholes []Peephole // for instructions in vectors, in the order in which they are tried
	Machine   target.Machine

	Observer Observer // is told what is written; nil for nobody

	Shared Shared // has functions that several modules call; nil: each has its own
}

// Shared are functions that the kernels of several modules call, each of which is written once, in a module of its own.
type Shared interface {
	// Symbol is the name of such a function for all modules.
	Symbol(name string) string
	// Elsewhere reports that this module is not the one of the function, which write writes there.
	Elsewhere(name string, write func(m *Module)) bool
}

// OwnFunc is a function that the module has for itself, such as a helper that many kernels call. fresh says that it is
// new, and has to be written.
func (m *Module) OwnFunc(name string, result lt.Type, params ...*lir.Param) (fn *lir.Func, fresh bool) {
	if f := m.Funcs[name]; f != nil {
		return f, false
	}
	fn = m.M.NewFunc(name, result, params...)
	fn.Linkage = enum.LinkageInternal
	build.FunctionAttrs(fn)
	m.Funcs[name] = fn
	return fn, true
}

// SharedFunc is OwnFunc for a function that is one for several modules where m shares functions. There write asks for
// it in the module where it is written.
func (m *Module) SharedFunc(name string, result lt.Type, params []*lir.Param,
	write func(m *Module)) (fn *lir.Func, fresh bool) {
	fn, fresh = m.OwnFunc(name, result, params...)
	if !fresh || m.Shared == nil {
		return fn, fresh
	}
	fn.SetName(m.Shared.Symbol(name))
	fn.Linkage, fn.Visibility = enum.LinkageNone, enum.VisibilityHidden
	return fn, !m.Shared.Elsewhere(name, write)
}

// Observer is told what is written, for tests that count what code is reached. Who asks for a block stands in the
// call stack.
type Observer interface {
	Block(b *lir.Block)                 // b is a new block, empty yet
	Peephole(name string, b *lir.Block) // a peephole has written instructions; the last of them is in b
	Module(m *lir.Module)               // m is complete, and may be changed before it is printed

	// Arm says that b is in an arm of a choice, whose name this is, and takes it where some, if not nil, is true.
	Arm(name string, b *lir.Block, some value.Value)
}

// Val is a scalar of the kernel in LLVM: one value, or one for each iteration of the vectorised axis.
type Val struct {
	V    value.Value
	Wide bool // V is a vector of Width
	Iota bool // V is the uniform base; iteration i has V + i
	// Whole says of such a base that it is a multiple of Width, and not negative.
	Whole bool
}

// Func translates one function.
type Func struct {
	*Module
	Fn     *lir.Func
	Entry  *lir.Block // constants and dims; its terminator comes last
	Cur    *lir.Block
	Types  []types.DType
	Env    []Val
	Lets   map[kernel.Ref]*scalar.Instr // the instruction of each scalar that was generated so far
	Params []kernel.Param
	Bufs   []value.Value // addresses of element 0
	Dims   value.Value   // i64*
	Errp   value.Value   // i64*
	Depth  value.Value   // of scalar calls
	Fail   func()        // ends the function after an error was written

	taking value.Value // which iterations of a vector take the arms that are being written; nil where all do

	Lanes                      // of the code that is being written
	Schedule kernel.Directives // and what it is to be like

	Products map[value.Value]*product52 // that can be added to something else than 0

	Features map[reflect.Type]any // the data of features, see State

	Lined *functionLines // nil when the function has no lines

	// Intercept, when it is not nil, may translate a statement in another way; it says whether it did.
	Intercept func(kernel.Stmt) bool
	// Peephole, when it is not nil, may translate an instruction in another way; it says whether it did.
	Peephole func(*kernel.Let) bool

	DimCache   map[string]value.Value
	splatCache map[string]value.Value
	lent       map[string][]value.Value // memory that was borrowed and is free again, by size and type
}

func (m *Module) NewFunc(fn *lir.Func, ts []types.DType) *Func {
	g := &Func{Module: m, Fn: fn, Types: ts, Features: map[reflect.Type]any{}, Env: make([]Val, len(ts)),
		Lets:     map[kernel.Ref]*scalar.Instr{},
		Products: map[value.Value]*product52{},
		DimCache: map[string]value.Value{}, splatCache: map[string]value.Value{},
		lent: map[string][]value.Value{}}
	g.Entry = fn.NewBlock("entry")
	g.Cur = fn.NewBlock("")
	return g
}

// Within writes code that a directive's inner ones speak of.
func (g *Func) Within(d *kernel.Directive, write func()) {
	outer := g.Schedule
	g.Schedule = d.Sub
	write()
	g.Schedule = outer
}

// Code is what the decisions of package schedule are made from.
func (g *Func) Code() schedule.Code {
	return schedule.Code{Types: g.Types, Params: g.Params, Lets: g.Lets, Machine: g.Machine}
}

// Close ends the entry block.
func (g *Func) Close() {
	g.Entry.NewBr(g.Fn.Blocks[1])
	if g.Lined != nil {
		g.stamp()
	}
}

// NewBlock adds a block to the function; the current one stays the current one.
func (g *Func) NewBlock() *lir.Block {
	b := g.Fn.NewBlock("")
	if g.Observer != nil {
		g.Observer.Block(b)
	}
	return b
}

// Intrinsic declares an LLVM intrinsic or C function once.
func (m *Module) Intrinsic(name string, ret lt.Type, args ...lt.Type) *lir.Func {
	if short, ok := strings.CutPrefix(name, "llvm.x86.avx512."); ok && m.Machine.Split {
		name = SplitPrefix + short
	}
	if f := m.Intrinsics[name]; f != nil {
		return f
	}
	ps := make([]*lir.Param, len(args))
	for i, a := range args {
		ps[i] = lir.NewParam("", a)
	}
	f := m.M.NewFunc(name, ret, ps...)
	m.Intrinsics[name] = f
	return f
}

// Call calls the intrinsic `name.<type of the first argument>`.
func (g *Func) Call(name string, ret lt.Type, args ...value.Value) value.Value {
	ts := make([]lt.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	full := name + "." + build.TypeSuffix(ret)
	if !ret.Equal(ts[0]) {
		full += "." + build.TypeSuffix(ts[0])
	}
	return g.Cur.NewCall(g.Intrinsic(full, ret, ts...), args...)
}

// Dim returns the value of a dim, computed once in the entry block.
func (g *Func) Dim(d types.Dim) value.Value {
	if n, ok := d.Const(); ok {
		return build.Int(build.I64, n)
	}
	key := d.String()
	if v, ok := g.DimCache[key]; ok {
		return v
	}
	var sum value.Value
	for _, t := range d.Terms() {
		var prod value.Value = build.Int(build.I64, t.Coef)
		for _, name := range t.Vars {
			prod = g.Entry.NewMul(prod, g.dimParam(name))
		}
		if sum == nil {
			sum = prod
		} else {
			sum = g.Entry.NewAdd(sum, prod)
		}
	}
	g.DimCache[key] = sum
	return sum
}

func (g *Func) dimParam(name string) value.Value {
	if v, ok := g.DimCache["$"+name]; ok {
		return v
	}
	for i, d := range g.Km.Dims {
		if d == name {
			v := g.Entry.NewLoad(build.I64, g.Entry.NewGetElementPtr(build.I64, g.Dims, build.Int(build.I64, int64(i))))
			g.DimCache["$"+name] = v
			return v
		}
	}
	panic("BUG: shape parameter " + name + " has no value in " + strings.Join(g.Km.Dims, ", "))
}

// Extent returns ceil(Dim / Div).
func (g *Func) Extent(e abi.Extent) value.Value {
	n := g.Dim(e.Dim)
	if e.Div <= 1 {
		return n
	}
	if c, ok := e.Dim.Const(); ok {
		return build.Int(build.I64, (c+e.Div-1)/e.Div)
	}
	key := fmt.Sprintf("%s/%d", e.Dim, e.Div)
	if v, ok := g.DimCache[key]; ok {
		return v
	}
	v := g.Entry.NewSDiv(g.Entry.NewAdd(n, build.Int(build.I64, e.Div-1)), build.Int(build.I64, e.Div))
	g.DimCache[key] = v
	return v
}

// Uniform returns a scalar that is known to be the same for all iterations of the vectorised axis.
func (g *Func) Uniform(r kernel.Ref) value.Value {
	v := g.Env[r]
	if v.Wide || v.Iota {
		panic(fmt.Sprintf("BUG: %%%d differs along the vectorised axis", r))
	}
	return v.V
}

// Spread returns v as a vector of Width.
func (g *Func) Spread(v Val) value.Value {
	switch {
	case v.Wide:
		return v.V
	case v.Iota:
		return g.Cur.NewAdd(g.Splat(v.V), build.IotaConst(g.Width))
	}
	return g.Splat(v.V)
}

// Splat copies x into every element of a vector of Width. Constants are made once, in the entry block.
func (g *Func) Splat(x value.Value) value.Value {
	if g.Width == 0 {
		return x
	}
	t := build.Vector(x.Type(), g.Width)
	at, key := g.Cur, ""
	if c, ok := x.(constant.Constant); ok {
		key = fmt.Sprintf("%d %s", g.Width, c.String())
		if v, ok := g.splatCache[key]; ok {
			return v
		}
		at = g.Entry
	}
	one := at.NewInsertElement(constant.NewUndef(t), x, build.Int(build.I32, 0))
	v := at.NewShuffleVector(one, constant.NewUndef(t), constant.NewZeroInitializer(build.Vector(build.I32, g.Width)))
	if key != "" {
		g.splatCache[key] = v
	}
	return v
}

// Set defines r.
func (g *Func) Set(r kernel.Ref, v value.Value, wide bool) {
	if r != scalar.None {
		g.Env[r] = Val{V: v, Wide: wide}
	}
}

// SplitPrefix begins the names of split.ll, in place of llvm.
const SplitPrefix = "heal.x86.avx512."
