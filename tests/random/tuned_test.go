package random

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"healc"
	"healc/codegen/llvm"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/codegen/target/tuned"
	"healc/internal/engine"
	"healc/ir/kernel"
	"healc/tests/sample"
)

// TestTuneFiles compares the interpreter with the CPU, bit for bit, on random programs under random tune files: no
// number that a kernel has for itself changes a result.
func TestTuneFiles(t *testing.T) {
	n := 2000 / sample.Part(10)
	if testing.Short() {
		n = 40
	}
	seed, n := seedsOf(t, 3<<18, n)
	var mu sync.Mutex
	kernels, changed := 0, 0
	each(t, from(seed, n), func(seed uint64) (msg string, shown func() string) {
		u := &underTuning{seed: seed, r: rand.New(rand.NewPCG(seed, 7))}
		msg = u.run(t)
		mu.Lock()
		kernels += u.kernels
		changed += u.changed
		mu.Unlock()
		return msg, func() string { return fmt.Sprintf("%s\n%s", u.file.Text(), u.p) }
	})
	t.Logf("%d kernels in %d programs, of which %d are written in another way", kernels, n, changed)
	if n >= 40 && changed < n/40 {
		t.Errorf("%d kernels of %d programs are written in another way: there is little to compare", changed, n)
	}
}

// underTuning is one program with a random tune file.
type underTuning struct {
	seed             uint64
	r                *rand.Rand
	p                *Program
	file             *tuned.File
	kernels, changed int
}

// run runs the program; the message says what is wrong.
func (u *underTuning) run(t *testing.T) string {
	u.p = New(u.seed, map[string]int{})
	want := interpreted(u.p, u.p.IR)
	opts := engine.Options{Backend: heal.CPU, Threads: 1 + u.r.IntN(2), Once: u.r.IntN(4) == 0}
	opts.Target = drawTarget(t, u.r, "", "x86-64", "x86-64-v3")
	if err := u.tune(opts); err != nil {
		return err.Error()
	}
	opts.Tuned, opts.RequireTuned = u.file, true
	return against(want, u.p, opts)
}

// tune makes a file with an entry for each kernel of the program, as Run calls it.
func (u *underTuning) tune(opts engine.Options) error {
	u.file = &tuned.File{Name: "random.tune"}
	m, err := engine.CompileIR(u.p.IR, opts)
	if err != nil {
		return err
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		return err
	}
	var shapes, strides [][]int64
	for i, a := range u.p.Input {
		arg, err := Strided(a, u.p.Seed+uint64(i))
		if err != nil {
			return err
		}
		shapes, strides = append(shapes, arg.Shape), append(strides, arg.Strides)
		arg.Close()
	}
	bind, err := f.BindDims(shapes)
	if err != nil {
		return err
	}
	km, err := m.Kernels("f", bind, strides)
	if err != nil {
		return nil // the program fails, which Run finds, too
	}
	machine := target.MachineOf(opts.Target)
	for _, k := range km.Kernels {
		set := u.set(machine.Profile)
		e := tuned.Entry{Key: tuned.KeyOf(k, tuned.ProcessorOf(opts.Target)), Name: k.Name, Set: set}
		if u.file.Find(e.Key) != nil {
			continue
		}
		u.file.Put(e)
		u.kernels++
		one := &kernel.Module{Name: km.Name, Dims: km.Dims, Sites: km.Sites, Funcs: km.Funcs, Plan: km.Plan,
			Kernels: []*kernel.Kernel{k}}
		usual, err := llvm.Generate(one, llvm.Options{Machine: machine})
		if err != nil {
			return err
		}
		other, err := llvm.Generate(one, llvm.Options{Machine: machine, Tuned: map[string]tuned.Set{k.Name: set}})
		if err != nil {
			return err
		}
		if usual != other {
			u.changed++
		}
	}
	return nil
}

// set is some of the numbers of a random profile.
func (u *underTuning) set(usual *profile.Profile) tuned.Set {
	if u.r.IntN(8) == 0 {
		return nil
	}
	out, p := tuned.Set{}, Profile(u.r)
	for _, f := range profile.Fields() {
		if f.OfKernels() && f.Get(p) != f.Get(usual) && u.r.IntN(3) > 0 {
			out[f.Name] = f.Get(p)
		}
	}
	return out
}
