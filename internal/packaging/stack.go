package main

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
)

// threadStack is the stack that threads get, which machine code and libLLVM run on: what GNU/Linux gives as a rule.
const threadStack = 8 << 20

// giveStack writes into a program of Linux how large the stacks of its threads are. musl looks for that in the header
// PT_GNU_STACK of the program, whose size Go's linker leaves at 0, and gives them 128 KiB otherwise.
func giveStack(program string) error {
	f, err := os.OpenFile(program, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var h elf.Header64
	if err := binary.Read(f, binary.LittleEndian, &h); err != nil {
		return err
	}
	for i := range int64(h.Phnum) {
		at := int64(h.Phoff) + i*int64(h.Phentsize)
		if _, err := f.Seek(at, 0); err != nil {
			return err
		}
		var p elf.Prog64
		if err := binary.Read(f, binary.LittleEndian, &p); err != nil {
			return err
		}
		if elf.ProgType(p.Type) != elf.PT_GNU_STACK {
			continue
		}
		p.Memsz = threadStack
		if _, err := f.Seek(at, 0); err != nil {
			return err
		}
		if err := binary.Write(f, binary.LittleEndian, &p); err != nil {
			return err
		}
		return f.Close()
	}
	return errors.New("the program has no header PT_GNU_STACK")
}
