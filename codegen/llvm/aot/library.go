// Package aot makes shared libraries: the kernels of compiled functions, the code that runs their plans, a pool of
// threads and a C interface, all as LLVM IR, linked by the system's linker. A library needs libc alone.
//
// In: kernel modules with their plans (bufferize). Out: an ELF shared object, and the C header and the Python
// module that go with it. The package runs nothing, and it never looks at an operation.
//
// The way through the package: library.go puts everything together; kernels.go compiles kernels for each level of the
// processor; plan.go turns an abi.Program into a function, steps.go its steps; entry.go writes the two C functions
// of each entry, bind.go what they do with shapes, tvmffi.go and tvmffi.ll a third one for who speaks tvm-ffi;
// header.go, python.go and torch.go describe them; link.go calls the linker.
// golang.go makes a Go package instead, whose plans the package runtime walks.
// runtime.ll, threads.ll, stack.ll and stop.ll are the part that is the same in all libraries. Where a library is for
// several ranks, ranks.go chooses the code of the one that calls, exchange.go writes the steps in which ranks exchange
// bytes, and mpi.h and cluster.ll are what is the same in all of these.
package aot

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/llvm/aot/names"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/codegen/target/tuned"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/types"
)

// Library is what a shared library is made of.
type Library struct {
	Prefix  string // the library's name, with which those of C functions begin (names.Library)
	Entries []*Entry
	Target  codegen.Target // its CPU is that of all kernels; "" means every level of Levels

	// Native says that all kernels are for the processor of this machine.
	Native bool

	// Lines says of the code of kernels which line of the source it is for, in a line table.
	Lines bool

	// SplitAll runs every kernel on all threads, however small: for tests.
	SplitAll bool

	Took func(stage string, d time.Duration) // is told how long the stages of code generation took; nil for nobody

	tvm bool // see ForTVM
}

// Entry is one function of the program.
type Entry struct {
	Name      string // as the program has it
	Signature string // as source, for comments
	Dims      []string
	Params    []Param // tuples flattened
	Results   []types.Tensor
	// Packed has the code for row-major arguments. Strided has it for any strides: its Dims are followed by the
	// strides of every parameter, in order. It is nil when no parameter has an axis.
	Packed, Strided *kernel.Module
	// Tuned has numbers for kernels of Packed (llvm.Options).
	Tuned map[string]tuned.Set
	// Vjp is the entry that gives the derivative by the parameters at VjpBy, where somebody asks for it: it takes the
	// arguments and then a weight for each result that is floats. Without one, NoVjp says why there is none.
	Vjp   *Entry
	VjpBy []int64
	NoVjp string
	// Weights is how many of the last parameters are weights, of an entry that is a derivative.
	Weights int
	// Ranks has the code in place of Packed and Strided where it is for several ranks, by their number and theirs.
	Ranks []*Rank
}

// Rank is the code of an entry for one rank of a number of them, on row-major arguments, and the types of its blocks.
type Rank struct {
	Rank, Size int
	Code       *kernel.Module
	Params     []Param
	Results    []types.Tensor
}

// Param is a parameter of an entry.
type Param struct {
	Name   string
	Type   types.Tensor
	Update bool // &mut: the function writes it
}

// StrideName is the name of the shape parameter that stands for a stride of a parameter.
func StrideName(param, axis int) string { return fmt.Sprintf("p%d.stride%d", param, axis) }

// Meets is a function of the library that one of another name would meet in C or Python, "" for none.
func (l *Library) Meets(name string) string {
	for _, e := range l.Entries {
		if names.C(l.Prefix, e.Name) == names.C(l.Prefix, name) || names.Python(e.Name) == names.Python(name) {
			return e.Name
		}
	}
	return ""
}

//go:embed runtime.ll
var runtimeText string

//go:embed threads.ll
var threadsText string

//go:embed stop.ll
var stopText string

//go:embed stop_x86_64.ll
var stopX86Text string

//go:embed stop_aarch64.ll
var stopArmText string

//go:embed stack.ll
var stackText string

//go:embed stack_x86_64.ll
var stackX86Text string

//go:embed stack_aarch64.ll
var stackArmText string

//go:embed cpu_x86_64.ll
var x86Text string

//go:embed levels_x86_64.ll
var levelsText string

//go:embed cluster.ll
var clusterText string

//go:embed cpu_other.ll
var otherText string

// levels are those that the library gets: one when a processor is named or there is only one kind.
func (l *Library) levels(x86 bool) []Level {
	if l.Target.CPU == "" && !x86 && foreign(l.Target.Triple) {
		return []Level{{Name: "generic", CPU: "generic"}}
	}
	if x86 && (l.Target.CPU != "" || l.Native) && l.tiled(target.MachineOf(l.Target)) {
		return []Level{{Name: l.Target.CPU, CPU: l.Target.CPU, Features: withoutTiles},
			{Name: l.Target.CPU + "+amx", CPU: l.Target.CPU, has: transform.HasTileProducts}}
	}
	if l.Target.CPU != "" || !x86 || l.Native {
		return []Level{{Name: l.Target.CPU, CPU: l.Target.CPU}}
	}
	levels := slices.Clone(Levels)
	for i := range levels {
		t := codegen.Target{Triple: l.Target.Triple, CPU: levels[i].scheduled}
		if t.CPU != "" && llvm.CheckProcessor(t) != nil {
			levels[i].scheduled = "" // an old libLLVM
		}
	}
	return levels
}

// tiled reports that code for a machine uses tile registers.
func (l *Library) tiled(m target.Machine) bool {
	for _, e := range l.Entries {
		for _, km := range e.modules() {
			if m.ByteTiles && m.HalfTiles && slices.ContainsFunc(km.Kernels, transform.HasTileProducts) {
				return true
			}
		}
	}
	return false
}

// aroundPipeline is the pass pipeline for the code around the kernels, which takes longer to make than the kernels of
// most libraries. It inlines and forwards what is stored for the plan, so that a call takes what it does with
// default<O2>, which takes three times as long to run: docs/tuning/compile-effort.md.
const aroundPipeline = "always-inline,function(sroa,early-cse,simplifycfg),cgscc(inline)," +
	"function(sroa,early-cse<memssa>,simplifycfg,instcombine,gvn,simplifycfg,dse,adce),globaldce"

// Objects compiles a library into relocatable objects, which Link makes a shared library of. The entries are
// Supported.
func Objects(l *Library) ([][]byte, error) {
	lib, err := libllvm.Open()
	if err != nil {
		return nil, err
	}
	x86 := l.isX86(lib)
	levels := l.levels(x86)
	w := &writer{levels: levels, prefix: l.Prefix, x86: x86, splitAll: l.SplitAll}
	w.variants = l.variants()
	objects, err := l.kernels(w.variants, levels)
	if err != nil {
		return nil, err
	}
	text := w.module(l)
	host := libllvm.Options{Triple: l.Target.Triple, CPU: plainCPU(x86), OptLevel: 2,
		Passes: libllvm.Spell(aroundPipeline, lib.Version()), Emit: libllvm.Object, Took: l.Took}
	obj, err := lib.Compile(text, host)
	if err != nil {
		return nil, fmt.Errorf("BUG: libLLVM refuses the code around the kernels: %w", err)
	}
	return append(objects, obj), nil
}

// isX86 says whether the processors of the library are x86; where it names no target, that is the one of lib.
func (l *Library) isX86(lib *libllvm.Lib) bool {
	triple := l.Target.Triple
	if triple == "" {
		triple = lib.HostTriple()
	}
	return strings.HasPrefix(triple, "x86_64") || strings.HasPrefix(triple, "amd64")
}

func plainCPU(x86 bool) string {
	if x86 {
		return "x86-64"
	}
	return "generic"
}

// modules are the kernel modules of an entry: for packed arguments, and for any; or those of its ranks.
func (e *Entry) modules() []*kernel.Module {
	if e.Ranks != nil {
		var out []*kernel.Module
		for _, r := range e.Ranks {
			out = append(out, r.Code)
		}
		return out
	}
	if e.Strided == nil {
		return []*kernel.Module{e.Packed}
	}
	return []*kernel.Module{e.Packed, e.Strided}
}

// writer collects the text of the module around the kernels.
type writer struct {
	b        strings.Builder
	levels   []Level
	prefix   string
	x86      bool
	splitAll bool
	variants []*variant
	texts    map[string]string // constants by their initialiser
	declared map[string]bool   // kernels
}

func (w *writer) module(l *Library) string {
	w.texts, w.declared = map[string]string{}, map[string]bool{}
	w.b.WriteString(w.owned(runtimeText))
	w.b.WriteString(w.owned(threadsText))
	w.b.WriteString(stackText)
	stop := w.owned(stopText)
	// The places of registers in what a handler of a signal gets, and the number of the system's gettid.
	if w.x86 {
		w.b.WriteString(strings.NewReplacer("HEAL_IP", "168", "HEAL_SP", "160", "HEAL_GETTID", "186").Replace(stop))
		w.b.WriteString(stopX86Text + stackX86Text + x86Text)
		w.b.WriteString(l.detection(w.levels))
	} else {
		w.b.WriteString(strings.NewReplacer("HEAL_IP", "440", "HEAL_SP", "432", "HEAL_GETTID", "178").Replace(stop))
		w.b.WriteString(stopArmText + stackArmText + otherText)
	}
	w.b.WriteString("\n!0 = !{!\"branch_weights\", i32 1, i32 2000}\n")
	w.b.WriteString("!1 = !{!\"branch_weights\", i32 2000, i32 1}\n")
	w.processor()
	for _, v := range w.variants {
		w.kernelTables(v)
		w.plan(v)
	}
	if l.ForRanks() {
		w.cluster(l)
	}
	for _, e := range l.Entries {
		if e.Ranks != nil {
			w.onRanks(e)
			continue
		}
		w.direct(e, 0, "i32 @"+names.C(w.prefix, e.Name))
		w.checked(e, 0, "i32 @"+names.C(w.prefix, e.Name)+names.Tensors)
	}
	if l.tvm {
		w.tvmFFI(l)
	}
	return w.b.String()
}

// detection is what finds the best level. Code without tile registers does not ask for them.
func (l *Library) detection(levels []Level) string {
	switch {
	case len(levels) == 2: // of one processor
		return "define internal void @heal.detect() {\n  %level = call i32 @heal.tiles()\n" +
			"  store i32 %level, ptr @heal.best, align 4\n  store i32 %level, ptr @heal.level, align 4\n  ret void\n}\n"
	case l.tiled(target.Machine{ByteTiles: true, HalfTiles: true}):
		return strings.ReplaceAll(levelsText, "HEAL_TILES", "call i32 @heal.tiles()")
	}
	return strings.ReplaceAll(levelsText, "HEAL_TILES", "add i32 0, 0")
}

// owned is text of runtime.ll, threads.ll or stop.ll with the library's name in the place of heal_.
func (w *writer) owned(text string) string {
	return strings.ReplaceAll(text, "@heal_", "@"+w.prefix+"_")
}

// data is the name of a constant with these bytes; equal ones are one.
func (w *writer) data(raw []byte) string {
	typ, value := bytesConstant(raw)
	return w.global(typ, value)
}

// text is the name of a constant C string.
func (w *writer) text(s string) string {
	typ, value := constant(s)
	return w.global(typ, value)
}

func (w *writer) global(typ, value string) string {
	if name, ok := w.texts[value]; ok {
		return name
	}
	name := fmt.Sprintf("@heal.data.%d", len(w.texts))
	w.texts[value] = name
	fmt.Fprintf(&w.b, "%s = internal constant %s %s, align 64\n", name, typ, value)
	return name
}

// processor writes the functions cpu and use_cpu of names.Own, which tell and choose the level.
func (w *writer) processor() {
	e := newEmitter()
	var list strings.Builder
	for i, l := range w.levels {
		name := l.Name
		if name == "" {
			name = "native"
		}
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString("ptr " + w.text(name))
	}
	fmt.Fprintf(&w.b, "@heal.level.names = internal constant [%d x ptr] [%s]\n", len(w.levels), list.String())
	e.do("%%level = load i32, ptr @heal.level, align 4")
	if len(w.levels) == 1 {
		e.do("%%i = sext i32 0 to i64")
	} else {
		e.do("%%i = sext i32 %%level to i64")
	}
	e.do("%%p = getelementptr [%d x ptr], ptr @heal.level.names, i64 0, i64 %%i", len(w.levels))
	e.do("%%s = load ptr, ptr %%p, align 8")
	e.do("ret ptr %%s")
	fmt.Fprintf(&w.b, "define ptr @%s() {\n%s}\n", names.OwnC(w.prefix, "cpu"), e.body.String())

	e = newEmitter()
	w.there(e, "%name", "there is no name of a processor")
	fail := e.label()
	for i := range w.levels {
		next := e.label()
		yes := e.label()
		p := e.v("getelementptr [%d x ptr], ptr @heal.level.names, i64 0, i64 %d", len(w.levels), i)
		s := e.v("load ptr, ptr %s, align 8", p)
		r := e.v("call i32 @strcmp(ptr %%name, ptr %s)", s)
		e.branch(e.v("icmp eq i32 %s, 0", r), yes, next)
		e.at(yes)
		if len(w.levels) > 1 {
			best := e.v("load i32, ptr @heal.best, align 4")
			set := e.label()
			e.branch(e.v("icmp sge i32 %s, %d", best, i), set, fail)
			e.at(set)
			e.do("store i32 %d, ptr @heal.level, align 4", i)
		}
		e.do("ret i32 0")
		e.at(next)
	}
	e.jump(fail)
	e.at(fail)
	e.do("%%n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr %s, ptr %%name)",
		w.text("no code for the processor %s in this library, or this is not one"))
	e.do("ret i32 %d", CodeArgument)
	fmt.Fprintf(&w.b, "define i32 @%s(ptr %%name) {\n%s}\n", names.OwnC(w.prefix, "use_cpu"), e.body.String())
}
