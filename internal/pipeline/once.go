package pipeline

import (
	"slices"
	"strings"
	"time"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/tuned"
	"healc/internal/cache"
	"healc/internal/testhook"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/runtime/abi"
)

// Note [Once a host]
//
// The ranks of a run on one machine want code at the same time, and much of it is the same: kernels of what is not
// sharded, and those of ranks that have neighbours on both sides. So their code is kept by the kernel: each rank makes
// the kernels that no other has claimed, beginning with another one than its neighbours do, and then takes the others
// from the cache (Note [Claims] in package cache). There kernels have names that follow from what they do.

// claimPatience is how long a rank waits for a kernel that another one makes.
const claimPatience = 20 * time.Second

// byKernel reports whether code is kept by the kernel.
func (m *Module) byKernel(kept *cache.Cache) bool {
	return kept != nil && m.opts.Ranks.Size > 1 && !m.onDevice()
}

// sharedObjects is llvm.Objects for one of several ranks. The kernels get other names, in the plan, too.
func (m *Module) sharedObjects(km *kernel.Module, kept *cache.Cache, opts llvm.Options) ([][]byte, error) {
	var kernels []*sharedKernel
	names := map[string]string{}
	for _, k := range km.Kernels {
		s := m.shared(km, k, opts)
		names[k.Name] = s.k.Name
		if !slices.ContainsFunc(kernels, func(o *sharedKernel) bool { return o.key == s.key }) {
			kernels = append(kernels, s)
		}
	}
	transform.RenameLaunches(km.Plan, names)
	opts.Took = llvm.Locked(opts.Took)
	n := len(kernels)
	first := m.opts.Ranks.Rank * n / m.opts.Ranks.Size
	for _, patience := range []time.Duration{0, claimPatience} {
		err := codegen.Parallel(n, func(i int) error {
			s := kernels[(first+i)%n]
			if s.art != nil {
				return nil
			}
			art, release := kept.Claim(s.key, patience)
			if release != nil {
				defer release()
				testhook.Compiled(s.k.Name)
				object, err := llvm.CompileWith(s.alone(km), m.opts.Target, libllvm.Object, s.opts)
				if err != nil {
					return err
				}
				art = &codegen.Artifact{Plan: s.plan, Objects: [][]byte{object}}
				kept.Store(s.key, art)
			}
			s.art = art
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var objects [][]byte
	for _, s := range kernels {
		objects = append(objects, s.art.Objects...)
		s.tell(km.Plan)
	}
	return objects, nil
}

// sharedKernel is a kernel whose code is kept by itself.
type sharedKernel struct {
	k    *kernel.Kernel // with its name there
	key  string
	plan *abi.Program // one that launches it
	opts llvm.Options
	art  *codegen.Artifact // its code, and the launch as code generation has left it
}

// shared finds out under which key a kernel is kept.
func (m *Module) shared(km *kernel.Module, k *kernel.Kernel, opts llvm.Options) *sharedKernel {
	s := &sharedKernel{opts: opts, plan: &abi.Program{Name: k.Name}}
	s.opts.Effort, s.opts.Efforts = opts.Efforts[k.Name], nil
	set, isTuned := opts.Tuned[k.Name]
	called := &kernel.Module{Funcs: km.Funcs}
	s.key = m.key("kernel", transform.Identity(k), strings.Join(km.Dims, " "), called.String(),
		s.opts.Effort.String(), tuned.Text(map[string]tuned.Set{"": set}))
	one := *k
	one.Name = "k_" + s.key[:16]
	s.k = &one
	if s.opts.Tuned = nil; isTuned {
		s.opts.Tuned = map[string]tuned.Set{one.Name: set}
	}
	if l := firstLaunch(km.Plan, k.Name); l != nil {
		launch := *l
		launch.Kernel, launch.Args, launch.Edges = one.Name, nil, nil
		s.plan.Funcs = []*abi.Function{{Steps: []abi.Step{{Launch: &launch}}}}
	}
	return s
}

// alone is a module of the kernel.
func (s *sharedKernel) alone(km *kernel.Module) *kernel.Module {
	out := *km
	out.Kernels, out.Plan = []*kernel.Kernel{s.k}, s.plan
	return &out
}

// tell tells a plan what code generation has to say of launches of the kernel.
func (s *sharedKernel) tell(plan *abi.Program) {
	from := firstLaunch(s.art.Plan, s.k.Name)
	if from == nil {
		return
	}
	transform.Launches(plan, func(l *abi.Launch) {
		if l.Kernel == s.k.Name {
			l.Tasks, l.Work, l.Bytes, l.Align, l.Stack = from.Tasks, from.Work, from.Bytes, from.Align, from.Stack
		}
	})
}

// firstLaunch is the first launch of a kernel; nil where there is none.
func firstLaunch(plan *abi.Program, name string) (first *abi.Launch) {
	transform.Launches(plan, func(l *abi.Launch) {
		if l.Kernel == name && first == nil {
			first = l
		}
	})
	return first
}
