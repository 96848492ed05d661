package llvm

import (
	"fmt"
	"strings"
	"time"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/ir/kernel"
)

// Pipeline is the pass pipeline that kernels get. Vector code and unrolling are the generator's work, so the loop
// vectorizer, the SLP vectorizer and the inliner's call-graph passes of default<O3> would only cost time. The passes
// that are left clean up, hoist and combine.
const Pipeline = "always-inline,function(sroa,early-cse<memssa>,simplifycfg,instcombine,loop-mssa(loop-simplifycfg," +
	"licm,loop-rotate,licm),gvn,instcombine,loop(indvars,loop-idiom,loop-deletion),sroa,gvn,instcombine," +
	"loop-mssa(licm),simplifycfg,dse,adce,instcombine),globaldce"

// Output is the kind of code that Compile makes.
type Output = libllvm.Output

// Compile generates machine code, assembly or optimised LLVM IR for a kernel module.
func Compile(km *kernel.Module, t codegen.Target, out Output) ([]byte, error) {
	return CompileWith(km, t, out, Options{})
}

// CompileWith is Compile with options for the generator.
func CompileWith(km *kernel.Module, t codegen.Target, out Output, opts Options) ([]byte, error) {
	p, err := Prepare(km, t, opts)
	if err != nil {
		return nil, err
	}
	code, err := p.Compile(out)
	if err != nil {
		return nil, err
	}
	p.TellStacks()
	return code, nil
}

// Prepared is the text of a kernel module, which libLLVM has not seen yet.
type Prepared struct {
	km     *kernel.Module
	target codegen.Target
	opts   Options
	text   string
	frames map[string]int64 // of functions, once they are compiled
}

// Prepare generates the text of a kernel module, and tells the plan's launches how the kernels are best cut: that of a
// module is told by one thread at a time. Several may compile what is prepared.
func Prepare(km *kernel.Module, t codegen.Target, opts Options) (*Prepared, error) {
	if t.Triple != "" {
		lib, err := libllvm.Open()
		if err != nil {
			return nil, err
		}
		if !lib.HasTarget(t.Triple) {
			return nil, &codegen.Unsupported{What: "code for " + t.Triple, Target: "this libLLVM",
				Why: "it was built without that target; HEAL_LIBLLVM names another libLLVM"}
		}
		if t.CPU == "" && !sameArch(t.Triple, lib.HostTriple()) {
			t.CPU = "generic" // the features of this machine say nothing about another architecture
		}
	}
	opts.Machine = target.MachineOf(t)
	start := time.Now()
	text, err := Generate(km, opts)
	if err != nil {
		return nil, err
	}
	if opts.Took != nil {
		opts.Took("generate", time.Since(start))
	}
	return &Prepared{km: km, target: t, opts: opts, text: text}, nil
}

// Compile makes machine code, assembly or optimised LLVM IR.
func (p *Prepared) Compile(out Output) ([]byte, error) {
	lib, err := libllvm.Open()
	if err != nil {
		return nil, err
	}
	t, text := p.target, p.text
	if p.opts.Machine.Split {
		if text, err = withMeanings(text); err != nil {
			return nil, err
		}
		_, t.CPU = target.SplitName(t.CPU)
	}
	o := libllvm.Options{Triple: t.Triple, CPU: t.CPU, Features: t.Features, OptLevel: 3, Emit: out,
		Passes: libllvm.Spell(Pipeline, lib.Version()), Took: p.opts.Took}
	switch p.opts.Effort {
	case Quick:
		o.OptLevel, o.Passes = 0, QuickPipeline
	case Least:
		o.OptLevel, o.Passes = 0, libllvm.NoPasses
	}
	made, err := p.opts.Memo.compile(lib, text, o)
	if err != nil {
		if p := lib.ProcessorError(o, err); p != nil {
			return nil, p
		}
		return nil, fmt.Errorf("BUG: libLLVM refuses generated code: %w", err)
	}
	p.frames = made.frames
	return made.code, nil
}

// TellStacks tells the plan's launches how much stack the functions take that kernels call, once they are compiled.
func (p *Prepared) TellStacks() { tellStacks(p.km, p.frames) }

// sameArch reports that two triples are of one architecture.
func sameArch(a, b string) bool {
	x, _, _ := strings.Cut(a, "-")
	y, _, _ := strings.Cut(b, "-")
	return x == y
}
