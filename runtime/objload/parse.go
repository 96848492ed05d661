package objload

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

const (
	// maxImageBytes bounds what one object may occupy, so a corrupt size is an error and not an exhausted machine.
	maxImageBytes = 256 << 20
	// maxAlign is the largest alignment of a section: mappings are aligned to a page, and no page is smaller.
	maxAlign = 4096
	// maxNameBytes bounds the search for the end of a name, so that many names in one long table cost no
	// quadratic time.
	maxNameBytes = 4096
)

// Sizes of the ELF64 structures in bytes.
const (
	headerSize  = 64
	sectionSize = 64
	symbolSize  = elf.Sym64Size
	relaSize    = 24
)

// Error says why an object cannot be loaded. Its text is one line.
type Error struct{ What string }

func (e *Error) Error() string { return "cannot load object: " + e.What }

func errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// object is a checked ELF object, reduced to what loading needs. Byte slices in it are slices of the file.
type object struct {
	machine elf.Machine
	loaded  []*section // in file order
	symbols []symbol   // by ELF symbol number
	relocs  []reloc
}

// section is a part of the image.
type section struct {
	name  []byte
	group group
	align uint64 // a power of two, at most maxAlign
	size  uint64
	data  []byte // size bytes, or nil for zeros
	offs  uint64 // place in the image; set by newLayout

	number int // in the file
}

// group is the protection that a section's memory needs; an image holds the groups in this order.
type group uint8

const (
	groupText     group = iota // read, execute
	groupReadOnly              // read
	groupData                  // read, write
	groupCount
)

// place says where a symbol is.
type place uint8

const (
	undefined place = iota // outside the object
	inSection
	absolute
	dropped     // in a section that is not loaded, such as debug information
	unsupported // a kind that cannot be loaded; an error when something refers to it
)

// symbol is an entry of the symbol table.
type symbol struct {
	name    []byte
	place   place
	section *section // when inSection
	value   uint64   // offset in section, or the absolute value
	size    uint64   // as the object has it
	code    bool     // a function
	local   bool     // not visible outside the object
	weak    bool     // may stay undefined, then its address is 0
}

// reloc asks to change the bytes at offs in section in.
type reloc struct {
	in     *section
	offs   uint64
	kind   uint32 // R_X86_64_* or R_AARCH64_*
	sym    uint32 // index of object.symbols
	addend int64
}

// parser holds the raw tables. debug/elf gives the constants; its File is not used because its memory
// use on a hostile file (compressed sections, overlapping names) has no bound in the file's size.
type parser struct {
	file    []byte
	headers []elf.Section64
	strings []byte     // section names
	byIndex []*section // by section number, nil when not loaded
	object  *object
	unwind  bool
}

// parse checks file and reads its tables; unwind says whether unwind tables are loaded, too.
func parse(file []byte, unwind bool) (*object, error) {
	p := &parser{file: file, object: &object{}, unwind: unwind}
	for _, step := range []func() error{p.readHeader, p.readSections, p.readSymbols, p.readRelocs} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p.object, nil
}

// bytes is the part [offs, offs+size) of the file.
func (p *parser) bytes(what string, offs, size uint64) ([]byte, error) {
	if n := uint64(len(p.file)); offs > n || size > n-offs {
		return nil, errorf("%s lies outside the file (offset %d, %d bytes, file has %d)", what, offs, size, n)
	}
	return p.file[offs : offs+size : offs+size], nil
}

func (p *parser) readHeader() error {
	f := p.file
	if len(f) < len(elf.ELFMAG) || string(f[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return errorf("not an ELF file")
	}
	if len(f) < headerSize {
		return errorf("truncated ELF header (%d bytes)", len(f))
	}
	le := binary.LittleEndian
	if f[elf.EI_CLASS] != byte(elf.ELFCLASS64) || f[elf.EI_DATA] != byte(elf.ELFDATA2LSB) ||
		f[elf.EI_VERSION] != byte(elf.EV_CURRENT) {
		return errorf("not a 64-bit little-endian ELF file")
	}
	if t := elf.Type(le.Uint16(f[16:])); t != elf.ET_REL {
		return errorf("not a relocatable object (%v)", t)
	}
	p.object.machine = elf.Machine(le.Uint16(f[18:]))
	if m := p.object.machine; m != elf.EM_X86_64 && m != elf.EM_AARCH64 {
		return errorf("unsupported machine %v", m)
	}
	offs, entry, count, names := le.Uint64(f[40:]), le.Uint16(f[58:]), uint64(le.Uint16(f[60:])),
		uint64(le.Uint16(f[62:]))
	// A table of 0xff00 sections or more has its length elsewhere and 0 here; LLVM needs that only for a
	// section per function, which we do not ask for.
	if entry != sectionSize || count == 0 || names >= count {
		return errorf("malformed section table (%d entries of %d bytes)", count, entry)
	}
	table, err := p.bytes("section table", offs, count*sectionSize)
	if err != nil {
		return err
	}
	p.headers = make([]elf.Section64, count)
	for i := range p.headers {
		b := table[i*sectionSize:]
		p.headers[i] = elf.Section64{
			Name: le.Uint32(b), Type: le.Uint32(b[4:]), Flags: le.Uint64(b[8:]), Addr: le.Uint64(b[16:]),
			Off:  le.Uint64(b[24:]),
			Size: le.Uint64(b[32:]), Link: le.Uint32(b[40:]), Info: le.Uint32(b[44:]), Addralign: le.Uint64(b[48:]),
			Entsize: le.Uint64(b[56:]),
		}
	}
	p.strings, err = p.bytes("section names", p.headers[names].Off, p.headers[names].Size)
	return err
}

// stringAt is the zero-terminated string at offs of a string table.
func stringAt(table []byte, offs uint32) ([]byte, error) {
	if uint64(offs) < uint64(len(table)) {
		rest := table[offs:]
		if n := bytes.IndexByte(rest[:min(len(rest), maxNameBytes)], 0); n >= 0 {
			return rest[:n], nil
		}
	}
	return nil, errorf("name at %d does not end in its string table of %d bytes, or is longer than %d", offs,
		len(table), maxNameBytes)
}

// readSections picks the sections to load: those with memory at run time, less what only a debugger or
// an unwinder reads.
func (p *parser) readSections() error {
	p.byIndex = make([]*section, len(p.headers))
	var total uint64
	for i := range p.headers {
		h := &p.headers[i]
		flags, kind := elf.SectionFlag(h.Flags), elf.SectionType(h.Type)
		if flags&elf.SHF_ALLOC == 0 || kind == elf.SHT_NULL || kind == elf.SHT_NOTE {
			continue
		}
		name, err := stringAt(p.strings, h.Name)
		if err != nil {
			return err
		}
		if string(name) == ".eh_frame" {
			if !p.unwind {
				continue
			}
			kind = elf.SHT_PROGBITS // x86-64 has a type of its own for it
		}
		s := &section{name: name, align: max(h.Addralign, 1), size: h.Size, number: i}
		switch {
		case kind != elf.SHT_PROGBITS && kind != elf.SHT_NOBITS:
			return errorf("unsupported section %q of type %v", name, kind)
		case bytes.HasPrefix(name, []byte(".ctors")) || bytes.HasPrefix(name, []byte(".dtors")):
			return errorf("unsupported constructors in section %q", name)
		case flags&elf.SHF_TLS != 0:
			return errorf("unsupported thread-local section %q", name)
		case flags&elf.SHF_COMPRESSED != 0:
			return errorf("unsupported compressed section %q", name)
		case flags&elf.SHF_WRITE != 0 && flags&elf.SHF_EXECINSTR != 0:
			return errorf("section %q is both writable and executable", name)
		case s.align&(s.align-1) != 0 || s.align > maxAlign:
			return errorf("section %q has alignment %d, not a power of two up to %d", name, s.align, maxAlign)
		case flags&elf.SHF_EXECINSTR != 0:
			s.group = groupText
		case flags&elf.SHF_WRITE != 0:
			s.group = groupData
		default:
			s.group = groupReadOnly
		}
		if s.size > maxImageBytes || total+s.size > maxImageBytes {
			return errorf("needs more than %d MB of memory", maxImageBytes>>20)
		}
		total += s.size
		if kind == elf.SHT_PROGBITS {
			if s.data, err = p.bytes(fmt.Sprintf("section %q", name), h.Off, h.Size); err != nil {
				return err
			}
		}
		p.byIndex[i] = s
		p.object.loaded = append(p.object.loaded, s)
	}
	return nil
}

// readSymbols reads the symbol table; an object without one has only symbol 0.
func (p *parser) readSymbols() error {
	p.object.symbols = []symbol{{place: absolute, local: true}}
	var table *elf.Section64
	for i := range p.headers {
		if elf.SectionType(p.headers[i].Type) == elf.SHT_SYMTAB {
			if table != nil {
				return errorf("two symbol tables")
			}
			table = &p.headers[i]
		}
	}
	if table == nil {
		return nil
	}
	if table.Size%symbolSize != 0 || uint64(table.Link) >= uint64(len(p.headers)) {
		return errorf("malformed symbol table (%d bytes, strings in section %d)", table.Size, table.Link)
	}
	data, err := p.bytes("symbol table", table.Off, table.Size)
	if err != nil {
		return err
	}
	names, err := p.bytes("symbol names", p.headers[table.Link].Off, p.headers[table.Link].Size)
	if err != nil {
		return err
	}
	for at := symbolSize; at < len(data); at += symbolSize {
		s, err := p.symbol(data[at:at+symbolSize], names)
		if err != nil {
			return err
		}
		p.object.symbols = append(p.object.symbols, s)
	}
	return nil
}

// symbol decodes one entry of the symbol table.
func (p *parser) symbol(b, names []byte) (symbol, error) {
	le := binary.LittleEndian
	info, index := b[4], elf.SectionIndex(le.Uint16(b[6:]))
	name, err := stringAt(names, le.Uint32(b))
	if err != nil {
		return symbol{}, err
	}
	s := symbol{name: name, value: le.Uint64(b[8:]), local: elf.ST_BIND(info) == elf.STB_LOCAL,
		weak: elf.ST_BIND(info) == elf.STB_WEAK, size: le.Uint64(b[16:]), code: elf.ST_TYPE(info) == elf.STT_FUNC}
	switch {
	case index == elf.SHN_UNDEF:
		s.place = undefined
	case index == elf.SHN_ABS:
		s.place = absolute
	case int(index) < len(p.byIndex) && p.byIndex[index] == nil:
		s.place = dropped
	case int(index) < len(p.byIndex):
		s.place, s.section = inSection, p.byIndex[index]
		if s.value > s.section.size {
			return symbol{}, errorf("symbol %q lies outside section %q", name, s.section.name)
		}
	default: // common symbols, and section numbers that do not exist
		s.place = unsupported
	}
	if t := elf.ST_TYPE(info); t == elf.STT_TLS || t == elf.STT_GNU_IFUNC {
		s.place = unsupported
	}
	return s, nil
}

// readRelocs reads the relocations of the loaded sections. Both machines use the form with addends only.
func (p *parser) readRelocs() error {
	le := binary.LittleEndian
	for i := range p.headers {
		h := &p.headers[i]
		kind := elf.SectionType(h.Type)
		if kind != elf.SHT_RELA && kind != elf.SHT_REL {
			continue
		}
		if uint64(h.Info) >= uint64(len(p.byIndex)) {
			return errorf("relocations for section %d, which does not exist", h.Info)
		}
		in := p.byIndex[h.Info]
		if in == nil {
			continue
		}
		if kind == elf.SHT_REL {
			return errorf("unsupported relocations without addends for section %q", in.name)
		}
		data, err := p.bytes("relocation table", h.Off, h.Size)
		if err != nil {
			return err
		}
		if len(data)%relaSize != 0 || (in.data == nil && len(data) > 0) {
			return errorf("malformed relocation table for section %q", in.name)
		}
		for ; len(data) > 0; data = data[relaSize:] {
			info := le.Uint64(data[8:])
			r := reloc{in: in, offs: le.Uint64(data), kind: elf.R_TYPE64(info), sym: elf.R_SYM64(info),
				addend: int64(le.Uint64(data[16:]))}
			if err := p.checkReloc(&r); err != nil {
				return err
			}
			p.object.relocs = append(p.object.relocs, r)
		}
	}
	return nil
}

func (p *parser) checkReloc(r *reloc) error {
	if r.offs >= r.in.size {
		return errorf("relocation at %d outside section %q", r.offs, r.in.name)
	}
	if uint64(r.sym) >= uint64(len(p.object.symbols)) {
		return errorf("relocation at %q+%d refers to symbol %d, which does not exist", r.in.name, r.offs, r.sym)
	}
	switch s := &p.object.symbols[r.sym]; s.place {
	case dropped:
		return errorf("relocation at %q+%d refers to %q in a section that is not loaded", r.in.name, r.offs, s.name)
	case unsupported:
		return errorf("unsupported symbol %q (common, thread-local or IFUNC)", s.name)
	}
	return nil
}
