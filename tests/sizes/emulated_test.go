package sizes

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/tests/devices"
	"healc/tests/emulated"
	"healc/tests/library"
	"healc/tests/random"
	"healc/tests/sample"
)

// TestAArch64 compiles every program for any size and strides for AArch64, and runs it under qemu. With -short it is a
// fifth of them, another one every day.
func TestAArch64(t *testing.T) {
	machine, err := emulated.AArch64.Start(t.TempDir())
	var missing *emulated.Missing
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, machine)
	onMachine(t, machine, codegen.Target{Triple: emulated.AArch64.Triple, CPU: "generic"}, 11)
}

// TestSplit does so for what is generated for processors with AVX-512, one of them every day, of the instructions that
// this machine has: Note [Emulated vectors] in codegen/llvm. TestEachSize has some of these for sizes that are known.
func TestSplit(t *testing.T) {
	cpus := devices.Split(t)
	if len(cpus) == 0 {
		t.Skip("this machine has AVX-512, or no AVX2")
	}
	if turn := sample.Today(t) % len(cpus); !sample.All() {
		cpus = cpus[turn : turn+1]
	}
	machine, err := emulated.Here.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, machine)
	for _, cpu := range cpus {
		t.Run(cpu, func(t *testing.T) { onMachine(t, machine, codegen.Target{CPU: cpu}, 7) })
	}
}

// TestAVX512 does so for processors with AVX-512, in an emulator (docs/testing.md).
func TestAVX512(t *testing.T) {
	machine := emulated.PC(t)
	for _, cpu := range emulated.PCProcessors {
		t.Run(cpu, func(t *testing.T) { onMachine(t, machine, codegen.Target{CPU: cpu}, 7) })
	}
}

func closed(t *testing.T, m *emulated.Machine) {
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// onMachine runs programs for a target, for each so many of the sizes.
func onMachine(t *testing.T, machine *emulated.Machine, target codegen.Target, every int) {
	m := compile(t, engine.Options{Threads: 1})
	defer m.Close()
	names := m.Names()
	if testing.Short() {
		names, every = thinned(names, sample.Today(t), 5), 97
	}
	l, err := m.Library("t", names, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l.Target = target
	lib, err := machine.Library(l)
	if err != nil {
		t.Fatal(err)
	}
	interp := compile(t, engine.Options{Backend: heal.Interp})
	for i, name := range names {
		f := m.IR().Func(name)
		for k, n := range sizes(every) {
			if n > 2048 && k%4 > 0 {
				continue // emulators are slow
			}
			seed := uint64(n)<<8 + uint64(i)
			bind := map[string]int64{"N": n, "M": small(n, int64(i))}
			input := arguments(f, n, bind["M"], seed)
			want := run(t, interp, name, input, seed)
			th := threads[(i+k)%len(threads)]
			args, err := library.Arguments(input, seed)
			if err != nil {
				t.Fatal(err)
			}
			got, err := random.OutcomeOf(lib.Run(name, bind, args, th))
			if err != nil {
				t.Fatalf("%s, N = %d: %v", name, n, err)
			}
			if d := random.Diff(want, got); d != "" {
				t.Errorf("%s, N = %d, %d threads, seed %d: %s", name, n, th, seed, d)
			}
			library.Close(args)
		}
	}
}

var prebuilt = flag.String("prebuilt", "", "a shared library of all programs, for TestPrebuilt")

// TestAArch64Library links a shared library for AArch64, without a C library of it, and runs this test there, under
// qemu.
func TestAArch64Library(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds healc for AArch64")
	}
	m := compile(t, engine.Options{Threads: 1})
	defer m.Close()
	l, err := m.Library("t", m.Names(), func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := emulated.AArch64.Usable(); err != nil {
		t.Skip(err)
	}
	if _, err := aot.FindLinker(emulated.AArch64.Triple); err != nil {
		t.Skip(err)
	}
	l.Target.Triple = emulated.AArch64.Triple
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := aot.Link(objects, "t", "t.so", l.Target.Triple)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "t.so")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := emulated.AArch64.Go(filepath.Join(dir, "test"), "test", "-c", "healc/tests/sizes"); err != nil {
		t.Fatal(err)
	}
	cmd, err := emulated.AArch64.Command(filepath.Join(dir, "test"), "-test.run", "^TestPrebuilt$", "-test.v",
		"-prebuilt", path)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestPrebuilt") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPrebuilt runs a library that is there.
func TestPrebuilt(t *testing.T) {
	if *prebuilt == "" {
		t.Skip("TestAArch64Library runs it in an emulator")
	}
	m := compile(t, engine.Options{Backend: heal.Interp})
	defer m.Close()
	l, err := m.Library("t", m.Names(), func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	lib, err := library.Open(*prebuilt, "t")
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	if ok, err := lib.UseCPU("generic"); err != nil || !ok {
		t.Fatalf("the library has no code for any processor of the kind: %v", err)
	}
	inLibrary(t, m, lib, l.Entries, []string{"generic"}, fixed(0, 1, 37, 130))
}
