package gpu_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/ir/kernel"
	"healc/runtime/abi"
)

var update = flag.Bool("update", false, "rewrite want/facts and want/ptx")

// goldenLLVM is the version whose PTX the archives have.
const goldenLLVM = "19."

// archive is a standard kernel: testdata/NAME.txtar.
type archive struct {
	*txtar.Archive
	name, file string
	text       map[string]string // of the files in it
}

// archives are the standard kernels.
func archives(t *testing.T) []archive {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	var all []archive
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := map[string]string{}
		for _, f := range a.Files {
			text[f.Name] = string(f.Data)
		}
		all = append(all, archive{a, strings.TrimSuffix(filepath.Base(file), ".txtar"), file, text})
	}
	return all
}

// set changes a file of the archive, or adds it.
func (a archive) set(name, text string) {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		i, a.Files = len(a.Files), append(a.Files, txtar.File{Name: name})
	}
	a.Files[i].Data = []byte(text)
}

// write writes the archive where it was read.
func (a archive) write(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(a.file, txtar.Format(a.Archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestGolden compiles the standard kernels testdata/NAME.txtar for sm_80. The first line says what is shown; want/facts
// has the launches and what is in each entry, want/ptx, where there is one, the text.
func TestGolden(t *testing.T) {
	lib, err := libllvm.Open()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(lib.Version(), goldenLLVM) {
		t.Skipf("the archives are of LLVM %s, this is %s", goldenLLVM, lib.Version())
	}
	for _, a := range archives(t) {
		t.Run(a.name, func(t *testing.T) {
			ptx, dev := standard(t, a.text["in.heal"], a.text["bind"], "sm_80", false)
			for name, got := range map[string]string{"want/facts": facts(ptx, dev), "want/ptx": ptx} {
				want, there := a.text[name]
				switch {
				case !there || got == want:
				case *update:
					a.set(name, got)
				default:
					t.Errorf("%s of %s differs (go test ./codegen/gpu -run Golden -update):\n%s", name, a.file, got)
				}
			}
			if *update {
				a.write(t)
			}
		})
	}
}

// standardKernels are the kernels of the function f of a source for extents such as "M=3 N=4". done frees them.
func standardKernels(t *testing.T, source, binding string) (km *kernel.Module, done func()) {
	t.Helper()
	m, err := engine.Compile(source, engine.Options{Target: codegen.Target{Kind: "gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	bind := map[string]int64{}
	for _, pair := range strings.Fields(binding) {
		name, value, _ := strings.Cut(pair, "=")
		if bind[name], err = strconv.ParseInt(value, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if km, err = m.Kernels("f", bind, nil); err != nil {
		t.Fatal(err)
	}
	return km, func() { m.Close() }
}

// standard compiles the function f of a source for extents such as "M=3 N=4", with the lines of the source or without.
func standard(t *testing.T, source, binding, arch string, lines bool) (string, *abi.Device) {
	t.Helper()
	km, done := standardKernels(t, source, binding)
	defer done()
	ptx, err := gpu.Compile(km, codegen.Target{Kind: "gpu", CPU: arch, NoLines: !lines}, libllvm.Assembly)
	if err != nil {
		t.Fatal(err)
	}
	return string(ptx), km.Plan.Device
}

// counted are the instructions that facts counts.
var counted = []struct{ name, pattern string }{
	{"ld.global 16 bytes", `ld\.global(\.nc)?\.(v4\.[a-z]32|v2\.[a-z]64)`},
	{"ld.global 8 bytes", `ld\.global(\.nc)?\.(v2\.[a-z]32|v4\.[a-z]16)`},
	{"ld.global single", `ld\.global(\.nc)?\.[a-uw-z]\d`},
	{"st.global 16 bytes", `st\.global\.(v4\.[a-z]32|v2\.[a-z]64)`},
	{"st.global 8 bytes", `st\.global\.(v2\.[a-z]32|v4\.[a-z]16)`},
	{"st.global single", `st\.global\.[a-uw-z]\d`},
	{"ld.shared 16 bytes", `ld\.shared\.(v4\.[a-z]32|v2\.[a-z]64)`},
	{"ld.shared single", `ld\.shared\.[a-uw-z]\d`},
	{"local memory", `(ld|st)\.local`},
	{"barriers", `bar(rier)?[.](sync|red)`},
	{"shuffles", `shfl\.sync`},
	{"fma", `fma\.rn`},
	{"mul.hi", `mul\.hi`},
	{"calls", `call\.uni`},
}

var (
	entryStart = regexp.MustCompile(`\.(?:entry|func) +(?:\([^)]*\) *)?([\w$]+)\(`)
	sharedSize = regexp.MustCompile(`\.shared [^;]*\[(\d+)\]`)
)

// facts are the launches of a program, and counts of instructions in each entry.
func facts(ptx string, dev *abi.Device) string {
	body, last := map[string]string{}, map[string]int{}
	starts := entryStart.FindAllStringSubmatchIndex(ptx, -1)
	for i, at := range starts {
		end := len(ptx)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		body[ptx[at[2]:at[3]]], last[ptx[at[2]:at[3]]] = ptx[at[0]:end], i
	}
	literal := func(e abi.Extent) int64 {
		n, _ := e.Dim.Const()
		return (n + max(e.Div, 1) - 1) / max(e.Div, 1)
	}
	var out strings.Builder
	for i, at := range starts {
		name := ptx[starts[i][2]:at[3]]
		if !strings.Contains(body[name], "{") || i < last[name] {
			continue // a declaration
		}
		if strings.HasPrefix(ptx[at[0]:], ".func") {
			fmt.Fprintf(&out, "%s: a function\n", name)
		}
		if strings.HasPrefix(name, "loop") && !strings.Contains(name, "$") {
			fmt.Fprintf(&out, "%s: a loop in one block\n", name)
		}
		for _, k := range dev.Kernels {
			for _, l := range k.Launches {
				if l.Entry == name {
					fmt.Fprintf(&out, "%s: %d blocks of %d threads\n", name, l.Blocks(literal), l.Threads)
				}
			}
		}
		shared := 0
		for _, m := range sharedSize.FindAllStringSubmatch(body[name], -1) {
			n, _ := strconv.Atoi(m[1])
			shared += n
		}
		if shared > 0 {
			fmt.Fprintf(&out, "  %-20s %d bytes\n", "shared memory", shared)
		}
		for _, c := range counted {
			if n := len(regexp.MustCompile(c.pattern).FindAllString(body[name], -1)); n > 0 {
				fmt.Fprintf(&out, "  %-20s %d\n", c.name, n)
			}
		}
	}
	return out.String()
}
