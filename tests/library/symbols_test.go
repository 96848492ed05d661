package library

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"healc/codegen/llvm/aot"
)

const seenSource = `pub fn softmax[N](x: f32[N]) -> f32[N] = { let e = exp(x - max/(x)); e / +/(e) }
`

// kernelName is what the symbol of a kernel looks like: library, function, the kind of arguments and the processor.
var kernelName = regexp.MustCompile(`^heal\.s\.(softmax)\.(strided\.)?(x86-64|avx[a-z0-9]+|generic)\.k\d+_`)

// TestSymbols: profilers and debuggers find a name and an unwind table for all code of a library and of an object.
func TestSymbols(t *testing.T) {
	l, objects := made(t, "s", seenSource, "softmax")
	joined, err := aot.Join(objects)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"s.so": []byte(linked(t, l, objects, "s.so")), "s.o": joined} {
		f, err := elf.NewFile(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.Symbols()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		unwound := unwound(t, f)
		kernels := map[string]bool{}
		for _, s := range symbols {
			if strings.HasPrefix(s.Name, ".L") && name == "s.so" {
				t.Errorf("%s has the temporary symbol %s", name, s.Name)
			}
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
				continue
			}
			if s.Size == 0 {
				t.Errorf("%s: %s has no size", name, s.Name)
			}
			if m := kernelName.FindStringSubmatch(s.Name); m != nil {
				kernels[m[1]+" "+m[2]] = true
				if elf.ST_BIND(s.Info) != elf.STB_LOCAL {
					t.Errorf("%s shows %s to others", name, s.Name)
				}
			}
			if name == "s.so" && !unwound.has(s.Value, s.Value+s.Size) {
				t.Errorf("%s: %s has no unwind table", name, s.Name)
			}
		}
		if len(kernels) != 2 {
			t.Errorf("%s names kernels for %v", name, kernels)
		}
		if f.Section(".eh_frame_hdr") == nil && name == "s.so" {
			t.Errorf("%s has no index of its unwind tables", name)
		}
	}
}

// TestSize: a library of one softmax for one kind of processor is below 64 KiB, with the pool of threads, symbols and
// unwind tables in it.
func TestSize(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the processors are x86-64's")
	}
	l := libraryOf(t, "s", seenSource, "softmax")
	l.Target.CPU = "x86-64-v4"
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(linked(t, l, objects, "s.so")); n >= 64<<10 {
		t.Errorf("%d bytes", n)
	}
}

// spans are ranges of addresses.
type spans [][2]uint64

func (s spans) has(from, to uint64) bool {
	for _, r := range s {
		if r[0] <= from && to <= r[1] {
			return true
		}
	}
	return false
}

// unwound are the ranges that the records of .eh_frame are about, as "System V ABI, AMD64" and the Linux Standard Base
// have them. Addresses are relative to where they lie, in 4 bytes (DW_EH_PE_pcrel | DW_EH_PE_sdata4).
func unwound(t *testing.T, f *elf.File) (out spans) {
	t.Helper()
	section := f.Section(".eh_frame")
	if section == nil {
		t.Fatal("there is no .eh_frame")
	}
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at+8 <= len(data); {
		size := int(binary.LittleEndian.Uint32(data[at:]))
		if size == 0 {
			break
		}
		if id := binary.LittleEndian.Uint32(data[at+4:]); id != 0 {
			from := section.Addr + uint64(at+8) + uint64(int64(int32(binary.LittleEndian.Uint32(data[at+8:]))))
			out = append(out, [2]uint64{from, from + uint64(binary.LittleEndian.Uint32(data[at+12:]))})
		}
		at += 4 + size
	}
	return out
}

// TestUnwind: wherever in a kernel a thread is, its stack is seen up to the caller, also where the call can be stopped.
func TestUnwind(t *testing.T) {
	for _, program := range inC(t, "unwind", seenSource, []string{"softmax"}, ".so", ".o") {
		path := filepath.Join(filepath.Dir(program), "libs.so")
		if strings.HasSuffix(program, ".o.out") {
			path = program
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		var low, high, entry int64
		for _, s := range symbols {
			switch {
			case s.Name == "s_softmax":
				entry = int64(s.Value)
			case kernelName.MatchString(s.Name):
				if low == 0 || int64(s.Value) < low {
					low = int64(s.Value)
				}
				high = max(high, int64(s.Value+s.Size))
			}
		}
		silent(t, program, fmt.Sprint(low-entry), fmt.Sprint(high-entry))
	}
}
