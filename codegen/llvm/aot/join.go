package aot

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// sectionAddrsig is a table of LLVM that numbers symbols; linkers do without it.
const sectionAddrsig = 0x6fff4c03

// joined is the relocatable object that Join makes.
type joined struct {
	sections []elf.Section64 // sh_name is set at the end
	names    []string        // of sections
	data     [][]byte

	locals, globals         []elf.Sym64 // st_name is set at the end
	localNames, globalNames []string
	global                  map[string]int // the place of a name in globals
	hidden                  map[string]int // the place in locals of a name that only the objects know

	relocations []relocation
}

// relocation is a section of relocations of one object, whose symbols are numbered when all are known.
type relocation struct {
	section int
	symbols []joinedSymbol // of the object
}

// joinedSymbol says where a symbol of an object is: a place in locals, or else a name.
type joinedSymbol struct {
	local int
	name  string
}

// Join makes one relocatable object of those of a library, for programs that are linked with it. It needs no linker:
// sections stay as they are, one behind the other, and symbols and the relocations that number them are put together.
// What begins with heal. is then known to nobody else, as in a shared library. The same objects give the same bytes.
func Join(objects [][]byte) ([]byte, error) {
	j := &joined{sections: make([]elf.Section64, 1), names: []string{""}, data: [][]byte{nil},
		locals: make([]elf.Sym64, 1), localNames: []string{""}, global: map[string]int{}, hidden: map[string]int{}}
	var head elf.Header64
	for i, o := range objects {
		var h elf.Header64
		if err := binary.Read(bytes.NewReader(o), binary.LittleEndian, &h); err != nil {
			return nil, fmt.Errorf("BUG: an object that cannot be read: %w", err)
		}
		if i == 0 {
			head = h
		}
		if err := j.add(o, &h); err != nil {
			return nil, fmt.Errorf("BUG: an object that cannot be joined: %w", err)
		}
	}
	if len(j.sections)+3 >= int(elf.SHN_LORESERVE) {
		return nil, &LinkError{Message: fmt.Sprintf("these are %d sections, too many for one object", len(j.sections)),
			Help: "compile functions apart, with --entry, or for one processor, with --cpu"}
	}
	return j.bytes(head), nil
}

// add takes over the sections and symbols of one object.
func (j *joined) add(o []byte, h *elf.Header64) error {
	sections := make([]elf.Section64, h.Shnum)
	if err := binary.Read(bytes.NewReader(o[h.Shoff:]), binary.LittleEndian, sections); err != nil {
		return err
	}
	content := func(s *elf.Section64) []byte { return o[s.Off : s.Off+s.Size] }
	text := content(&sections[h.Shstrndx])
	place := make([]int, len(sections))
	var symbols *elf.Section64
	var relocated []int
	for i := range sections {
		s := &sections[i]
		switch elf.SectionType(s.Type) {
		case elf.SHT_NULL, elf.SHT_STRTAB, sectionAddrsig:
			continue
		case elf.SHT_SYMTAB:
			symbols = s
			continue
		case elf.SHT_GROUP, elf.SHT_SYMTAB_SHNDX, elf.SHT_REL:
			return fmt.Errorf("a section of type %v", elf.SectionType(s.Type))
		case elf.SHT_RELA:
			relocated = append(relocated, i)
		}
		place[i] = len(j.sections)
		j.sections = append(j.sections, *s)
		j.names = append(j.names, cString(text, s.Name))
		if elf.SectionType(s.Type) == elf.SHT_NOBITS {
			j.data = append(j.data, nil)
		} else {
			j.data = append(j.data, slices.Clone(content(s)))
		}
	}
	for i, at := range place {
		s := &j.sections[at]
		if at > 0 && elf.SectionType(s.Type) != elf.SHT_RELA && sections[i].Link != 0 {
			s.Link = uint32(place[sections[i].Link])
		}
	}
	if symbols == nil {
		return fmt.Errorf("no symbols")
	}
	known, err := j.symbols(content(symbols), content(&sections[symbols.Link]), place)
	if err != nil {
		return err
	}
	for _, i := range relocated {
		j.sections[place[i]].Info = uint32(place[sections[i].Info])
		j.relocations = append(j.relocations, relocation{place[i], known})
	}
	return nil
}

// symbols takes over the symbols of one object, whose sections are at place now.
func (j *joined) symbols(table, text []byte, place []int) ([]joinedSymbol, error) {
	list := make([]elf.Sym64, len(table)/elf.Sym64Size)
	if err := binary.Read(bytes.NewReader(table), binary.LittleEndian, list); err != nil {
		return nil, err
	}
	known := make([]joinedSymbol, len(list))
	for i := 1; i < len(list); i++ {
		s := list[i]
		name := cString(text, s.Name)
		defined := elf.SectionIndex(s.Shndx) != elf.SHN_UNDEF
		if defined && elf.SectionIndex(s.Shndx) < elf.SHN_LORESERVE {
			s.Shndx = uint16(place[s.Shndx])
		}
		if elf.ST_BIND(s.Info) == elf.STB_LOCAL {
			known[i].local = j.local(s, name)
			continue
		}
		known[i].name = name
		at, seen := j.global[name]
		switch {
		case defined && strings.HasPrefix(name, "heal."):
			if _, twice := j.hidden[name]; twice {
				return nil, fmt.Errorf("the symbol %s is there twice", name)
			}
			s.Info, s.Other = elf.ST_INFO(elf.STB_LOCAL, elf.ST_TYPE(s.Info)), 0
			j.hidden[name] = j.local(s, name)
		case !seen:
			j.global[name] = len(j.globals)
			j.globals, j.globalNames = append(j.globals, s), append(j.globalNames, name)
		case defined && elf.SectionIndex(j.globals[at].Shndx) == elf.SHN_UNDEF:
			j.globals[at] = s
		case defined:
			return nil, fmt.Errorf("the symbol %s is there twice", name)
		}
	}
	return known, nil
}

func (j *joined) local(s elf.Sym64, name string) int {
	j.locals, j.localNames = append(j.locals, s), append(j.localNames, name)
	return len(j.locals) - 1
}

// bytes writes the object. head is that of one of the objects.
func (j *joined) bytes(head elf.Header64) []byte {
	// What was wanted and is hidden is no global symbol any more.
	number := map[string]int{}
	list := slices.Clone(j.locals)
	names := slices.Clone(j.localNames)
	for i, name := range j.globalNames {
		if at, ok := j.hidden[name]; ok {
			number[name] = at
			continue
		}
		number[name] = len(list)
		list, names = append(list, j.globals[i]), append(names, name)
	}
	for name, at := range j.hidden {
		number[name] = at
	}
	text := []byte{0}
	for i := range list {
		list[i].Name = 0
		if names[i] != "" {
			list[i].Name = uint32(len(text))
			text = append(append(text, names[i]...), 0)
		}
	}
	symbols := len(j.sections)
	for _, r := range j.relocations {
		j.sections[r.section].Link = uint32(symbols)
		data := j.data[r.section]
		for at := 0; at+24 <= len(data); at += 24 { // offset, kind and symbol, addend
			info := binary.LittleEndian.Uint64(data[at+8:])
			s := r.symbols[info>>32]
			n := s.local
			if s.name != "" {
				n = number[s.name]
			}
			binary.LittleEndian.PutUint64(data[at+8:], uint64(n)<<32|info&0xffffffff)
		}
	}
	var table bytes.Buffer
	must(binary.Write(&table, binary.LittleEndian, list))
	j.section(".symtab", elf.SHT_SYMTAB, table.Bytes(), 8)
	j.sections[symbols].Link, j.sections[symbols].Info = uint32(symbols+1), uint32(len(j.locals))
	j.sections[symbols].Entsize = elf.Sym64Size
	j.section(".strtab", elf.SHT_STRTAB, text, 1)
	j.section(".shstrtab", elf.SHT_STRTAB, nil, 1)
	sectionText, last := []byte{0}, len(j.sections)-1
	for i := 1; i <= last; i++ {
		j.sections[i].Name = uint32(len(sectionText))
		sectionText = append(append(sectionText, j.names[i]...), 0)
	}
	j.data[last], j.sections[last].Size = sectionText, uint64(len(sectionText))

	out := make([]byte, 64)
	for i := 1; i <= last; i++ {
		for align := max(int(j.sections[i].Addralign), 1); len(out)%align != 0; {
			out = append(out, 0)
		}
		j.sections[i].Off = uint64(len(out))
		out = append(out, j.data[i]...)
	}
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	head.Shoff, head.Shnum, head.Shstrndx = uint64(len(out)), uint16(len(j.sections)), uint16(last)
	var end, start bytes.Buffer
	must(binary.Write(&end, binary.LittleEndian, j.sections))
	must(binary.Write(&start, binary.LittleEndian, head))
	copy(out, start.Bytes())
	return append(out, end.Bytes()...)
}

func (j *joined) section(name string, kind elf.SectionType, data []byte, align uint64) {
	j.sections = append(j.sections, elf.Section64{Type: uint32(kind), Size: uint64(len(data)), Addralign: align})
	j.names, j.data = append(j.names, name), append(j.data, data)
}

// must is for writing to memory, which does not fail.
func must(err error) {
	if err != nil {
		panic("BUG: " + err.Error())
	}
}

func cString(text []byte, at uint32) string {
	rest := text[at:]
	if n := bytes.IndexByte(rest, 0); n >= 0 {
		rest = rest[:n]
	}
	return string(rest)
}
