package llvm

import (
	"fmt"
	"slices"
	"time"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/codegen/schedule"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/codegen/target/tuned"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
)

// Options choose how code is generated.
type Options struct {
	Effort  Effort         // see EffortsFor
	Triple  string         // written into the module; "" leaves it out
	Prefix  string         // put before the names of the kernels, so that several modules can be linked together
	Machine target.Machine // for which the code is shaped

	// Profile is in place of the profile that is chosen for the processor; nil for that one.
	Profile *profile.Profile
	// Scheduled is the processor for whose latencies and pipes libLLVM orders instructions; "" for that of the target.
	Scheduled string
	// Tuned has numbers for single kernels, by their names, in place of those of the profile.
	Tuned map[string]tuned.Set
	// Reschedule may change what was decided about a kernel, in place; nil: it stays. What does not fit is an error.
	Reschedule func(k *kernel.Kernel, s *kernel.Schedule)

	// Efforts are those of kernels by name, for Objects, which makes modules of those that are alike; nil when all have
	// Effort.
	Efforts map[string]Effort

	// Elsewhere names kernels whose code is in another module: only the plan is told of them.
	Elsewhere map[string]bool

	Memo *Memo // has what was made before; nil for nothing

	Took func(stage string, d time.Duration) // is told how long each stage took; nil for nobody

	Observer Observer // is told what is written, on several threads; nil for nobody

	Frames func(kernel string, bytes int64) // is told what arrays of a kernel take of the stack; nil for nobody

	// Unwind gives functions unwind tables, so that debuggers and profilers see through the frames of kernels.
	Unwind bool
	// Lines says of each instruction which line of the source it is for, in a line table. The code is the same.
	Lines bool

	// Places gives the code lines that are numbers of places in the source; nil: it has no lines.
	Places *kernel.Places

	// Shared has functions that the kernels of several modules for one processor call; nil: each module has its own.
	Shared *Shared
}

// bodySuffix is what the name of a kernel's body ends with.
const bodySuffix = ".body"

// Observer is emit.Observer.
type Observer = emit.Observer

// Generate returns the LLVM IR text of a kernel module. The same module gives the same text. It tells the
// plan's launches how the kernels are best cut.
func Generate(km *kernel.Module, opts Options) (string, error) {
	machine := opts.Machine.WithDefaults()
	if opts.Profile != nil {
		machine = machine.With(opts.Profile)
	}
	ways := WaysOf(machine)
	ways.Compresses = ways.Compresses && opts.Effort != Least // which is much code
	km = transform.Specialise(km, ways)
	p := newProgram(km, machine, opts.Tuned)
	m := p.Module
	if m.Prefix = opts.Prefix; opts.Effort != Full {
		m.Peepholes = emit.BriefPeepholes
	}
	m.Observer, m.Lined = opts.Observer, opts.Lines || opts.Places != nil
	m.Places = opts.Places
	if opts.Shared != nil {
		m.Shared = opts.Shared
	}
	p.effort = schedule.Options{Brief: opts.Effort != Full, Least: opts.Effort == Least}
	if p.effort.Least {
		m.Registry = leastRegistry
	}
	p.reschedule = opts.Reschedule
	if err := p.decide(); err != nil {
		return "", err
	}
	p.tellPlan()
	m.M.SourceFilename = km.Name
	m.M.TargetTriple = opts.Triple
	for _, f := range km.Funcs {
		m.DeclareFunc(f)
	}
	for _, f := range km.Funcs {
		m.DefineFunc(f)
	}
	here := slices.DeleteFunc(slices.Clone(km.Kernels), func(k *kernel.Kernel) bool { return opts.Elsewhere[k.Name] })
	for _, k := range here {
		p.defineKernel(k)
	}
	opts.mark(m.M)
	if opts.Frames != nil {
		p.tellFrames(opts.Frames, here)
	}
	if m.Observer != nil {
		m.Observer.Module(m.M)
	}
	return build.Text(m.M), nil
}

// mark gives the functions of a module the attributes that all of them have by the options.
func (opts *Options) mark(m *lir.Module) {
	for _, f := range m.Funcs {
		if len(f.Blocks) == 0 {
			continue
		}
		if opts.Scheduled != "" {
			f.FuncAttrs = append(f.FuncAttrs, lir.AttrPair{Key: "tune-cpu", Value: opts.Scheduled})
		}
		if opts.Unwind {
			f.FuncAttrs = append(f.FuncAttrs, enum.FuncAttrUwtable)
		}
	}
}

// program is a module with the decisions about its kernels.
type program struct {
	*emit.Module
	machine    target.Machine
	tuned      map[string]tuned.Set // by the names of kernels
	effort     schedule.Options
	reschedule func(k *kernel.Kernel, s *kernel.Schedule) // nil for nobody
	schedules  map[string]*kernel.Schedule                // by the names of kernels
	products   map[string]*schedule.MatmulPlan            // kernels that are shared out as matrix products
}

// defineKernel makes two functions: the body, whose buffers are parameters so that they can be noalias,
// and the C entry point of runtime/abi, which takes the argument array apart.
func (m *program) defineKernel(k *kernel.Kernel) {
	m.Machine = m.machineOf(k)
	defer func() { m.Machine = m.machine }()
	var ps []*lir.Param
	buffers := k.Params[:k.Buffers()]
	for i, p := range buffers {
		lp := lir.NewParam(fmt.Sprintf("b%d", i), lt.NewPointer(build.MemoryType(p.DType)))
		lp.Attrs = append(lp.Attrs, enum.ParamAttrNoAlias, enum.ParamAttrNoCapture)
		if !p.Out {
			lp.Attrs = append(lp.Attrs, enum.ParamAttrReadOnly)
		}
		ps = append(ps, lp)
	}
	dims, begin, end := lir.NewParam("dims", build.I64Ptr), lir.NewParam("begin", build.I64),
		lir.NewParam("end", build.I64)
	errp := lir.NewParam("err", build.I64Ptr)
	dims.Attrs = append(dims.Attrs, enum.ParamAttrNoAlias, enum.ParamAttrReadOnly)
	errp.Attrs = append(errp.Attrs, enum.ParamAttrNoAlias)
	ps = append(ps, dims, begin, end, errp)
	body := m.M.NewFunc(k.Name+bodySuffix, lt.Void, ps...)
	body.Linkage = enum.LinkageInternal
	build.FunctionAttrs(body)
	body.FuncAttrs = append(body.FuncAttrs, enum.FuncAttrAlwaysInline)
	form := m.formOf(k)
	ts := k.Types
	if form.types != nil {
		ts = form.types
	}
	g := m.NewFunc(body, ts)
	if m.Lined {
		source := k.Source
		if form.types != nil {
			source = form.source
		}
		g.Lined = m.FunctionLines(m.Prefix+k.Name, source, k.Product())
	}
	g.Params = k.Params
	g.Schedule = m.schedules[k.Name].Directives
	emit.State[loops.Prefetching](g).Ahead = map[*kernel.Load]loops.Row{}
	for i := range buffers {
		g.Bufs = append(g.Bufs, body.Params[i])
	}
	for _, p := range k.Params[len(buffers):] {
		n, _ := p.Shape[0].Dim.Const()
		g.Bufs = append(g.Bufs, g.Stack(build.MemoryType(p.DType), int(n)))
	}
	g.Dims, g.Errp = dims, errp
	g.Depth = build.Int(build.I64, -1) // no scalar function is active
	g.Fail = func() { g.Cur.NewRet(nil) }
	form.write(g, begin, end)
	if emit.State[loops.Streaming](g).Fence {
		loops.Fence(g)
	}
	g.Cur.NewRet(nil)
	g.Close()

	pp := lt.NewPointer(build.BytePtr)
	bufs := lir.NewParam("bufs", pp)
	d, b, e, er := lir.NewParam("dims", build.I64Ptr), lir.NewParam("begin", build.I64), lir.NewParam("end", build.I64),
		lir.NewParam("err", build.I64Ptr)
	fn := m.M.NewFunc(m.Prefix+k.Name, lt.Void, bufs, d, b, e, er)
	build.FunctionAttrs(fn)
	blk := fn.NewBlock("entry")
	var args []value.Value
	for i, p := range buffers {
		raw := blk.NewLoad(build.BytePtr, blk.NewGetElementPtr(build.BytePtr, bufs, build.Int(build.I64, int64(i))))
		args = append(args, blk.NewBitCast(raw, lt.NewPointer(build.MemoryType(p.DType))))
	}
	args = append(args, d, b, e, er)
	if g.Lined == nil {
		blk.NewCall(body, args...)
		blk.NewRet(nil)
		return
	}
	if m.effort.Least { // nothing is inlined
		g.Lined.Of(body)
		blk.NewCall(body, args...)
		blk.NewRet(nil)
		return
	}
	// The body becomes a part of the entry, whose lines it has. A call with a line would be one for debuggers.
	g.Lined.Of(fn)
	g.Lined.AtHome(blk.Insts)
	blk.NewCall(body, args...)
	blk.NewRet(nil)
	g.Lined.AtHome(nil, blk.Term)
}
