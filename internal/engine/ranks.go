package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"healc/internal/identity"
	"healc/runtime"
	"healc/runtime/cluster"
	"healc/runtime/collective"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// Note [Ranks]. A module of several ranks runs on each of them: every rank makes the same calls in the same order, one
// at a time. What is not sharded is computed by all of them. A call begins with a meeting, in which the ranks compare
// what they are about to do, and ends with one, so that a failure of one is an error of all (Note [Agreement] in
// runtime/cluster). What the program prints is printed by rank 0 alone, and so is written what is not sharded.

// rankSystem is input and output of a rank.
type rankSystem struct {
	runtime.System
	cluster cluster.Comm
}

// Print implements runtime.System.
func (s rankSystem) Print(text string) error {
	if s.cluster.Rank() > 0 {
		return nil
	}
	return s.System.Print(text)
}

// LoadNpyPart implements runtime.NpyPartLoader.
func (s rankSystem) LoadNpyPart(path string, cut tensorfile.Cut) (*tensor.Tensor, error) {
	return runtime.LoadNpyPart(s.System, path, cut)
}

// SaveNpy implements runtime.System. No rank goes on before the file is there: it may read it.
func (s rankSystem) SaveNpy(path string, t *tensor.Tensor) (err error) {
	if s.cluster.Rank() == 0 {
		err = s.System.SaveNpy(path, t)
	}
	return cluster.Settle(s.cluster, cluster.Anywhere, cluster.FailedCode, err)
}

// SaveImage implements runtime.ImageSaver, as SaveNpy is.
func (s rankSystem) SaveImage(path string, form tensorfile.Image, t *tensor.Tensor) (err error) {
	if s.cluster.Rank() == 0 {
		err = runtime.SaveImage(s.System, path, form, t)
	}
	return cluster.Settle(s.cluster, cluster.Anywhere, cluster.FailedCode, err)
}

// SharedFiles implements runtime.FileSharer.
func (s rankSystem) SharedFiles() collective.Files { return runtime.SharedFiles(s.System) }

// DisagreeError says that two ranks are not about to do the same.
type DisagreeError struct {
	What        string // in which they differ
	Rank        int    // which differs from rank 0
	First, Then string // what rank 0 has, and what that rank has
}

func (e *DisagreeError) Error() string {
	return fmt.Sprintf("the ranks do not run the same: %s differ\nrank 0: %s\nrank %d: %s", e.What, e.First, e.Rank,
		e.Then)
}

// aspect is something in which ranks may differ.
type aspect struct{ what, text string }

// mostText is how much of the text of an aspect an error shows.
const mostText = 2000

// meet compares what this rank is about to do with what the others are.
func (f *Func) meet(args []*tensor.Tensor) error {
	c := f.m.opts.Cluster
	if err := cluster.Settle(c, 0, cluster.FailedCode, nil); err != nil {
		return err
	}
	about := f.about(args)
	each, n := len(about), c.Size()
	words := make([]uint64, n*each)
	for i, a := range about {
		sum := sha256.Sum256([]byte(a.text))
		words[c.Rank()*each+i] = binary.LittleEndian.Uint64(sum[:])
	}
	if err := c.Meet(words); err != nil {
		return err
	}
	for i := range each {
		for r := 1; r < n; r++ {
			if words[r*each+i] != words[i] {
				return f.disagree(about[i], r)
			}
		}
	}
	return nil
}

// disagree is the error of all ranks where rank r differs from the first.
func (f *Func) disagree(a aspect, r int) error {
	c := f.m.opts.Cluster
	text := []byte(a.text)[:min(len(a.text), mostText)]
	lengths := make([]uint64, c.Size())
	lengths[c.Rank()] = uint64(len(text))
	if err := c.Meet(lengths); err != nil {
		return err
	}
	counts, sum := make([]int, c.Size()), 0
	for i, n := range lengths {
		counts[i] = int(min(n, mostText))
		sum += counts[i]
	}
	all := make([]byte, sum)
	copy(cluster.Part(all, counts, c.Rank()), text)
	if err := c.AllGather(all, counts); err != nil {
		return err
	}
	failed := &cluster.FailedError{Code: cluster.FailedCode, Known: true}
	if c.Rank() == 0 {
		failed.Err = &DisagreeError{What: a.what, Rank: r, First: string(cluster.Part(all, counts, 0)),
			Then: string(cluster.Part(all, counts, r))}
	}
	return failed
}

// about is what has to be the same on all ranks. The values of inputs are looked at in the first call of a function.
func (f *Func) about(args []*tensor.Tensor) []aspect {
	first := f.met.CompareAndSwap(false, true)
	var kinds, sums []string
	for i, t := range args {
		name := fmt.Sprint(i)
		if p := f.ir.Params(); i < len(p) {
			name = p[i].Name
		}
		kind, sum := f.described(i, t, first)
		kinds = append(kinds, name+": "+kind)
		if sum != "" {
			sums = append(sums, name+": "+sum)
		}
	}
	o := &f.m.opts
	return []aspect{
		{"the builds of healc", identity.Source()},
		{"the programs", f.m.summary()},
		{"the functions that are called", f.Signature()},
		{"the options", fmt.Sprintf("backend %s, at most %d steps and %d bytes (0 is any number), %s",
			o.Backend, o.Limits.Steps, o.Limits.Memory, o.Checkpoint)},
		{"the shapes of the inputs", strings.Join(kinds, ", ")},
		{"the values of the inputs", strings.Join(sums, ", ")},
	}
}

// summary tells the program from others.
func (m *Module) summary() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sum == "" {
		name := m.IR().Name
		if p := m.Program(); p != nil && p.Source != nil {
			name = p.Source.Name
		}
		m.sum = fmt.Sprintf("%s, tensor IR %.12x", name, sha256.Sum256([]byte(m.IR().String())))
	}
	return m.sum
}

// checksum is that of the elements of a tensor on the host; what is on a device came from there.
func checksum(t *tensor.Tensor) string {
	const unknown = "not compared"
	if t == nil {
		return unknown
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	if text, ok := t.Text(); ok {
		return fmt.Sprintf("checksum %08x", crc32.Checksum([]byte(text), table))
	}
	if t.HostErr() != nil || t.Device() != nil {
		return unknown
	}
	dense, err := t.Contiguous()
	if err != nil {
		return unknown
	}
	defer dense.Close()
	return fmt.Sprintf("checksum %08x", crc32.Checksum(dense.Raw(), table))
}

// together makes a call that other ranks make as well.
func (f *Func) together(ctx context.Context, args []*tensor.Tensor, call func() error) error {
	meet := func(with func() error) error {
		_, err := runtime.Before(ctx, 0, func() (struct{}, error) { return struct{}{}, with() }, nil)
		return err
	}
	if err := meet(func() error { return f.meet(args) }); err != nil {
		return err
	}
	if err := call(); err != nil { // which waits for the others, but not long
		place := uint64(cluster.Anywhere) // ranks take the same steps, so what comes first would also fail first on one
		var failure *runtime.RuntimeError
		if errors.As(err, &failure) && failure.Step > 0 {
			place = uint64(failure.Step)
		}
		return cluster.Settle(f.m.opts.Cluster, place, exitCode(err), err)
	}
	return meet(func() error { return cluster.Settle(f.m.opts.Cluster, 0, 0, nil) })
}

// exitCode is that of a run which ends with an error of a call: its own, where it has one as what a signal ends does.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	var argument *runtime.ArgumentError
	switch {
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.As(err, &argument):
		return usageCode
	}
	return cluster.FailedCode
}

// usageCode is the exit code of healc for inputs that do not fit.
const usageCode = 2
