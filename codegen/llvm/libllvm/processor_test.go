package libllvm

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// compileFor is what LLVM prints to standard error while this process, started again, compiles for each processor; and
// the names for which it failed.
func compileFor(t *testing.T, triple string, names ...string) (printed, failed string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestProcessorsChild$")
	cmd.Env = append(os.Environ(), "LIBLLVM_TEST_TRIPLE="+triple, "LIBLLVM_TEST_NAMES="+strings.Join(names, " "))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	failed, _, _ = strings.Cut(string(out), "\n")
	return stderr.String(), failed
}

// TestProcessorsChild compiles for TestProcessors.
func TestProcessorsChild(t *testing.T) {
	triple, asked := os.LookupEnv("LIBLLVM_TEST_TRIPLE")
	if !asked {
		t.Skip("it is the child of TestProcessors")
	}
	lib := mustOpen(t)
	var failed []string
	for _, name := range strings.Fields(os.Getenv("LIBLLVM_TEST_NAMES")) {
		o := Options{Triple: triple, CPU: name, Passes: NoPasses}
		if _, err := lib.Compile("define void @f() {\n  ret void\n}\n", o); err != nil {
			failed = append(failed, name)
		}
	}
	os.Stdout.WriteString(strings.Join(failed, " ") + "\n")
}

// TestProcessors: LLVM takes each of the names that stand here, names no others that have 64-bit code, and prints
// nothing for a name that neither knows.
func TestProcessors(t *testing.T) {
	lib := mustOpen(t)
	if !strings.HasPrefix(lib.Version(), "19.") {
		t.Skipf("the names are those of version %d, and this is %s", testedVersion, lib.Version())
	}
	for triple, target := range map[string]string{"x86_64-linux-gnu": "X86", "aarch64-linux-gnu": "AArch64"} {
		p := processors[target]
		if printed, failed := compileFor(t, triple, p.names...); printed != "" || failed != "" {
			t.Errorf("%s: LLVM does not know %q: %s", triple, failed, printed)
		}
		wrong := slices.Concat(p.later, []string{"nope", "X86-64", "x86-64-v5", "cortex", "help"})
		if printed, failed := compileFor(t, triple, wrong...); printed != "" ||
			!slices.Equal(strings.Fields(failed), strings.Fields(strings.Join(wrong, " "))) {
			t.Errorf("%s: of %q, %q fail: %s", triple, wrong, failed, printed)
		}
		_, err := lib.Compile("", Options{Triple: triple, CPU: "nope"})
		var unknown *ProcessorError
		if !errors.As(err, &unknown) || unknown.CPU != "nope" || !slices.Equal(unknown.Names, p.names) {
			t.Errorf("%s: an unknown name: %v", triple, err)
		}
	}
	// What LLVM lists itself, for a name that has this meaning.
	cmd := exec.Command(os.Args[0], "-test.run=^TestProcessorsHelp$")
	cmd.Env = append(os.Environ(), "LIBLLVM_TEST_HELP=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list, _, _ := strings.Cut(string(out), "Available features")
	found := regexp.MustCompile(`(?m)^ +(\S+) +- Select the`).FindAllStringSubmatch(list, -1)
	if len(found) < 60 {
		t.Fatalf("LLVM lists %d names:\n%s", len(found), list)
	}
	for _, m := range found {
		if !slices.Contains(processors["AArch64"].names, m[1]) {
			t.Errorf("%s is missing", m[1])
		}
	}
}

// TestProcessorsHelp has LLVM list its names, for TestProcessors.
func TestProcessorsHelp(t *testing.T) {
	if os.Getenv("LIBLLVM_TEST_HELP") == "" {
		t.Skip("it is the child of TestProcessors")
	}
	lib := mustOpen(t)
	if err := lib.initTarget("aarch64-linux-gnu"); err != nil {
		t.Fatal(err)
	}
	var target handle
	var msg *byte
	if lib.GetTargetFromTriple("aarch64-linux-gnu", &target, &msg) != 0 {
		t.Fatal(lib.take(msg))
	}
	lib.DisposeTargetMachine(lib.CreateTargetMachine(target, "aarch64-linux-gnu", "help", "", 0, 0, 3))
}
