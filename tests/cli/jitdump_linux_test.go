package cli_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
)

// TestJitdumpLines: a jitdump has the lines and the unwind table of each kernel before its code. The form is that of
// tools/perf/Documentation/jitdump-specification.txt in the sources of Linux.
func TestJitdumpLines(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	const source = `import nn
@io fn main() -> i32 = {
    let x = tabulate(10, 100, |i, j| (i * 7 + j) as f32);
    print(sum(nn.softmax(
        x + 1.0)));
    0
}
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m.heal"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("healc", "run", "m.heal")
	c.Dir, c.Env = dir, os.Environ()
	setEnv(func(key, value string) { c.Env = append(c.Env, key+"="+value) }, dir)
	c.Env = append(c.Env, "HEAL_PERF=jitdump", "TMPDIR="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dumps, err := filepath.Glob(filepath.Join(dir, "jit-*.dump"))
	if err != nil || len(dumps) != 1 {
		t.Fatal(dumps, err)
	}
	raw, err := os.ReadFile(dumps[0])
	if err != nil {
		t.Fatal(err)
	}
	order := binary.NativeEndian
	raw = raw[order.Uint32(raw[8:]):]
	const load, debugInfo, unwindInfo = 0, 2, 4
	var table []byte // for the code that comes
	type row struct{ addr, line uint64 }
	lines := map[uint64][]row{} // of the code at an address, where they came before it
	files := map[string]bool{}
	used := map[string]map[uint64]bool{} // lines of each file
	kernels := map[string]bool{}         // which have lines
	for len(raw) > 0 {
		record := raw[:order.Uint32(raw[4:])]
		raw = raw[len(record):]
		switch order.Uint32(record) {
		case debugInfo:
			addr, n, rest := order.Uint64(record[16:]), order.Uint64(record[24:]), record[32:]
			for range n {
				at, line := order.Uint64(rest), order.Uint32(rest[8:])
				name, after, _ := bytes.Cut(rest[16:], []byte{0})
				rest = after
				file := filepath.Base(string(name))
				files[file] = true
				if used[file] == nil {
					used[file] = map[uint64]bool{}
				}
				used[file][uint64(line)] = true
				lines[addr] = append(lines[addr], row{at, uint64(line)})
			}
			if len(rest) > 0 {
				t.Errorf("%d bytes are left of a record", len(rest))
			}
		case unwindInfo:
			size, index, mapped := order.Uint64(record[16:]), order.Uint64(record[24:]), order.Uint64(record[32:])
			if index != 20 || mapped != 0 || len(record)%8 != 0 || uint64(len(record)-40)-size > 7 {
				t.Errorf("a record of %d bytes has a table of %d, an index of %d, %d in memory", len(record), size,
					index, mapped)
				continue
			}
			table = record[40 : 40+size]
		case load:
			addr, size := order.Uint64(record[32:]), order.Uint64(record[40:])
			name, _, _ := bytes.Cut(record[56:], []byte{0})
			if why := unwinds(table, size); why != "" {
				t.Errorf("the unwind table of %s: %s", name, why)
			}
			table = nil
			_, kernel, _ := strings.Cut(string(name), "heal.main.")
			base, part, parts := strings.Cut(kernel, ".")
			if !strings.HasPrefix(base, "k") || parts && part != "body" {
				continue // a function that kernels call
			}
			kernels[base] = kernels[base] || len(lines[addr]) > 0
			if !parts && len(lines[addr]) == 0 {
				continue // its body is a function of its own
			}
			of := lines[addr]
			if len(of) == 0 || of[0].addr != addr {
				t.Errorf("%s at %x has the lines %v", name, addr, of)
			}
			for i, r := range of {
				if r.addr < addr || r.addr >= addr+size || r.line == 0 || i > 0 && r.addr < of[i-1].addr {
					t.Errorf("%s at %x of %d bytes has line %d at %x", name, addr, size, r.line, r.addr)
				}
			}
		default:
			t.Errorf("a record of kind %d", order.Uint32(record))
		}
	}
	for name, lined := range kernels {
		if !lined {
			t.Errorf("%s has no lines", name)
		}
	}
	if len(kernels) == 0 || !used["m.heal"][3] && !used["m.heal"][5] || len(used["nn.heal"]) == 0 || len(files) != 2 {
		t.Errorf("kernels %v, lines %v of %v", kernels, used, slices.Sorted(maps.Keys(files)))
	}
}

// unwinds says what is wrong with the table of a function of so many bytes, which lies behind it, and with its index.
func unwinds(table []byte, size uint64) string {
	if len(table) < 60 {
		return fmt.Sprintf("it has %d bytes", len(table))
	}
	at := func(i int) int { return int(int32(binary.LittleEndian.Uint32(table[i:]))) }
	index, code := len(table)-20, -int((size+7)/8*8)
	if begin := index + 4 + at(index+4); begin != 0 {
		return fmt.Sprintf("the index says that it begins %d bytes further", begin)
	}
	record := index + at(index+16)
	switch {
	case at(index+8) != 1 || index+at(index+12) != code:
		return fmt.Sprintf("the index has %d functions, the first at %d", at(index+8), index+at(index+12))
	case record < 16 || record > index-20 || record+4-at(record+4) != 0:
		return fmt.Sprintf("its record is at %d", record)
	case record+8+at(record+8) != code || at(record+12) != int(size):
		return fmt.Sprintf("it is for %d bytes at %d", at(record+12), record+8+at(record+8))
	}
	return ""
}
