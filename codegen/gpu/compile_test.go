package gpu

import (
	"fmt"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/runtime/abi"
)

// parse reads kernel text and gives it a plan that has nothing but dims.
func parse(t testing.TB, text string) *kernel.Module {
	t.Helper()
	m, errs := kernel.Parse(diag.NewFile("test.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	if m.Plan == nil {
		m.Plan = &abi.Program{Name: m.Name, Dims: m.Dims, Sites: m.Sites}
	}
	return m
}

func compile(t testing.TB, m *kernel.Module, arch string) string {
	t.Helper()
	ptx, err := Compile(m, codegen.Target{Kind: "gpu", CPU: arch}, libllvm.Assembly)
	if err != nil {
		text, _, _ := Generate(m, "", false)
		t.Fatalf("%v\n%s", err, text)
	}
	return string(ptx)
}

const addKernel = `kernels "t"
kernel @add(in x: f32[8, 9], in y: f32[8, 9], out z: f32[8, 9]) over %0 in 0..8, %1 in 0..9 {
  %2: f32 = load x[9*%0 + %1]
  %3: f32 = load y[9*%0 + %1]
  %4: f32 = add %2, %3
  store z[9*%0 + %1], %4
}`

// TestVersions: every processor, with the lowest version of PTX that it needs.
func TestVersions(t *testing.T) {
	for arch, version := range map[string]string{"sm_70": "6.0", "sm_72": "6.1", "sm_75": "6.3", "sm_80": "7.0",
		"sm_86": "7.1", "sm_87": "7.4", "sm_89": "7.8", "sm_90": "7.8"} {
		ptx := compile(t, parse(t, addKernel), arch)
		for _, want := range []string{".version " + version + "\n", ".target " + arch + "\n", ".visible .entry add(",
			"add.rn.f32"} {
			if !strings.Contains(ptx, want) {
				t.Errorf("%s: no %q in\n%s", arch, want, ptx)
			}
		}
	}
	for _, bad := range []string{"sm_60", "znver3", "sm_7"} {
		_, err := Compile(parse(t, addKernel), codegen.Target{Kind: "gpu", CPU: bad}, libllvm.Assembly)
		if err == nil || !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), "sm_70, sm_72") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	if _, err := architecture("sm_90", "15"); err == nil || !strings.Contains(err.Error(), "needs libLLVM 16") {
		t.Errorf("sm_90 with LLVM 15: error %v", err)
	}
}

// TestManyParameters: an entry has room for 510 buffers, for 4093 in the version of PTX that needs a newer driver, and
// for no more.
func TestManyParameters(t *testing.T) {
	for _, n := range []int{510, 511, 4093, 4094} {
		var ps, body strings.Builder
		for i := range n {
			fmt.Fprintf(&ps, "out y%d: f32[4], ", i)
			fmt.Fprintf(&body, "  store y%d[%%0], %%1\n", i)
		}
		m := parse(t, fmt.Sprintf("kernels \"t\"\nkernel @f(%s) over %%0 in 0..4 {\n  %%1: f32 = const 1.0\n%s}",
			strings.TrimSuffix(ps.String(), ", "), body.String()))
		ptx, err := CompileWith(m, codegen.Target{Kind: "gpu"}, libllvm.Assembly, Options{Quick: true})
		if n > 4093 {
			if _, ok := err.(*codegen.Unsupported); !ok {
				t.Errorf("%d outputs: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if newer := strings.Contains(string(ptx), ".version 8.1"); newer != (n > 510) {
			t.Errorf("%d outputs: PTX 8.1 is %v", n, newer)
		}
	}
}

// TestChecksInPlace: a kernel that overwrites what it reads before a check that can fail does its checks first.
func TestChecksInPlace(t *testing.T) {
	const text = `kernels "t"
site 0 "index" at "f.heal":1:2 op "index" text "a[i]"
kernel @k(inplace y: i64[4, 8], in x: i64[8]) over %%0 in 0..4 {
  %%1: i64 = const 8
  %%2: i64 = loop %%3 in 0..8 carry %%4: i64 = %%1 {
    %%5: i64 = load y[8*%%0 + %%3]
%s
    next %%5
  }
}`
	const store, check = "    store y[8*%0 + %3], %1\n", "    %6: bool = lt %5, %1\n    check index %6, %5, %1 site 0\n"
	for _, body := range []string{check + store, store + check} {
		m := parse(t, fmt.Sprintf(text, body))
		compile(t, m, "")
		var names []string
		for _, l := range m.Plan.Device.Kernels["k"].Launches {
			names = append(names, l.Entry)
		}
		if got := strings.Join(names, " "); got != "k$checks k$report k" {
			t.Errorf("launches %s for\n%s", got, body)
		}
	}
	m := parse(t, strings.ReplaceAll(fmt.Sprintf(text, check), "inplace y", "in y"))
	compile(t, m, "")
	if l := m.Plan.Device.Kernels["k"].Launches; len(l) != 2 || l[0].Entry != "k" {
		t.Errorf("not in place: launches %v", l)
	}
}

// TestTooOld: the versions of LLVM that make right code for some processor.
func TestTooOld(t *testing.T) {
	for version, want := range map[string]bool{"14.0.6": true, "15.0.7": true, "16.0.0": false, "19.1.7": false,
		"": true} {
		if tooOld(version) != want {
			t.Errorf("LLVM %q is too old: %v", version, !want)
		}
	}
}
