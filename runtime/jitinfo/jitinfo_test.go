//go:build linux

package jitinfo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// TestFiles: the map has a line, and the jitdump a record with the machine code, for each function.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	mapPath := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	defer os.Remove(mapPath)
	elsewhere := filepath.Join(folder, "elsewhere")
	dumpPath := filepath.Join(folder, fmt.Sprintf("jit-%d.dump", os.Getpid()))
	if err := os.Symlink(elsewhere, dumpPath); err != nil { // as of somebody who knew the name
		t.Fatal(err)
	}
	l, err := open("map,jitdump", folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("a link was followed")
	}
	code := []byte("machine code")
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(code)))
	functions := []Function{{"heal.f.k0_f", addr, 7}, {"heal.f.k1 ü", addr + 8, 4}}
	for _, f := range functions {
		forget, err := l.Loaded(Code{Functions: []Function{f}})
		if err != nil {
			t.Fatal(err)
		}
		forget()
	}
	text, err := os.ReadFile(mapPath)
	if want := fmt.Sprintf("%x 7 heal.f.k0_f\n%x 4 heal.f.k1 ü\n", addr, addr+8); err != nil || string(text) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, text, want)
	}
	raw, err := os.ReadFile(dumpPath)
	if err != nil {
		t.Fatal(err)
	}
	order := binary.NativeEndian
	if order.Uint32(raw) != dumpMagic || order.Uint32(raw[4:]) != 1 || order.Uint32(raw[8:]) != 40 ||
		order.Uint32(raw[20:]) != uint32(os.Getpid()) {
		t.Errorf("header %x", raw[:40])
	}
	before := order.Uint64(raw[24:])
	raw = raw[40:]
	for i, f := range functions {
		if len(raw) < loadHeader {
			t.Fatalf("%d bytes are left for record %d", len(raw), i)
		}
		size, at := order.Uint32(raw[4:]), order.Uint64(raw[8:])
		name, rest, _ := bytes.Cut(raw[loadHeader:size], []byte{0})
		if order.Uint32(raw) != 0 || at < before || order.Uint32(raw[16:]) != uint32(os.Getpid()) ||
			order.Uint64(raw[24:]) != uint64(f.Addr) || order.Uint64(raw[32:]) != uint64(f.Addr) ||
			order.Uint64(raw[40:]) != uint64(f.Size) || order.Uint64(raw[48:]) != uint64(i) ||
			string(name) != f.Name || string(rest) != string(f.machineCode()) {
			t.Errorf("record %d: %q", i, raw[:size])
		}
		before, raw = at, raw[size:]
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	marked := false
	for line := range strings.Lines(string(maps)) {
		marked = marked || strings.Contains(line, "r-xp") && strings.HasSuffix(line, dumpPath+"\n")
	}
	if len(raw) > 0 || !marked {
		t.Errorf("%d bytes too many; mapped executable: %v", len(raw), marked)
	}
}

// TestGDB: the list that gdb follows has what is loaded, whatever the order in which it goes.
func TestGDB(t *testing.T) {
	l, err := open("gdb", "")
	if err != nil {
		t.Skip(err)
	}
	listed := func() (out []string) {
		d := debugDescriptor()
		if d.version != 1 || d.action != 0 || d.first != uintptr(unsafe.Pointer(entries)) {
			t.Errorf("descriptor %+v", *d)
		}
		for e, before := entries, (*entry)(nil); e != nil; e, before = e.next, e {
			if e.prev != before {
				t.Errorf("%p comes before %p", e.prev, e)
			}
			out = append(out, string(unsafe.Slice(e.file, e.size)))
		}
		return out
	}
	var forgets []func()
	for _, name := range []string{"a", "b", "c", "d"} {
		forget, err := l.Loaded(Code{File: []byte(name)})
		if err != nil {
			t.Fatal(err)
		}
		forgets = append(forgets, forget)
	}
	want := []string{"[d c b a]", "[d c a]", "[c a]", "[c]", "[]"}
	for i, n := range []int{-1, 1, 3, 0, 2} {
		if n >= 0 {
			forgets[n]()
			forgets[n]() // a second time is none
		}
		if got := fmt.Sprint(listed()); got != want[i] {
			t.Errorf("%s, want %s", got, want[i])
		}
	}
}

// TestOpen: nothing is asked for by default, and what is unknown is an error.
func TestOpen(t *testing.T) {
	if l, err := open("", ""); l != nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
	for names, want := range map[string]string{"perf": "HEAL_PERF=perf: there are map, jitdump and gdb",
		"gdb,": "HEAL_PERF=: ", "jitdump": "HEAL_PERF=jitdump: open /nowhere/"} {
		if _, err := open(names, "/nowhere"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", names, err, want)
		}
	}
}
