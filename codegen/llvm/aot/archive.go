package aot

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// archiveMagic is what an archive of ar begins with.
const archiveMagic = "!<arch>\n"

// archiveHead is how long the header of a member is.
const archiveHead = 60

// Archive makes a static library of a relocatable object, as `ar` and `ranlib` would: with the index of the symbols
// that linkers look for, and neither times nor owners, so that the same object gives the same bytes. member is the
// name of the object in it.
func Archive(object []byte, member string) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("BUG: an object that cannot be read: %w", err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("BUG: an object without symbols: %w", err)
	}
	var names bytes.Buffer
	count := uint32(0)
	for _, s := range symbols {
		if elf.ST_BIND(s.Info) != elf.STB_LOCAL && s.Section != elf.SHN_UNDEF {
			names.WriteString(s.Name + "\x00")
			count++
		}
	}
	index := int64(4+4*count) + int64(names.Len())
	index += index & 1
	longNames := ""
	name := member + "/"
	if len(name) > 16 { // it stands in a member of its own, and here the place of it there
		longNames, name = name+"\n", "/0"
		longNames += strings.Repeat("\n", len(longNames)&1)
	}
	at := int64(len(archiveMagic)+archiveHead) + index // where the header of the object is
	if longNames != "" {
		at += int64(archiveHead + len(longNames))
	}

	var out bytes.Buffer
	out.WriteString(archiveMagic)
	out.WriteString(archiveHeader("/", "0", "0", "0", "0", index))
	place := binary.BigEndian.AppendUint32(nil, uint32(at))
	out.Write(binary.BigEndian.AppendUint32(nil, count))
	out.Write(bytes.Repeat(place, int(count)))
	out.Write(names.Bytes())
	out.Write(make([]byte, (4+4*int(count)+names.Len())&1))
	if longNames != "" {
		out.WriteString(archiveHeader("//", "", "", "", "", int64(len(longNames))))
		out.WriteString(longNames)
	}
	out.WriteString(archiveHeader(name, "0", "0", "0", "644", int64(len(object))))
	out.Write(object)
	out.WriteString(strings.Repeat("\n", len(object)&1))
	return out.Bytes(), nil
}

func archiveHeader(name, time, owner, group, mode string, size int64) string {
	return fmt.Sprintf("%-16s%-12s%-6s%-6s%-8s%-10d`\n", name, time, owner, group, mode, size)
}

// Ours reports whether an object, a shared library or a static one was written by healc: it has the note Note.
func Ours(f io.ReaderAt) bool {
	magic := make([]byte, len(archiveMagic))
	if _, err := f.ReadAt(magic, 0); err != nil {
		return false
	}
	if string(magic) != archiveMagic {
		return hasNote(f)
	}
	for at, head := int64(len(magic)), make([]byte, archiveHead); ; { // to the first object
		if _, err := f.ReadAt(head, at); err != nil {
			return false
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(head[48:58])), 10, 64)
		if err != nil || size < 0 {
			return false
		}
		at += archiveHead
		if name := strings.TrimSpace(string(head[:16])); name != "/" && name != "//" {
			return hasNote(io.NewSectionReader(f, at, size))
		}
		at += size + size&1
	}
}

func hasNote(f io.ReaderAt) bool {
	o, err := elf.NewFile(f)
	return err == nil && o.Section(Note) != nil
}
