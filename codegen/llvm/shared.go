package llvm

import (
	"maps"
	"slices"
	"sync"

	"healc/codegen"
	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/target"
	"healc/ir/kernel"
)

// Shared are functions that the kernels of several modules for one processor call, such as transforms. Each is a
// module of its own, which is linked with them.
type Shared struct {
	prefix string // of the names of the functions
	mu     sync.Mutex
	write  map[string]func(m *emit.Module)
}

// NewShared has no functions yet. Their names begin with prefix.
func NewShared(prefix string) *Shared {
	return &Shared{prefix: prefix, write: map[string]func(m *emit.Module){}}
}

// Symbol implements emit.Shared.
func (s *Shared) Symbol(name string) string { return s.prefix + name }

// Elsewhere implements emit.Shared.
func (s *Shared) Elsewhere(name string, write func(m *emit.Module)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write[name] = write
	return true
}

// here is Shared for the module of a function.
type here struct{ *Shared }

func (here) Elsewhere(string, func(m *emit.Module)) bool { return false }

// Prepare generates the text of all functions that modules have asked for, one module each, in the order of their
// names. It also gives what arrays of all of them take of the stack.
func (s *Shared) Prepare(t codegen.Target, opts Options) (texts []*Prepared, frames int64) {
	opts.Machine = target.MachineOf(t)
	if opts.Profile != nil {
		opts.Machine = opts.Machine.With(opts.Profile)
	}
	for _, name := range slices.Sorted(maps.Keys(s.write)) {
		p := newProgram(&kernel.Module{Name: name}, opts.Machine, nil)
		p.Module.Shared = here{s}
		s.write[name](p.Module)
		for _, f := range p.M.Funcs {
			frames += arrays(f)
		}
		opts.mark(p.M)
		texts = append(texts, &Prepared{km: p.Km, target: t, opts: opts, text: build.Text(p.M)})
	}
	return texts, frames
}
