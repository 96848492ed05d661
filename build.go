package heal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/codegen/llvm/libllvm"
	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/passes"
	"healc/passes/bufferize"
	"healc/runtime"
)

// Debug says what to show of the passes and where the time goes.
type Debug struct {
	Passes *passes.Options // nil: nothing is shown, and modules are not verified between passes
	Timer  *Timer          // nil: not measured
	// Vectors says that programs that run briefly get vector code, too: for tests of it.
	Vectors bool
}

// Timer collects how long each stage took.
type Timer struct {
	Names []string
	Times []time.Duration
}

// Stage starts a stage; the returned function ends it. It works on a nil Timer.
func (t *Timer) Stage(name string) func() {
	if t == nil {
		return func() {}
	}
	start := time.Now()
	return func() {
		t.Names, t.Times = append(t.Names, name), append(t.Times, time.Since(start))
	}
}

// part is what the names of the stages of code generation begin with.
const part = "llvm "

// Sum is the time of the stages from number n on. Those of code generation belong to another stage, and do not count.
func (t *Timer) Sum(n int) time.Duration {
	sum := time.Duration(0)
	for i, name := range t.Names[n:] {
		if !strings.HasPrefix(name, part) {
			sum += t.Times[n+i]
		}
	}
	return sum
}

// Took adds to the time of a stage of code generation, which may happen several times.
func (t *Timer) Took(stage string, d time.Duration) {
	name := part + stage
	if i := slices.Index(t.Names, name); i >= 0 {
		t.Times[i] += d
		return
	}
	t.Names, t.Times = append(t.Names, name), append(t.Times, d)
}

// took is Took for the generator; nil for a nil Timer.
func (t *Timer) took() func(string, time.Duration) {
	if t == nil {
		return nil
	}
	return t.Took
}

// Print writes one line a stage.
func (t *Timer) Print(w io.Writer) {
	for i, n := range t.Names {
		fmt.Fprintf(w, "%-13s %8.3f ms\n", n, float64(t.Times[i].Nanoseconds())/1e6)
	}
}

// Fused is the module of one entry after all passes on tensor IR: every computation is in a kernel.
// bind gives values to shape parameters; those it leaves out stay symbolic.
func (m *Module) Fused(entry string, bind map[string]int64) (*ir.Module, error) {
	code := m.ir.Clone()
	opts := passes.Options{}
	if m.opts.Debug.Passes != nil {
		opts = *m.opts.Debug.Passes
	}
	if err := passes.Run(code, passes.Standard(entry, bind), opts); err != nil {
		return nil, err
	}
	return code, nil
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
	km, err := bufferize.Lower(code, entry, bufferize.Options{InputStrides: strides, Teams: m.onDevice() ||
		m.opts.Target.Kind == GPU})
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
		text, _, err := gpu.Generate(km, false)
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
	t := m.target()
	opts := llvm.Options{Efforts: m.efforts(km), Took: m.opts.Debug.Timer.took()}
	if m.opts.Cache != nil {
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
		key = m.key(efforts, text.String(), string(plan))
		if art := m.opts.Cache.load(key); art != nil {
			return art, key, nil
		}
	} else {
		defer m.opts.Debug.Timer.Stage("codegen")()
	}
	art = &codegen.Artifact{Plan: km.Plan}
	if t.Kind == GPU {
		art.PTX, err = gpu.CompileWith(km, t, libllvm.Assembly,
			gpu.Options{Quick: m.opts.Once && llvm.EffortFor(km) != llvm.Full, Took: opts.Took})
	} else {
		art.Objects, err = llvm.Objects(km, t, opts)
	}
	if err != nil {
		return nil, "", err
	}
	m.opts.Cache.store(key, art)
	return art, key, nil
}

// key is that of code for the target of m, which depends on these texts and on nothing else that may change.
func (m *Module) key(texts ...string) string {
	t := m.target()
	return cacheKey(append([]string{buildID(), libllvm.Identity(), hostID(), t.Kind, t.Triple, t.CPU, t.Features},
		texts...)...)
}

// callKey is the key of the code of an entry for arguments of these shapes and strides by what it is made of: the text
// of the program, and not its kernels, which take long to find out. It is "" where nothing is kept, or the stages are
// to be seen.
func (m *Module) callKey(entry string, bind map[string]int64, strides [][]int64) string {
	if m.opts.Cache == nil || m.source == "" || m.opts.Debug.Passes != nil {
		return ""
	}
	shape, err := json.Marshal([]any{bind, strides}) // maps are sorted
	if err != nil {
		return ""
	}
	return m.key("call", m.source, entry, string(shape), strconv.FormatBool(m.opts.Once),
		strconv.FormatBool(m.opts.Debug.Vectors))
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

// build makes machine code of an entry for arguments of these shapes and strides.
func (m *Module) build(entry string, bind map[string]int64, args []*runtime.Tensor) (*runtime.Executable, error) {
	var strides [][]int64
	for _, t := range args {
		strides = append(strides, t.Strides)
	}
	if err := m.checkKernel(entry, bind); err != nil {
		return nil, err
	}
	call := m.callKey(entry, bind, strides)
	found := m.opts.Debug.Timer.Stage("from cache")
	art := m.opts.Cache.same(call)
	if art != nil {
		found()
	} else {
		km, err := m.Kernels(entry, bind, strides)
		if err != nil {
			var b *passes.BindError
			if errors.As(err, &b) {
				return nil, &runtime.RuntimeError{Site: kernel.SiteAt(b.Span), Message: b.Error()}
			}
			return nil, err
		}
		var key string
		if art, key, err = m.artifact(km); err != nil {
			return nil, err
		}
		m.opts.Cache.name(call, key)
	}
	defer m.opts.Debug.Timer.Stage("load")()
	if m.onDevice() {
		return runtime.LoadOn(m.opts.Device, art.Plan, art.PTX)
	}
	return m.Load(art)
}

// Load makes what Artifact gives for a CPU ready to run.
func (m *Module) Load(art *codegen.Artifact) (*runtime.Executable, error) {
	if p, err := Elsewhere(m.opts.Target.CPU); p != nil || err != nil {
		return runtime.LoadAway(p, art.Plan, art.Objects...), err
	}
	return runtime.Load(art.Plan, art.Objects...)
}

// Elsewhere says which processor runs code for a kind of them, as Target.CPU has it, in place of this machine's; a nil
// one is this machine's. Tests put an emulator here, before they compile anything.
var Elsewhere = func(cpu string) (runtime.Processor, error) { return nil, nil }
