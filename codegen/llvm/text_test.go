package llvm

import (
	"os"
	"path/filepath"
	"testing"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/value"
	"github.com/rogpeppe/go-internal/txtar"

	"healc/codegen"
	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/lang/diag"
)

// printed keeps what the library prints of a module.
type printed struct{ text string }

func (p *printed) Block(*lir.Block)                    {}
func (p *printed) Peephole(string, *lir.Block)         {}
func (p *printed) Module(m *lir.Module)                { p.text = m.String() }
func (p *printed) Arm(string, *lir.Block, value.Value) {}

// TestText: the text of a module is what the library prints, for kernels that have each kind of schedule.
func TestText(t *testing.T) {
	files, err := filepath.Glob("../schedule/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, cpu := range []string{"sapphirerapids", "x86-64-v3", "x86-64"} {
			for _, effort := range []Effort{Full, Quick, Least} {
				km, errs := kernel.Parse(diag.NewFile(file, string(txtar.Parse(data).Files[0].Data)))
				if errs.Err() != nil {
					t.Fatal(errs)
				}
				var want printed
				got, err := Generate(km, Options{Effort: effort, Observer: &want,
					Machine: target.MachineOf(codegen.Target{Triple: "x86_64-linux-gnu", CPU: cpu})})
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				if got != want.text {
					t.Errorf("%s for %s: the text is not what the library prints:\n%s\nand not\n%s", file, cpu, got,
						want.text)
				}
			}
		}
	}
}
