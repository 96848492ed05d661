package objload

import (
	"bytes"
	"encoding/binary"
	"sync"
)

// Options says how to load.
type Options struct {
	// Resolve finds a symbol that the object does not define. nil means Libraries.
	Resolve func(name string) (uintptr, error)

	// Inspect loads unwind tables, too, and keeps what debuggers and profilers ask for: Functions and File.
	Inspect bool
}

// Image is a loaded object. The addresses it gives out are valid until Close.
type Image struct {
	symbols map[string]uintptr
	size    int
	text    [2]uintptr // where the code begins and ends

	functions []Function // with Options.Inspect
	file      []byte

	mu  sync.Mutex
	mem []byte // nil after Close
}

// Function is a function of an image.
type Function struct {
	Name       string
	Addr, Size uintptr
}

// Load maps obj and makes it ready to be called: text can be executed and not written, read-only data
// only be read. It does not keep obj. The error is an *Error, or of the system when there is no memory.
func Load(obj []byte, o Options) (*Image, error) {
	askForTiles()
	parsed, err := parse(obj, o.Inspect)
	if err != nil {
		return nil, err
	}
	if parsed.machine != hostMachine {
		return nil, errorf("it is for %v, this machine is %v", parsed.machine, hostMachine)
	}
	l, err := newLayout(parsed, pageSize())
	if err != nil {
		return nil, err
	}
	resolve := o.Resolve
	if resolve == nil {
		resolve = Libraries
	}
	mem, base, err := mapMemory(int(l.size))
	if err != nil {
		return nil, err
	}
	if err = l.link(mem, base, resolve); err == nil {
		err = l.protect()
	}
	if err != nil {
		// The memory is ours and whole, so unmapping cannot fail.
		_ = unmapMemory(mem)
		return nil, err
	}
	from, to := l.groupRange(groupText)
	text := [2]uintptr{uintptr(base + from), uintptr(base + to)}
	img := &Image{symbols: l.exports(), size: len(mem), text: text, mem: mem}
	if o.Inspect {
		img.functions, img.file = l.functions(), l.placed(obj)
	}
	return img, nil
}

// functions are those that have a size, in the order of the object, whether others may see them or not.
func (l *layout) functions() (out []Function) {
	for i := range l.symbols {
		s := &l.symbols[i]
		if s.code && s.place == inSection && s.section.group == groupText && s.size > 0 &&
			s.size <= s.section.size-s.value {
			out = append(out, Function{string(s.name), uintptr(l.address(uint32(i))), uintptr(s.size)})
		}
	}
	return out
}

// placed is a copy of the object whose sections have the addresses at which they lie.
func (l *layout) placed(obj []byte) []byte {
	file := bytes.Clone(obj)
	table := binary.LittleEndian.Uint64(file[40:])
	for _, s := range l.loaded {
		binary.LittleEndian.PutUint64(file[table+uint64(s.number)*sectionSize+16:], l.base+s.offs)
	}
	return file
}

// exports are the symbols that others may see, by name. Of equal names the first counts.
func (l *layout) exports() map[string]uintptr {
	m := map[string]uintptr{}
	for i := range l.symbols {
		s := &l.symbols[i]
		if s.local || s.place != inSection {
			continue
		}
		if _, twice := m[string(s.name)]; !twice {
			m[string(s.name)] = uintptr(l.address(uint32(i)))
		}
	}
	return m
}

// Symbol is the address of a global function or variable of the object.
func (img *Image) Symbol(name string) (uintptr, bool) {
	addr, ok := img.symbols[name]
	return addr, ok
}

// Functions are those of the object, with Options.Inspect.
func (img *Image) Functions() []Function { return img.functions }

// File is the object with the addresses of its sections, with Options.Inspect.
func (img *Image) File() []byte { return img.file }

// SizeBytes is the memory that the image occupies.
func (img *Image) SizeBytes() int { return img.size }

// Close unmaps the image. No function of it may be running or be called later. Closing twice does nothing.
func (img *Image) Close() error {
	img.mu.Lock()
	defer img.mu.Unlock()
	if img.mem == nil {
		return nil
	}
	mem := img.mem
	img.mem = nil
	return unmapMemory(mem)
}
