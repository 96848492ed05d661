package objload

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
	"healc/tests/claims"
)

const (
	x86Triple = "x86_64-linux-gnu"
	armTriple = "aarch64-linux-gnu"
	testBase  = 0x10_0000_0000 // where test images pretend to lie
	testPage  = 4096
)

// compileFor compiles ir for triple, which need not be this machine's.
func compileFor(t testing.TB, triple, ir string) []byte {
	t.Helper()
	lib, err := libllvm.Open()
	if err != nil {
		t.Fatalf("these tests need libLLVM: %v", err)
	}
	obj, err := lib.Compile(ir, libllvm.Options{Triple: triple, CPU: "generic", OptLevel: 2})
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// outside gives the external symbols of test images addresses that no call instruction reaches.
func outside(name string) (uintptr, error) {
	addr, ok := map[string]uintptr{"far": 0x7fff_1234_5670, "variable": 0x7ffe_0000_0040}[name]
	if !ok {
		return 0, errors.New("not there")
	}
	return addr, nil
}

// linkAt does what Load does, up to the image in memory.
func linkAt(obj []byte, base uint64) (*layout, error) {
	o, err := parse(obj, false)
	if err != nil {
		return nil, err
	}
	l, err := newLayout(o, testPage)
	if err != nil {
		return nil, err
	}
	// Hostile sizes are fine for Load, whose memory costs nothing until it is touched.
	const maxTestBytes = 4 << 20
	if l.size > maxTestBytes {
		return nil, fmt.Errorf("image of %d bytes is too large for a test", l.size)
	}
	return l, l.link(make([]byte, l.size), base, outside)
}

func mustLink(t *testing.T, obj []byte) *layout {
	t.Helper()
	l, err := linkAt(obj, testBase)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// at is the image from address addr on.
func (l *layout) at(addr uint64) []byte { return l.mem[addr-l.base:] }

func (l *layout) word(addr uint64) uint32 { return binary.LittleEndian.Uint32(l.at(addr)) }

// named is the address of the symbol name.
func (l *layout) named(t *testing.T, name string) uint64 {
	t.Helper()
	for i := range l.symbols {
		if string(l.symbols[i].name) == name {
			return l.address(uint32(i))
		}
	}
	t.Fatalf("no symbol %q", name)
	return 0
}

// linkIR has every way in which code and data refer to symbols near and far.
const linkIR = `
@variable = external global i64
@near = internal global i64 5, align 8
@wide = internal constant <4 x i32> <i32 1, i32 2, i32 3, i32 4>, align 16
@pointers = global [3 x i8*] [i8* bitcast (i64* @near to i8*), i8* bitcast (i64 (i64)* @far to i8*), i8* bitcast (i64 (i64)* @callee to i8*)]
declare i64 @far(i64)
define i64 @callee(i64 %x) noinline {
  %v = load i64, i64* @near
  %w = add i64 %v, %x
  store i64 %w, i64* @near
  ret i64 %w
}
define i64 @caller(i64 %x) {
  %a = call i64 @far(i64 %x)
  %b = call i64 @callee(i64 %a)
  %c = load i64, i64* @variable
  %d = add i64 %b, %c
  %e = call i64 @far(i64 %d)
  %f = mul i64 %e, 3
  ret i64 %f
}
define <4 x i32> @vector(i64 %i) {
  %v = load volatile <4 x i32>, <4 x i32>* @wide
  ret <4 x i32> %v
}`

func TestLinkData(t *testing.T) {
	for _, triple := range []string{x86Triple, armTriple} {
		l := mustLink(t, compileFor(t, triple, linkIR))
		pointers := l.at(l.named(t, "pointers"))
		for i, name := range []string{"near", "far", "callee"} {
			if got := binary.LittleEndian.Uint64(pointers[8*i:]); got != l.named(t, name) {
				t.Errorf("%s: pointer to %s is %#x, want %#x", triple, name, got, l.named(t, name))
			}
		}
		if near := binary.LittleEndian.Uint64(l.at(l.named(t, "near"))); near != 5 {
			t.Errorf("%s: near begins as %d", triple, near)
		}
		if wide := l.named(t, "wide"); wide%16 != 0 {
			t.Errorf("%s: wide is at %#x, not aligned to 16", triple, wide)
		}
		for g := range groupCount {
			if l.start[g]%testPage != 0 {
				t.Errorf("%s: group %d begins at %#x, inside a page", triple, g, l.start[g])
			}
		}
	}
}

// TestLinkX86 decodes the instructions of caller that refer to other things.
func TestLinkX86(t *testing.T) {
	l := mustLink(t, compileFor(t, x86Triple, linkIR))
	relative := func(at uint64, n int) uint64 { // target of the 32-bit displacement that ends an n-byte instruction
		return at + uint64(n) + uint64(int64(int32(l.word(at+uint64(n)-4))))
	}
	caller, calls, reads := l.named(t, "caller"), []uint64{}, []uint64{}
	code := l.at(caller)[:bytes.IndexByte(l.at(caller), 0xc3)] // up to ret
	for i := 0; i+7 <= len(code); i++ {
		switch {
		case code[i] == 0xe8: // call
			calls = append(calls, relative(caller+uint64(i), 5))
			i += 4
		case code[i] == 0x48 && code[i+1] == 0x8b && code[i+2]&0xc7 == 0x05: // mov slot(%rip), reg
			reads = append(reads, relative(caller+uint64(i), 7))
			i += 6
		}
	}
	if len(calls) != 3 || len(reads) != 1 {
		t.Fatalf("found calls %#x and reads %#x in % x", calls, reads, code)
	}
	if calls[1] != l.named(t, "callee") || calls[0] != calls[2] {
		t.Errorf("calls go to %#x; callee is at %#x", calls, l.named(t, "callee"))
	}
	stub := l.at(calls[0])
	if stub[0] != 0xff || stub[1] != 0x25 {
		t.Fatalf("the stub is % x", stub[:stubSize])
	}
	for what, slot := range map[string]uint64{"far": relative(calls[0], 6), "variable": reads[0]} {
		if got := binary.LittleEndian.Uint64(l.at(slot)); got != l.named(t, what) {
			t.Errorf("slot of %s holds %#x, want %#x", what, got, l.named(t, what))
		}
		if offs := slot - l.base; offs < l.start[groupReadOnly] || offs >= l.start[groupData] {
			t.Errorf("slot of %s at offset %#x is not in read-only memory", what, offs)
		}
	}
}

// TestLinkAArch64 runs the address arithmetic of the linked code: a page by ADRP, an offset by the
// instruction after it, a call by BL.
func TestLinkAArch64(t *testing.T) {
	l := mustLink(t, compileFor(t, armTriple, linkIR))
	targets := map[string][]uint64{}
	for _, name := range []string{"callee", "caller", "vector"} {
		targets[name] = aarch64Targets(l, l.named(t, name))
	}
	slot := func(name string) uint64 {
		for sym, offs := range l.slots {
			if string(l.symbols[sym].name) == name {
				return l.base + offs
			}
		}
		return 0
	}
	near, wide := l.named(t, "near"), l.named(t, "wide")
	if got := targets["callee"]; len(got) != 2 || got[0] != near || got[1] != near {
		t.Errorf("callee refers to %#x, want %#x twice", got, near)
	}
	if got := targets["vector"]; len(got) != 1 || got[0] != wide {
		t.Errorf("vector refers to %#x, want %#x", got, wide)
	}
	var stub uint64
	want := map[uint64]int{l.named(t, "callee"): 1, slot("variable"): 1}
	for _, target := range targets["caller"] {
		if want[target] > 0 {
			want[target]--
			continue
		}
		if stub != 0 && target != stub {
			t.Errorf("caller refers to %#x and %#x besides callee and the slot", stub, target)
		}
		stub = target
	}
	if want[l.named(t, "callee")] != 0 || want[slot("variable")] != 0 {
		t.Errorf("caller refers to %#x; not found are %v", targets["caller"], want)
	}
	if got := aarch64Targets(l, stub); len(got) != 1 || got[0] != slot("far") {
		t.Errorf("the stub at %#x reads %#x, want the slot %#x", stub, got, slot("far"))
	}
	if got := binary.LittleEndian.Uint64(l.at(slot("far"))); got != l.named(t, "far") {
		t.Errorf("slot of far holds %#x", got)
	}
}

// aarch64Targets lists the addresses that the code from addr to its RET or BR computes or calls. It
// decodes ADRP, ADD, LDR, STR and BL by their encodings in the Arm manual, not by the code under test.
func aarch64Targets(l *layout, addr uint64) []uint64 {
	var targets []uint64
	pages := map[uint32]uint64{} // by register
	for ; ; addr += 4 {
		w := l.word(addr)
		dst, base, imm12 := w&31, w>>5&31, uint64(w>>10&0xfff)
		p, known := pages[base]
		switch {
		case w == 0xd65f03c0 || w&0xfffffc1f == 0xd61f0000: // RET, BR
			return targets
		case w&0x9f000000 == 0x90000000: // ADRP
			imm := int64(w>>5&0x7ffff)<<2 | int64(w>>29&3)
			pages[dst] = addr&^0xfff + uint64(imm<<43>>43)<<12
		case w&0xfc000000 == 0x94000000, w&0xfc000000 == 0x14000000: // BL, B
			targets = append(targets, addr+uint64(int64(w&0x3ffffff)<<38>>38)<<2)
			if w>>31 == 0 {
				return targets
			}
		case w&0xffc00000 == 0x91000000 && known: // ADD, 64 bits
			targets = append(targets, p+imm12)
			delete(pages, dst)
		case w&0x3b000000 == 0x39000000 && known: // LDR and STR with a scaled offset
			scale := uint64(w >> 30)
			if w&0x04800000 == 0x04800000 && scale == 0 {
				scale = 4 // a 128-bit register
			}
			targets = append(targets, p+imm12<<scale)
			if w&0x00400000 != 0 { // a load, which replaces dst unless that is a vector register
				delete(pages, dst)
			}
		}
	}
}

func TestRejects(t *testing.T) {
	valid := compileFor(t, x86Triple, linkIR)
	patch := func(at int, b ...byte) []byte {
		obj := bytes.Clone(valid)
		copy(obj[at:], b)
		return obj
	}
	le := binary.LittleEndian
	sectionAt := func(kind elf.SectionType) int {
		table, n := int(le.Uint64(valid[40:])), int(le.Uint16(valid[60:]))
		for i := range n {
			if elf.SectionType(le.Uint32(valid[table+64*i+4:])) == kind {
				return table + 64*i
			}
		}
		t.Fatalf("no section of type %v", kind)
		return 0
	}
	rela := int(le.Uint64(valid[sectionAt(elf.SHT_RELA)+24:]))
	text := sectionAt(elf.SHT_PROGBITS)
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	compiled := func(ir string) []byte { return compileFor(t, x86Triple, ir) }
	tests := []struct {
		name string
		obj  []byte
		want string
	}{
		{"nothing", nil, "not an ELF file"},
		{"text", []byte("MZ, not an object at all"), "not an ELF file"},
		{"cut in the header", valid[:40], "truncated ELF header (40 bytes)"},
		{"32 bits", patch(elf.EI_CLASS, byte(elf.ELFCLASS32)), "not a 64-bit little-endian"},
		{"big endian", patch(elf.EI_DATA, byte(elf.ELFDATA2MSB)), "not a 64-bit little-endian"},
		{"shared library", patch(16, byte(elf.ET_DYN)), "not a relocatable object (ET_DYN)"},
		{"other machine", patch(18, byte(elf.EM_RISCV)), "unsupported machine EM_RISCV"},
		{"section table beyond the end", patch(40, huge...), "section table lies outside the file"},
		{"no sections", patch(60, 0, 0), "malformed section table"},
		{"section names that do not exist", patch(62, 0xff, 0xff), "malformed section table"},
		{"section name beyond the table", patch(text, huge[:4]...), "does not end in its string table"},
		{"section beyond the end", patch(text+24, huge...), `section ".text" lies outside the file`},
		{"huge section", patch(text+32, huge...), "needs more than 256 MB"},
		{"odd alignment", patch(text+48, 3), "alignment 3, not a power of two"},
		{"huge alignment", patch(text+48, 0, 0, 1), "alignment 65536, not a power of two"},
		{"writable code", patch(text+8, 7), `section ".text" is both writable and executable`},
		{"relocation without addends", patch(sectionAt(elf.SHT_RELA)+4, byte(elf.SHT_REL)),
			"unsupported relocations without addends"},
		{"relocation of no section", patch(sectionAt(elf.SHT_RELA)+44, 0xff, 0xff),
			"relocations for section 65535, which does not exist"},
		{"relocation outside its section", patch(rela, huge...), "outside section"},
		{"relocation across the end", patch(rela, byte(le.Uint64(valid[text+32:])-1),
			byte((le.Uint64(valid[text+32:])-1)>>8)), "reaches beyond the section"},
		{"relocation of no symbol", patch(rela+12, huge[:4]...), "refers to symbol 4294967295, which does not exist"},
		{"unknown relocation", patch(rela+8, 0xfe), "unsupported relocation"},
		{"out of reach", patch(rela+16, 0, 0, 0, 0, 1), "is out of reach; compile position-independent code"},
		{"symbol outside its section", patch(int(le.Uint64(valid[sectionAt(elf.SHT_SYMTAB)+24:]))+2*elf.Sym64Size+8,
			huge...), "lies outside section"},
		{"undefined symbol",
			compiled("declare void @nobody()\ndefine void @k() {\n  call void @nobody()\n  ret void\n}"),
			`undefined symbol "nobody": not there`},
		{"thread-local variable", compiled("@v = thread_local global i64 3"),
			`unsupported thread-local section ".tdata"`},
		{"common symbol",
			compiled("@v = common global i64 0\ndefine i64 @k() {\n  %x = load i64, i64* @v\n  ret i64 %x\n}"),
			`unsupported symbol "v"`},
		{"constructor",
			compiled(
				"@llvm.global_ctors = appending global [1 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } { i32 1, " +
					"void ()* @k, i8* null }]\n" +
					"@v = global i64 0\ndefine void @k() {\n  store volatile i64 1, i64* @v\n  ret void\n}"),
			`unsupported constructors in section ".ctors`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := linkAt(test.obj, testBase)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, want one line with %q", err, test.want)
			}
		})
	}
	if _, err := linkAt(valid, testBase); err != nil {
		t.Errorf("the object before patching: %v", err)
	}
}

func TestLoadRefusesOtherMachine(t *testing.T) {
	triple := armTriple
	if hostMachine == elf.EM_AARCH64 {
		triple = x86Triple
	}
	if _, err := Load(compileFor(t, triple, linkIR), Options{}); err == nil ||
		!strings.Contains(err.Error(), "this machine is") {
		t.Errorf("loading code of another machine: %v", err)
	}
}

// TestCorruptBytes cuts objects everywhere and changes every byte; nothing may panic.
func TestCorruptBytes(t *testing.T) {
	for _, triple := range []string{x86Triple, armTriple} {
		valid := compileFor(t, triple, linkIR)
		loaded := 0
		for n := range valid {
			// The section table is at the end, so no shorter object is whole.
			if _, err := linkAt(valid[:n], testBase); err == nil {
				t.Errorf("%s: the first %d of %d bytes load", triple, n, len(valid))
			}
			for _, flip := range []byte{0x01, 0x80, 0xff} {
				obj := bytes.Clone(valid)
				obj[n] ^= flip
				if _, err := linkAt(obj, testBase); err == nil {
					loaded++
				}
			}
		}
		// Bytes of code and padding do not matter to the loader, those of the tables do.
		if loaded == 0 || loaded == 3*len(valid) {
			t.Errorf("%s: %d of %d corrupt objects load", triple, loaded, 3*len(valid))
		}
	}
}

func FuzzLink(f *testing.F) {
	for _, triple := range []string{x86Triple, armTriple} {
		f.Add(compileFor(f, triple, linkIR))
		f.Add(compileFor(f, triple, "define void @k() {\n  ret void\n}"))
	}
	f.Fuzz(func(t *testing.T, obj []byte) {
		enough := claims.Within(t, len(obj), 16<<20, 200)
		l, err := linkAt(obj, testBase)
		enough()
		if err != nil {
			return
		}
		// What loads is inside the image.
		for name, addr := range l.exports() {
			if uint64(addr) < l.base || uint64(addr) > l.base+l.size {
				t.Errorf("symbol %q at %#x is outside the image", name, addr)
			}
		}
	})
}
