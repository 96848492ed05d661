package machine

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"unsafe"
)

// Region is a piece of memory with an address of its own: an allocation, a global or constant variable, a shared
// variable. What lies between regions belongs to nobody.
type Region struct {
	base     uint64
	Data     []byte
	written  []uint64 // a bit for each byte; nil: all of it was written
	readOnly bool
	name     string
	races    shadow
	mu       sync.Mutex // while several blocks run at a time
}

// gap is what is left free around an allocation, so that an index that is too large or negative hits nothing.
const gap = 1 << 12

// Alloc reserves memory, aligned to 256 bytes as the driver does it. It is not initialised. Alloc(0) is an address that
// must not be accessed.
func (d *Device) Alloc(bytes int64) (uint64, error) {
	if bytes < 0 {
		return 0, fmt.Errorf("ptxsim: %d bytes cannot be allocated", bytes)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used+bytes > d.opts.Bytes {
		return 0, fmt.Errorf("ptxsim: out of memory: %d bytes wanted, %d of %d in use", bytes, d.used, d.opts.Bytes)
	}
	r := d.place(int(bytes), 256)
	r.name = "allocation"
	r.written = make([]uint64, (bytes+63)/64)
	d.used += bytes
	return r.base, nil
}

// AllocManaged is Alloc for memory that the host reaches as well, as b, at the same address. It is zero, and counts as
// written, since nobody sees what the host writes.
func (d *Device) AllocManaged(bytes int64) (addr uint64, b []byte, err error) {
	if bytes < 0 {
		return 0, nil, fmt.Errorf("ptxsim: %d bytes cannot be allocated", bytes)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used+bytes > d.opts.Bytes {
		return 0, nil, fmt.Errorf("ptxsim: out of memory: %d bytes wanted, %d of %d in use", bytes, d.used,
			d.opts.Bytes)
	}
	const align = 256
	raw := make([]byte, bytes+align)
	pad := -uint64(uintptr(unsafe.Pointer(&raw[0]))) % align
	b = raw[pad : pad+uint64(bytes) : pad+uint64(bytes)]
	r := &Region{base: uint64(uintptr(unsafe.Pointer(&raw[0]))) + pad, Data: b, name: "allocation"}
	d.regions = slices.Insert(d.regions, search(d.regions, r.base)+1, r)
	d.freed = slices.DeleteFunc(d.freed, func(s span) bool {
		return s.base < r.base+uint64(bytes) && r.base < s.base+s.size
	})
	d.used += bytes
	return r.base, b, nil
}

// place makes a region at the next free address, which is never used again.
func (d *Device) place(size, align int) *Region {
	base := (d.top + uint64(align) - 1) &^ (uint64(align) - 1)
	d.top = base + uint64(size) + gap
	r := &Region{base: base, Data: make([]byte, size)}
	d.regions = append(d.regions, r)
	return r
}

// Free gives memory back. Accesses to it from then on are faults.
func (d *Device) Free(addr uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := search(d.regions, addr)
	if i < 0 || d.regions[i].base != addr || d.regions[i].name != "allocation" {
		return fmt.Errorf("ptxsim: %#x is not the address of an allocation", addr)
	}
	r := d.regions[i]
	d.used -= int64(len(r.Data))
	d.regions = append(d.regions[:i], d.regions[i+1:]...)
	d.freed = append(d.freed, span{r.base, uint64(len(r.Data))})
	if len(d.freed) > maxFreed {
		d.freed = append([]span(nil), d.freed[len(d.freed)-maxFreed/2:]...)
	}
	return nil
}

// maxFreed is how many freed allocations are remembered for messages.
const maxFreed = 1 << 16

// span is a range of addresses.
type span struct{ base, size uint64 }

// search is the index of the region with the largest base up to addr, or -1. Regions are sorted by their addresses:
// those of place only grow, and lie above those of Go, where managed memory is.
func search(regions []*Region, addr uint64) int {
	return sort.Search(len(regions), func(i int) bool { return regions[i].base > addr }) - 1
}

// host is the memory [addr, addr+n), which has to be in one allocation.
func (d *Device) host(what string, addr uint64, n int64) (*Region, int, error) {
	i := search(d.regions, addr)
	if i < 0 || addr-d.regions[i].base+uint64(n) > uint64(len(d.regions[i].Data)) {
		return nil, 0, fmt.Errorf("ptxsim: %s of %d bytes at %#x: %s", what, n, addr, d.explain(addr))
	}
	return d.regions[i], int(addr - d.regions[i].base), nil
}

// explain says what is at an address, for messages.
func (d *Device) explain(addr uint64) string {
	for _, s := range d.freed {
		if addr-s.base < max(s.size, 1) {
			return fmt.Sprintf("it is %d bytes into an allocation of %d bytes that was freed", addr-s.base, s.size)
		}
	}
	return nearest(d.regions, addr)
}

// nearest says where an address lies relative to the regions around it.
func nearest(regions []*Region, addr uint64) string {
	i := search(regions, addr)
	if i >= 0 {
		r := regions[i]
		if off := addr - r.base; off < uint64(len(r.Data))+gap/2 || i+1 == len(regions) {
			return fmt.Sprintf("it is at byte %d of %s, which has %d bytes at %#x", off, r.name, len(r.Data), r.base)
		}
	}
	if i+1 < len(regions) {
		r := regions[i+1]
		return fmt.Sprintf("it is %d bytes before %s, which has %d bytes at %#x", r.base-addr, r.name, len(r.Data),
			r.base)
	}
	return "there is nothing"
}

// Write copies from the host. The bytes must lie in one allocation.
func (d *Device) Write(addr uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r, off, err := d.host("a copy to the device", addr, int64(len(b)))
	if err != nil {
		return err
	}
	copy(r.Data[off:], b)
	r.filled(off, len(b))
	return nil
}

// Read copies to the host. The bytes must lie in one allocation; whether they were ever written is not checked.
func (d *Device) Read(addr uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r, off, err := d.host("a copy from the device", addr, int64(len(b)))
	if err != nil {
		return err
	}
	copy(b, r.Data[off:])
	return nil
}

// Copy copies n bytes from one place on the device to another, with what of them was not written yet. The two must not
// overlap.
func (d *Device) Copy(dst, src uint64, n int64) error {
	if n <= 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s, so, err := d.host("a copy on the device from", src, n)
	if err != nil {
		return err
	}
	t, to, err := d.host("a copy on the device to", dst, n)
	if err != nil {
		return err
	}
	copy(t.Data[to:to+int(n)], s.Data[so:])
	t.wrote(to, int(n))
	for i := range int(n) {
		if s.isWritten(so+i, 1) {
			continue
		}
		if t.written == nil {
			t.written = make([]uint64, (len(t.Data)+63)/64)
			t.wrote(0, len(t.Data))
		}
		t.written[(to+i)/64] &^= 1 << ((to + i) % 64)
	}
	return nil
}

// Memset sets n bytes.
func (d *Device) Memset(addr uint64, value byte, n int64) error {
	if n <= 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r, off, err := d.host("a memset", addr, n)
	if err != nil {
		return err
	}
	b := r.Data[off : off+int(n)]
	for i := range b {
		b[i] = value
	}
	r.filled(off, int(n))
	return nil
}

// wrote notes that n bytes from off on have a value.
func (r *Region) wrote(off, n int) {
	if r.written == nil {
		return
	}
	for n > 0 {
		i := off % 64
		k := min(n, 64-i)
		r.written[off/64] |= ^uint64(0) >> (64 - k) << i
		off, n = off+k, n-k
	}
}

// filled is wrote for what the host does, and forgets about single bytes when all of them have values.
func (r *Region) filled(off, n int) {
	if n == len(r.Data) {
		r.written = nil
	}
	r.wrote(off, n)
}

// isWritten says whether n bytes, at most 64, have values.
func (r *Region) isWritten(off, n int) bool {
	if r.written == nil {
		return true
	}
	i := off % 64
	if i+n <= 64 {
		m := ^uint64(0) >> (64 - n) << i
		return r.written[off/64]&m == m
	}
	k := 64 - i
	return r.isWritten(off, k) && r.isWritten(off+k, n-k)
}
