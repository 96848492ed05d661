// Package pipeline runs the stages of the compiler in order: source text, typed program, tensor IR, kernels, machine
// code. In: a file, or tensor IR. Out: each of these forms, up to an artifact that the runtime loads, from the cache
// where it is there. It runs no program (internal/engine does), and decides nothing that a stage decides.
package pipeline

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/profile"
	"healc/codegen/target/tuned"
	"healc/internal/backend"
	"healc/internal/cache"
	"healc/internal/identity"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/check/tree"
	"healc/lang/types"
	"healc/passes"
	"healc/passes/bufferize"
	"healc/passes/shard"
	"healc/runtime"
	"healc/runtime/jitinfo"
)

// Options say what code is made.
type Options struct {
	Target codegen.Target // the zero value is this machine
	Cache  *cache.Cache   // compiled code on disk; nil for none
	Debug  Debug          // what to show of the passes
	Once   bool           // code that runs briefly is better compiled quickly

	Tuned        *tuned.File // what was measured about kernels of processors; nil for nothing
	Ranks        shard.Ranks // which rank of how many the code is for; the zero value is for one
	RequireTuned bool        // a kernel of a processor that it has nothing about is a *tuned.MissingError
	Native       bool        // a library is for the processor of this machine alone, not for every level
}

// Debug says what to show of the passes and where the time goes.
type Debug struct {
	Passes *passes.Options // nil: nothing is shown, and modules are not verified between passes
	Timer  *Timer          // nil: not measured
	// Vectors says that programs that run briefly get vector code, too: for tests of it.
	Vectors bool
	// AnyShape says that a call runs the code that a library has, for any shape and strides: for tests of it.
	AnyShape bool
	// Profile and Reschedule are those of llvm.Options, for tests of schedules; nothing is kept in the cache then.
	Profile    *profile.Profile
	Reschedule func(k *kernel.Kernel, s *kernel.Schedule)
	// Observer is that of llvm.Options, for tests that count what is reached; nothing is kept in the cache then.
	Observer llvm.Observer
	// Memo is that of llvm.Options.
	Memo *llvm.Memo
}

// seen reports whether tests look at how code is made, or change it, so that none comes from the cache or goes there.
func (d *Debug) seen() bool { return d.Profile != nil || d.Reschedule != nil || d.Observer != nil }

// Module is a program whose functions become kernels and machine code.
type Module struct {
	*Source
	opts  Options
	calls func() *passes.CallGraph
}

// New is the module of a source.
func New(src *Source, opts Options) *Module {
	return &Module{src, opts, sync.OnceValue(func() *passes.CallGraph { return passes.NewCallGraph(src.IR) })}
}

// ForRank is the module for one of several ranks.
func (m *Module) ForRank(ranks shard.Ranks) *Module {
	opts := m.opts
	opts.Ranks = ranks
	return New(m.Source, opts)
}

// Program is the typed program; nil for a module that was made from IR.
func (m *Module) Program() *tree.Program { return m.Source.Program }

// IR is the tensor IR before any pass.
func (m *Module) IR() *ir.Module { return m.Source.IR }

// With is a module with one more function of IR. It shares the other functions, which passes work on copies of.
func (m *Module) With(f *ir.Func) *Module {
	code := &ir.Module{Name: m.IR().Name, Funcs: append(slices.Clip(m.IR().Funcs), f)}
	return New(&Source{Program: m.Program(), IR: code}, m.opts)
}

// Cut is the module where a rank has its part alone of arguments and results of an entry.
func (m *Module) Cut(cut *shard.Cut) *Module {
	opts := m.opts
	opts.Ranks.Cut = cut
	return &Module{m.Source, opts, m.calls}
}

// onDevice reports whether code is made for a device.
func (m *Module) onDevice() bool { return m.opts.Target.Kind == backend.GPU }

// copyOf is a copy of what an entry reaches, or of all functions where there is no such entry.
func (m *Module) copyOf(entry string) *ir.Module {
	part := &ir.Module{Name: m.IR().Name, Funcs: m.calls().Reached(entry)}
	if part.Funcs == nil {
		part = m.IR()
	}
	return part.Clone()
}

// Fused is the module of one entry after all passes on tensor IR: every computation is in a kernel.
// bind gives values to shape parameters; those it leaves out stay symbolic.
func (m *Module) Fused(entry string, bind map[string]int64) (*ir.Module, error) {
	code := m.copyOf(entry)
	opts := passes.Options{}
	if m.opts.Debug.Passes != nil {
		opts = *m.opts.Debug.Passes
	}
	err := passes.Run(code, m.passes(entry, bind), opts)
	var broken *passes.BindError
	if errors.As(err, &broken) { // where nothing may ever go
		code = m.copyOf(entry)
		if passes.Settle(code, entry, bind) == nil {
			list := passes.Standard(entry, nil)
			if m.opts.Ranks.Size > 1 && m.opts.Ranks.Cut != nil { // who calls has parts
				list = passes.Distributed(entry, nil, m.opts.Ranks)
			}
			err = passes.Run(code, list, opts)
		}
	}
	if err != nil {
		return nil, err
	}
	return code, nil
}

// passes are those of an entry, which make the program of a rank where there are several. On devices, which exchange
// nothing yet, every rank computes everything.
func (m *Module) passes(entry string, bind map[string]int64) []passes.Pass {
	if f := m.IR().Func(entry); m.opts.Ranks.Size > 1 && !m.onDevice() && f != nil && len(bind) == len(f.Dims) {
		return passes.Distributed(entry, bind, m.opts.Ranks)
	}
	list := passes.Standard(entry, bind)
	if m.onDevice() {
		list = slices.DeleteFunc(list, func(p passes.Pass) bool { return p.OnCPU })
	}
	return list
}

// Kernels lowers an entry to kernels and the plan that runs them. strides are those of the arguments, in
// elements; nil means that all are row-major.
func (m *Module) Kernels(entry string, bind map[string]int64, strides [][]int64) (*kernel.Module, error) {
	_, km, err := m.kernels(entry, bind, bufferize.ConstantStrides(strides))
	return km, err
}

// kernels is Kernels for strides that may be shape parameters of their own. It also returns the function as the
// passes left it, whose types have the values of bind.
func (m *Module) kernels(entry string, bind map[string]int64, strides [][]types.Dim) (*ir.Func, *kernel.Module, error) {
	done := m.opts.Debug.Timer.Stage("passes")
	code, err := m.Fused(entry, bind)
	done()
	if err != nil {
		return nil, nil, err
	}
	defer m.opts.Debug.Timer.Stage("bufferize")()
	km, err := bufferize.Lower(code, entry, bufferize.Options{InputStrides: strides, Teams: m.onDevice()})
	if err != nil {
		return nil, nil, err
	}
	return code.Func(entry), km, m.dump(km)
}

// dump writes what the stages after the passes make to where HEAL_DUMP says.
func (m *Module) dump(km *kernel.Module) error {
	p := m.opts.Debug.Passes
	if p == nil || p.Dump == nil {
		return nil
	}
	if err := p.Dump.Write("bufferize", "kernels", km.String()); err != nil {
		return err
	}
	if m.onDevice() {
		text, _, err := gpu.Generate(km, m.opts.Target.CPU, false)
		if err != nil {
			return err
		}
		return p.Dump.Write("nvptx", "ll", text)
	}
	text, err := llvm.Generate(km, llvm.Options{})
	if err != nil {
		return err
	}
	return p.Dump.Write("llvm", "ll", text)
}

// Artifact compiles kernels to machine code, or to PTX for a device, or takes it from the cache.
func (m *Module) Artifact(km *kernel.Module) (*codegen.Artifact, error) {
	art, _, err := m.artifact(km)
	return art, err
}

// artifact is Artifact with the key in the cache, "" when nothing is kept there.
func (m *Module) artifact(km *kernel.Module) (art *codegen.Artifact, key string, err error) {
	if len(km.Kernels) == 0 {
		return &codegen.Artifact{Plan: km.Plan}, "", nil
	}
	km = transform.Share(km)
	t := m.opts.Target
	debug := m.opts.Debug
	sets, err := m.Sets(km)
	if err != nil {
		return nil, "", err
	}
	opts := llvm.Options{Tuned: sets, Efforts: m.efforts(km), Took: debug.Timer.took(), Profile: debug.Profile,
		Reschedule: debug.Reschedule, Observer: debug.Observer, Memo: debug.Memo, Unwind: true,
		Lines: jitinfo.WantsLines()}
	kept := m.opts.Cache
	if debug.seen() || opts.Lines { // the cache does not look at lines
		kept = nil
	}
	if kept != nil {
		defer m.opts.Debug.Timer.Stage("codegen")()
		var text strings.Builder
		if err := kernel.Print(&text, km); err != nil {
			return nil, "", err
		}
		plan, err := json.Marshal(km.Plan) // it is kept, too, and its text form is for people
		if err != nil {
			return nil, "", err
		}
		efforts := ""
		for _, k := range km.Kernels {
			efforts += opts.Efforts[k.Name].String() + " "
		}
		key = m.key(efforts, text.String(), string(plan), tuned.Text(sets))
		if art := kept.Load(key); art != nil {
			return art, key, nil
		}
	} else {
		defer m.opts.Debug.Timer.Stage("codegen")()
	}
	art = &codegen.Artifact{Plan: km.Plan}
	switch {
	case m.onDevice():
		art.PTX, err = gpu.CompileWith(km, t, libllvm.Assembly,
			gpu.Options{Quick: m.opts.Once && llvm.EffortFor(km) != llvm.Full, Took: opts.Took,
				Profile: debug.Profile, Observer: debug.Observer})
	case m.byKernel(kept):
		art.Objects, err = m.sharedObjects(km, kept, opts)
	default:
		art.Objects, err = llvm.Objects(km, t, opts)
	}
	if err != nil {
		return nil, "", err
	}
	kept.Store(key, art)
	return art, key, nil
}

// Sets are the numbers of single kernels in place of those of the profile, by the names of kernels, as Options.Tuned
// has them. The error is a *tuned.MissingError.
func (m *Module) Sets(km *kernel.Module) (map[string]tuned.Set, error) {
	if m.onDevice() || m.opts.Tuned == nil && !m.opts.RequireTuned {
		return nil, nil
	}
	use := m.opts.Tuned.Use(km, tuned.ProcessorOf(m.opts.Target))
	if m.opts.RequireTuned {
		if err := use.All(m.opts.Tuned); err != nil {
			return nil, err
		}
	}
	return use.Sets(), nil
}

// key is that of code for the target, which depends on these texts and on nothing else that may change.
func (m *Module) key(texts ...string) string {
	t := m.opts.Target
	return cache.Key(append([]string{identity.Build(), libllvm.Identity(), identity.Host(), profile.Host().Changed(),
		t.Kind, t.Triple, t.CPU, t.Features}, texts...)...)
}

// callKey is the key of the code of an entry for arguments of these shapes and strides by what it is made of: the text
// of the program, and not its kernels, which take long to find out. It is "" where nothing is kept, or the stages are
// to be seen.
func (m *Module) callKey(entry string, bind map[string]int64, strides [][]int64) string {
	if m.opts.Cache == nil || m.texts == "" || m.opts.Debug.Passes != nil || m.opts.Debug.seen() {
		return ""
	}
	shape, err := json.Marshal([]any{bind, strides, m.opts.Ranks}) // maps are sorted
	if err != nil {
		return ""
	}
	return m.key("call", m.texts, entry, string(shape), strconv.FormatBool(m.opts.Once),
		strconv.FormatBool(m.opts.Debug.Vectors), m.opts.Tuned.Digest(), strconv.FormatBool(m.opts.RequireTuned))
}

// efforts is what making machine code of each kernel is worth.
func (m *Module) efforts(km *kernel.Module) map[string]llvm.Effort {
	if !m.opts.Once {
		return map[string]llvm.Effort{} // all of them are worth everything
	}
	out := llvm.EffortsFor(km)
	if m.opts.Debug.Vectors {
		for k, e := range out {
			out[k] = min(e, llvm.Quick)
		}
	}
	return out
}

// BuildAnyShape makes machine code of an entry for any shape and any strides, as libraries have it, or takes it from
// the cache.
func (m *Module) BuildAnyShape(entry string) (*codegen.Artifact, error) {
	f, _, err := m.Find(entry)
	if err != nil {
		return nil, err
	}
	_, km, err := m.kernels(entry, nil, freeStrides(f))
	if err != nil {
		return nil, m.ofShapes(err, entry, nil)
	}
	return m.Artifact(km)
}

// ofShapes is err, a *runtime.RuntimeError where values of the program depend on the shapes and fail. The place and the
// shape parameters are those of the program as it is written: passes find the errors in another order, in a function
// that is part of another one by then.
func (m *Module) ofShapes(err error, entry string, bind map[string]int64) error {
	var b *passes.BindError
	if errors.As(err, &b) {
		errors.As(passes.Settle(m.copyOf(entry), entry, bind), &b)
		return &runtime.RuntimeError{Site: kernel.SiteAt(b.Span), Message: b.Error()}
	}
	return err
}

// Build makes machine code of an entry for arguments of these strides and values of the shape parameters, or takes it
// from the cache. The error is a *runtime.RuntimeError where values of the program depend on the shapes and fail.
func (m *Module) Build(entry string, bind map[string]int64, strides [][]int64) (*codegen.Artifact, error) {
	call := m.callKey(entry, bind, strides)
	found := m.opts.Debug.Timer.Stage("from cache")
	if art := m.opts.Cache.Same(call); art != nil {
		found()
		return art, nil
	}
	km, err := m.Kernels(entry, bind, strides)
	if err != nil {
		return nil, m.ofShapes(err, entry, bind)
	}
	art, key, err := m.artifact(km)
	if err != nil {
		return nil, err
	}
	m.opts.Cache.Name(call, key)
	return art, nil
}
