package gpu_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm/libllvm"
	"healc/passes"
	"healc/passes/bufferize"
	"healc/runtime/device/ptxas"
	"healc/tests/random"
)

var (
	compiling = regexp.MustCompile(`Compiling entry function '([^']+)'`)
	registers = regexp.MustCompile(`Used (\d+) registers`)
	spills    = regexp.MustCompile(`(\d+) bytes spill stores`)
)

// assemble gives the registers and the bytes of spills of each entry, a line each.
func assemble(t *testing.T, assembler, ptx, arch string) string {
	t.Helper()
	out, err := ptxas.Run(t, assembler, ptx, arch, "-v")
	if err != nil {
		t.Fatalf("ptxas: %v\n%s\n%s", err, out, ptx)
	}
	var lines []string
	entry, spill := "", ""
	for _, line := range strings.Split(out, "\n") {
		if m := compiling.FindStringSubmatch(line); m != nil {
			entry = m[1]
		} else if m := spills.FindStringSubmatch(line); m != nil {
			spill = m[1]
		} else if m := registers.FindStringSubmatch(line); m != nil && entry != "" {
			lines = append([]string{fmt.Sprintf("%s %s: %s registers, %s bytes of spills", arch, entry, m[1], spill)},
				lines...)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestAssembler: ptxas takes the standard kernels, spills nothing, and want/ptxas says how many registers they need.
func TestAssembler(t *testing.T) {
	assembler := ptxas.Find(t)
	lib, err := libllvm.Open()
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command(assembler, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.HasPrefix(lib.Version(), goldenLLVM) && strings.Contains(string(version), "release 12.4")
	for _, a := range archives(t) {
		t.Run(a.name, func(t *testing.T) {
			got := ""
			for _, arch := range []string{"sm_80", "sm_90"} {
				ptx, _ := standard(t, a.text["in.heal"], a.text["bind"], arch, false)
				got += assemble(t, assembler, ptx, arch)
			}
			t.Logf("\n%s", got)
			for line := range strings.Lines(got) {
				if !strings.Contains(line, ", 0 bytes of spills") {
					t.Errorf("registers are spilled: %s", line)
				}
			}
			if !recorded || got == a.text["want/ptxas"] {
				return
			}
			if !*update {
				t.Fatalf("want/ptxas of %s differs (-update):\n%s", a.file, got)
			}
			a.set("want/ptxas", got)
			a.write(t)
		})
	}
}

// TestAssemblerTakesRandomPrograms: ptxas takes whatever is generated.
func TestAssemblerTakesRandomPrograms(t *testing.T) {
	assembler := ptxas.Find(t)
	for i := range uint64(*seeds) {
		p := random.New(*seed+i, map[string]int{})
		pipeline := passes.Standard("", nil)
		if i%2 == 0 {
			pipeline = passes.Standard("f", p.Bind)
		}
		m := p.IR.Clone()
		if passes.Run(m, pipeline, passes.Options{}) != nil {
			continue // shapes that the caller must not bind
		}
		km, err := bufferize.Lower(m, "f", bufferize.Options{Teams: true})
		if err != nil || len(km.Kernels) == 0 {
			continue
		}
		arch := gpu.Architectures[i%uint64(len(gpu.Architectures))].Name
		ptx, err := gpu.Compile(km, codegen.Target{Kind: "gpu", CPU: arch}, libllvm.Assembly)
		if err != nil {
			t.Fatalf("seed %d: %v", p.Seed, err)
		}
		assemble(t, assembler, string(ptx), arch)
	}
}
