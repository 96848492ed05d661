package reach

import (
	"slices"
	"sync"
	"unsafe"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// observer notes what one program reaches. It is an emit.Observer.
type observer struct {
	mu    sync.Mutex
	place placer

	blocks  map[*lir.Block]string
	written map[*lir.Block][]string // peepholes, and arms of choices that all iterations in it take

	slots [][]byte     // what generated code writes a 1 into
	names [][][]string // of each slot of each of them
	found map[string]bool
	wrote map[string]bool // blocks that stand in the code, whether they run or not

	stands bool // nobody knows what of the code runs: on a device, or where this machine cannot run it
}

func newObserver(s *sites) *observer {
	return &observer{place: placer{s: s, last: map[string]int{}}, blocks: map[*lir.Block]string{},
		written: map[*lir.Block][]string{}, found: map[string]bool{}, wrote: map[string]bool{}}
}

// Block notes which block of the emitters b is.
func (o *observer) Block(b *lir.Block) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.blocks[b] = o.place.here(b.Parent, 2)
	if o.stands && o.blocks[b] != "" {
		o.wrote[o.blocks[b]] = true
	}
}

// Peephole notes the peephole whose instructions are in b.
func (o *observer) Peephole(name string, b *lir.Block) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written[b] = append(o.written[b], "peephole "+name)
	if o.stands {
		o.wrote["peephole "+name] = true
	}
}

// Arm notes the arm of a choice that is taken in b, or where some is true.
func (o *observer) Arm(name string, b *lir.Block, some value.Value) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name = "choice " + name
	switch {
	case o.stands:
		o.wrote[name] = true
	case some == nil:
		o.written[b] = append(o.written[b], name)
	default:
		slot := make([]byte, 1)
		was := b.NewLoad(lt.I8, slotAt(&slot[0]))
		was.Volatile = true
		b.NewStore(b.NewOr(was, b.NewZExt(some, lt.I8)), slotAt(&slot[0])).Volatile = true
		o.wrote[name] = true
		o.slots, o.names = append(o.slots, slot), append(o.names, [][]string{{name}})
	}
}

// slotAt is the address of a byte, which is Go's, and does not move.
func slotAt(slot *byte) value.Value {
	at := constant.NewInt(lt.I64, int64(uintptr(unsafe.Pointer(slot))))
	return constant.NewIntToPtr(at, lt.NewPointer(lt.I8))
}

// Module makes every block note that it runs.
func (o *observer) Module(m *lir.Module) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var blocks []*lir.Block
	var names [][]string
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			what := o.written[b]
			if name := o.blocks[b]; name != "" {
				what = append(what, name)
			}
			if len(what) > 0 {
				blocks, names = append(blocks, b), append(names, what)
			}
		}
	}
	slots := make([]byte, len(blocks)+1)
	for k, b := range blocks {
		note(b, &slots[k])
		for _, name := range names[k] {
			o.wrote[name] = true
		}
	}
	o.slots, o.names = append(o.slots, slots), append(o.names, names)
}

// note makes b write a 1 into a byte when it runs.
func note(b *lir.Block, slot *byte) {
	st := lir.NewStore(constant.NewInt(lt.I8, 1), slotAt(slot))
	st.Volatile = true
	phis := 0
	for phis < len(b.Insts) {
		if _, is := b.Insts[phis].(*lir.InstPhi); !is {
			break
		}
		phis++
	}
	b.Insts = slices.Insert(b.Insts, phis, lir.Instruction(st))
}

// schedule notes the directives of a kernel and their arguments.
func (o *observer) schedule(s *kernel.Schedule) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kernel.Directives(s.Directives).Walk(func(d *kernel.Directive) {
		o.found["directive "+d.Kind] = true
		for _, a := range d.Args {
			if kind := argOf(d.Kind, a.Name); kind != nil && isVariant(*kind) && a.Value != 0 {
				o.found["directive "+d.Kind+" "+a.Name] = true
			}
		}
	})
}

// done adds what has run.
func (o *observer) done() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, slots := range o.slots {
		for k, names := range o.names[i] {
			for _, name := range names {
				if slots[k] != 0 {
					o.found[name] = true
				}
			}
		}
	}
}
