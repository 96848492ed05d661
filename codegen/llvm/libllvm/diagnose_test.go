package libllvm

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestErrors(t *testing.T) {
	tests := []struct {
		name, ir string
		options  Options
		stage    Stage
		line     int
		message  string
	}{
		{"syntax", "define void @k() {\n  bogus\n}", Options{}, Parse, 2, "expected instruction opcode"},
		{"types", "define i32 @k(i64 %x) {\n  ret i32 %x\n}", Options{}, Parse, 2,
			"'%x' defined with type 'i64' but expected 'i32'"},
		{"cut off", "define", Options{}, Parse, 1, "expected"},
		{"zero byte", "define void @k() {\x00}", Options{}, Parse, 1, "requires at least one basic block"},
		{"dominance", "define i32 @k() {\n  %x = add i32 %y, 1\n  %y = add i32 %x, 1\n  ret i32 %y\n}", Options{},
			Verify, 0,
			"Instruction does not dominate all uses"},
		{"pipeline", "define void @k() {\n  ret void\n}", Options{Passes: "nonsense"}, Passes, 0,
			"unknown pass name 'nonsense'"},
		{"inline assembly", "define void @k() {\n  call void asm \"bogus\", \"\"()\n  ret void\n}",
			Options{Triple: "x86_64-linux-gnu"}, Emit, 0, "invalid instruction mnemonic 'bogus'"},
		// The last two end the process when nobody handles LLVM's fatal errors.
		{"processor without 64 bits", "define void @k() {\n  ret void\n}",
			Options{Triple: "x86_64-linux-gnu", CPU: "x86-64", Features: "-64bit"}, Emit, 0,
			"64-bit code requested on a subtarget that doesn't support it"},
		{"intrinsic the processor lacks", `declare i32 @llvm.x86.sse42.crc32.32.8(i32, i8)
define i32 @k(i32 %a) {
  %r = call i32 @llvm.x86.sse42.crc32.32.8(i32 %a, i8 1)
  ret i32 %r
}`, Options{Triple: "x86_64-linux-gnu", CPU: "x86-64"}, Emit, 0, "Cannot select"},
	}
	eachVersion(t, func(t *testing.T, lib *Lib) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				_, err := lib.Compile(test.ir, test.options)
				var ce *CompileError
				if !errors.As(err, &ce) {
					t.Fatalf("error is %v, want a *CompileError", err)
				}
				if ce.Stage != test.stage || ce.Line != test.line || !strings.Contains(ce.Message, test.message) {
					t.Errorf("got %+v, want %s at line %d with %q", *ce, test.stage, test.line, test.message)
				}
			})
		}
		// The library works on after all that.
		mustCompile(t, lib, addKernel, Options{OptLevel: 3})
	})
	if _, err := mustOpen(t).Compile(addKernel, Options{OptLevel: 4}); err == nil {
		t.Error("no error for optimisation level 4")
	}
}

func TestCompileErrorText(t *testing.T) {
	e := parseError("ir:12:7: error: expected type\n  foo\n  ^\n")
	if e.Line != 12 || e.Column != 7 || e.Error() != "LLVM parse: line 12:7: expected type\n  foo\n  ^" {
		t.Errorf("%+v prints %q", *e, e.Error())
	}
	if e := parseError("out of luck"); e.Line != 0 || e.Error() != "LLVM parse: out of luck" {
		t.Errorf("%+v prints %q", *e, e.Error())
	}
}

// TestNoLeak compiles many modules, good and bad, and watches the process's memory.
func TestNoLeak(t *testing.T) {
	lib := mustOpen(t)
	// Every thread has a pool of its own in the C library.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	round := func() {
		mustCompile(t, lib, addKernel, Options{OptLevel: 1})
		if _, err := lib.Compile(addKernel+"junk", Options{}); err == nil {
			t.Fatal("no error for junk")
		}
	}
	// The first modules fill LLVM's and the allocator's pools.
	for range 50 {
		round()
	}
	before := residentBytes(t)
	rounds := 200
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		round()
	}
	// The pools still grow by some 8 KB a round (40 KB under the race detector); a context that is not
	// disposed of costs 67 KB, a target machine 530 KB.
	if growth := residentBytes(t) - before; growth > int64(rounds)*50<<10 {
		t.Errorf("memory grew by %d KB over %d modules", growth>>10, rounds)
	}
	n := 0
	diagnoses.Range(func(_, _ any) bool { n++; return true })
	if n != 0 {
		t.Errorf("%d collectors of diagnostics are left", n)
	}
}

// residentBytes is the memory of this process that lies in RAM.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
