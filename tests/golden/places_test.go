package golden

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/value"
	"github.com/rogpeppe/go-internal/txtar"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/codegen/target"
	"healc/internal/backend"
	"healc/internal/pipeline"
	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/passes"
	"healc/runtime/abi"
	"healc/tests/sample"
)

// places counts, by stages, what knows where in the source it comes from, and what does not.
type places struct {
	file string // of the program
	all  map[string]int
	none map[string]int    // by the stage and what it is
	seen map[string]string // where the first of each is
}

// is counts something. What stands in another file than the program's, such as the library's, has to know who called.
func (p *places) is(stage, what, where string, at diag.Span, called bool) {
	p.has(stage, what, where, at.Valid() && (!called || at.File.Name == p.file || at.Caller != nil))
}

func (p *places) has(stage, what, where string, placed bool) {
	p.all[stage]++
	if placed {
		return
	}
	key := stage + ": " + what
	if p.none[key] == 0 {
		p.seen[key] = where
	}
	p.none[key]++
}

// tensors counts the operations of tensor IR. entry is the function in which all others are inlined already, "" before
// that.
func (p *places) tensors(stage string, m *ir.Module, entry string) {
	for _, f := range m.Funcs {
		p.is(stage, "a function", f.Name, f.Span, false)
		ir.Walk(f.Body, func(op *ir.Op) { p.is(stage, op.Def.Name, f.Name, op.Span, f.Name == entry) })
	}
}

// kernels counts the scalars of kernels.
func (p *places) kernels(km *kernel.Module) {
	body := func(name string, b *kernel.Block, source kernel.Source) {
		b.Walk(func(s kernel.Stmt) {
			kernel.Visitor{Define: func(r *kernel.Ref) {
				p.is("kernels", fmt.Sprintf("%T", s), name, source.At(*r), true)
			}}.Stmt(s)
		})
	}
	for _, k := range km.Kernels {
		for _, a := range k.Axes {
			p.is("kernels", "an axis", k.Name, k.Source.At(a.Var), true)
		}
		body(k.Name, k.Body, k.Source)
	}
	for _, f := range km.Funcs {
		body(f.Name, f.Body, f.Source)
	}
}

// steps counts the steps of the plan.
func (p *places) steps(t *testing.T, km *kernel.Module) {
	if len(km.Steps) != len(km.Plan.Funcs) {
		t.Fatalf("%s: places of %d functions for %d", p.file, len(km.Steps), len(km.Plan.Funcs))
	}
	for i, f := range km.Plan.Funcs {
		n := 0
		abi.EachStep(f.Steps, func(s *abi.Step) {
			if n < len(km.Steps[i]) {
				p.is("steps", stepKind(s), f.Name, km.Steps[i][n], true)
			}
			if l := s.Launch; l != nil && n < len(km.Steps[i]) { // in the order of the steps, and not in another
				p.launch(t, km, l.Kernel, km.Steps[i][n])
			}
			n++
		})
		if n != len(km.Steps[i]) {
			t.Errorf("%s: %d places for the %d steps of %s", p.file, len(km.Steps[i]), n, f.Name)
		}
	}
}

// launch checks that a kernel has something of the line of its launch.
func (p *places) launch(t *testing.T, km *kernel.Module, name string, at diag.Span) {
	i := slices.IndexFunc(km.Kernels, func(k *kernel.Kernel) bool { return k.Name == name })
	if !slices.ContainsFunc(km.Kernels[i].Source, func(of diag.Span) bool {
		return of.Valid() && at.Valid() && of.File == at.File && of.Pos().Line == at.Pos().Line
	}) {
		t.Errorf("%s: %s has nothing of line %d, where it is launched", p.file, name, at.Pos().Line)
	}
}

// stepKind is the name of the field of a step that is set.
func stepKind(s *abi.Step) string {
	v := reflect.ValueOf(*s)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			return v.Type().Field(i).Name
		}
	}
	return "nothing"
}

// Block, Peephole and Arm are for llvm.Observer, and see nothing.
func (p *places) Block(*lir.Block)                    {}
func (p *places) Peephole(string, *lir.Block)         {}
func (p *places) Arm(string, *lir.Block, value.Value) {}

// ownCode are the functions of LLVM IR that are a kernel's or a scalar function's own. Others are for kernels of any
// lines: folds, sorts, transforms, remainders; on a device, also the loops whose steps are kernels.
var ownCode = regexp.MustCompile(`^(k\d+_.*|fn\..*)$`)

// Module counts the instructions of LLVM IR that are of kernels.
func (p *places) Module(m *lir.Module) {
	for _, f := range m.Funcs {
		if !ownCode.MatchString(f.Name()) {
			continue
		}
		for _, b := range f.Blocks {
			for _, x := range b.Insts {
				what := fmt.Sprintf("%T", x)
				if c, ok := x.(*lir.InstCall); ok && isBody(f, c) {
					what = bodyCall
				}
				p.has("llvm", what, f.Name(), placed(x))
			}
			p.has("llvm", fmt.Sprintf("%T", b.Term), f.Name(), placed(b.Term))
		}
	}
}

// device counts the instructions of kernels for devices, each of which is a line of its text.
func (p *places) device(text string) {
	name := ""
	for line := range strings.Lines(text) {
		if m := defined.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if line[0] == '\t' && ownCode.MatchString(name) {
			p.has("device", strings.TrimSpace(line), name, strings.Contains(line, "!dbg "))
		}
	}
}

var defined = regexp.MustCompile(`^define .*@([^ (]*)\(`)

// bodyCall is the one instruction of a kernel that has no place: the call by which its body is inlined in it.
const bodyCall = "the call of a body"

func isBody(f *lir.Func, c *lir.InstCall) bool {
	g, ok := c.Callee.(*lir.Func)
	return ok && g.Name() == f.Name()+".body"
}

// placed reports that an instruction has a `!dbg`.
func placed(x any) bool {
	m, ok := x.(interface{ MDAttachments() []*metadata.Attachment })
	return ok && slices.ContainsFunc(m.MDAttachments(), func(a *metadata.Attachment) bool { return a.Name == "dbg" })
}

// TestPlaces: all operations of tensor IR, after each pass, all scalars of kernels, all steps of plans and all
// instructions of kernels in LLVM IR, for processors and for devices, know where in the source they come from, and what
// is of the library knows who called it.
func TestPlaces(t *testing.T) {
	p := &places{all: map[string]int{}, none: map[string]int{}, seen: map[string]string{}}
	const parts = 12
	day, number := sample.Today(t), 0
	each := func(pattern string, do func(path string)) {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			if number++; sample.Has(day, number, parts) {
				do(file)
			}
		}
	}
	for _, pattern := range []string{"../../examples/*.heal", "../../examples/*/*.heal", "../programs/*.heal"} {
		each(pattern, func(path string) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p.program(t, path, string(text), nil)
		})
	}
	for _, pattern := range []string{"*/*.txtar", "*/*/*.txtar"} {
		each(pattern, func(path string) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if j, err := readJob(a, path); err != nil {
				t.Fatal(err)
			} else if j.name == "in.heal" {
				p.program(t, path, j.input, j.bind)
			}
		})
	}
	for _, stage := range []string{"irgen", "inline", "fuse", "kernels", "steps", "llvm", "device"} {
		if p.all[stage] == 0 {
			t.Errorf("%s: nothing was counted", stage)
		}
	}
	if p.none["llvm: "+bodyCall] == 0 {
		t.Error("no kernel has lines")
	}
	delete(p.none, "llvm: "+bodyCall)
	for _, key := range slices.Sorted(maps.Keys(p.none)) {
		t.Errorf("%s: %d without a place, such as in %s", key, p.none[key], p.seen[key])
	}
}

// program counts in a program, if it is one that can be compiled by itself.
func (p *places) program(t *testing.T, path, text string, bind map[string]int64) {
	p.file = path
	src, err := pipeline.Read(diag.NewFile(path, text), pipeline.ReadOptions{})
	if err != nil { // a mistake that is to be shown
		return
	}
	p.tensors("irgen", src.IR, "")
	m := pipeline.New(src, pipeline.Options{})
	entry := func(f *ir.Func) bool { return f.Public || f.Name == "main" }
	all := !slices.ContainsFunc(src.IR.Funcs, entry)
	for _, f := range src.IR.Funcs {
		if !all && !entry(f) || f.Span.File.Name != path {
			continue
		}
		var list []passes.Pass
		inlined := ""
		for _, pass := range passes.Standard(f.Name, bind) {
			counted := pass
			counted.Run = func(m *ir.Module, remark passes.Remark) error {
				err := pass.Run(m, remark)
				if pass.Name == "inline" {
					inlined = f.Name
				}
				p.tensors(pass.Name, m, inlined)
				return err
			}
			list = append(list, counted)
		}
		if err := passes.Run(src.IR.Clone(), list, passes.Options{}); err != nil {
			continue // for shapes that are not given
		}
		km, err := m.Kernels(f.Name, bind, nil)
		if err != nil {
			continue
		}
		p.kernels(km)
		p.steps(t, km)
		if _, err := llvm.Generate(km, llvm.Options{Lines: true, Observer: p,
			Machine: target.MachineOf(codegen.Target{CPU: "znver4", Triple: "x86_64-linux-gnu"})}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		onDevice := pipeline.New(src, pipeline.Options{Target: codegen.Target{Kind: backend.GPU}})
		if km, err = onDevice.Kernels(f.Name, bind, nil); err != nil {
			continue
		}
		var unsupported *codegen.Unsupported
		text, _, err := gpu.Generate(km, gpu.DefaultArch, true)
		if err != nil && !errors.As(err, &unsupported) {
			t.Errorf("%s for a device: %v", path, err)
		}
		p.device(text)
	}
}
