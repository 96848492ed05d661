// Package emulated runs compiled functions on a processor that this machine does not have, under qemu: the Go program runner,
// built for that processor, loads the objects as any Go program does.
package emulated

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/libllvm"
	"healc/ir"
	"healc/runtime/abi"
	"healc/tests/emulated/wire"
	"healc/tests/random"
)

// Processor is one that can be emulated.
type Processor struct {
	Triple, GOARCH string
	qemu           []string // names of the emulator
	system         string   // where Debian has its C library
	packages       string   // what to install
}

// AArch64 has NEON.
var AArch64 = Processor{
	Triple: "aarch64-linux-gnu", GOARCH: "arm64", qemu: []string{"qemu-aarch64-static", "qemu-aarch64"}, system: "/usr/aarch64-linux-gnu",
	packages: "qemu-user-static libc6-arm64-cross libgcc-s1-arm64-cross",
}

// A Missing error says what this machine lacks.
type Missing struct{ What, Packages string }

func (e *Missing) Error() string {
	return fmt.Sprintf("there is no %s; Debian's packages %s have what is needed", e.What, e.Packages)
}

// Library is a set of functions on an emulated processor.
type Library struct {
	bundle *abi.Bundle
	cmd    *exec.Cmd
	in     io.Closer
	to     *gob.Encoder
	from   *gob.Decoder
}

// Usable says what this machine lacks to run programs for p, as a *Missing; nil when there is all.
func (p Processor) Usable() error {
	if libs, err := filepath.Glob(filepath.Join(p.system, "lib", "ld-linux-*")); err != nil || len(libs) == 0 {
		return &Missing{"C library for " + p.Triple, p.packages}
	}
	lib, err := libllvm.Open()
	if err != nil {
		return &Missing{"libLLVM", p.packages}
	}
	if !lib.HasTarget(p.Triple) {
		return &Missing{"libLLVM for " + p.Triple, p.packages}
	}
	_, err = p.Command("")
	return err
}

// Command runs a program for p in the emulator.
func (p Processor) Command(program string, args ...string) (*exec.Cmd, error) {
	for _, name := range p.qemu {
		if qemu, err := exec.LookPath(name); err == nil {
			return exec.Command(qemu, append([]string{"-L", p.system, program}, args...)...), nil
		}
	}
	return nil, &Missing{p.qemu[0], p.packages}
}

// Go builds a program for p: command is `go build` or `go test -c`, and what it builds.
func (p Processor) Go(output string, command ...string) error {
	last := len(command) - 1
	build := exec.Command("go", append(command[:last:last], "-o", output, command[last])...)
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+p.GOARCH, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w: %s", command, err, out)
	}
	return nil
}

// Build compiles l for p and starts the emulator. The error is a *Missing when this machine lacks something.
func Build(dir string, l *aot.Library, p Processor) (*Library, error) {
	if err := p.Usable(); err != nil {
		return nil, err
	}
	l.Target.Triple, l.Target.CPU = p.Triple, "generic"
	bundle, err := aot.Bundle(l)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(bundle)
	if err != nil {
		return nil, err
	}
	path, program := filepath.Join(dir, "bundle.json"), filepath.Join(dir, "runner")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return nil, err
	}
	if err := p.Go(program, "build", "healc/tests/emulated/runner"); err != nil {
		return nil, err
	}
	cmd, err := p.Command(program, path)
	if err != nil {
		return nil, err
	}
	e := &Library{bundle: bundle, cmd: cmd}
	e.cmd.Stderr = os.Stderr
	in, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.in, e.to, e.from = in, gob.NewEncoder(in), gob.NewDecoder(out)
	return e, e.cmd.Start()
}

// Close ends the emulator.
func (e *Library) Close() error { return errors.Join(e.in.Close(), e.cmd.Wait()) }

// Run calls an entry, with shape parameters as bind has them and arguments whose layouts are drawn from the seed.
func (e *Library) Run(name string, bind map[string]int64, input []*ir.Array, seed uint64, threads int) (*random.Outcome, error) {
	q := wire.Request{Func: -1, Threads: threads}
	for i := range e.bundle.Funcs {
		if e.bundle.Funcs[i].Name == name {
			q.Func = i
		}
	}
	if q.Func < 0 {
		return nil, fmt.Errorf("there is no function %q", name)
	}
	f := &e.bundle.Funcs[q.Func]
	values := map[string]int64{}
	for i, a := range input {
		t, err := random.Strided(a, seed+uint64(i))
		if err != nil {
			return nil, err
		}
		q.Strided = q.Strided || !t.IsContiguous()
		for k, s := range t.Strides {
			values[aot.StrideName(i, k)] = s
		}
		q.Args = append(q.Args, laid(a, t.Strides))
		t.Close()
	}
	plan := f.Packed.Plan
	if q.Strided = q.Strided && f.Strided != nil; q.Strided {
		plan = f.Strided.Plan
	}
	for _, d := range plan.Dims {
		n, ok := bind[d]
		if !ok {
			n = values[d]
		}
		q.Dims = append(q.Dims, n)
	}
	if err := e.to.Encode(&q); err != nil {
		return nil, err
	}
	var a wire.Response
	if err := e.from.Decode(&a); err != nil {
		return nil, fmt.Errorf("the emulator has ended: %w", err)
	}
	if a.Broken != "" {
		return nil, errors.New(a.Broken)
	}
	out := &random.Outcome{Failed: a.Failed}
	for _, r := range a.Results {
		out.Results = append(out.Results, &ir.Array{DType: r.DType, Shape: r.Shape, Bits: r.Memory})
	}
	return out, nil
}

// laid puts the elements of a where strides say.
func laid(a *ir.Array, strides []int64) wire.Array {
	w := wire.Array{DType: a.DType, Shape: a.Shape, Strides: strides}
	size := int64(1)
	for k, n := range a.Shape {
		if n == 0 {
			return w
		}
		far := (n - 1) * strides[k]
		if far < 0 {
			w.Offset -= far
		}
		size += max(far, -far)
	}
	w.Memory = make([]uint64, size)
	index := make([]int64, len(a.Shape))
	for _, bits := range a.Bits {
		at := w.Offset
		for k, i := range index {
			at += i * strides[k]
		}
		w.Memory[at] = bits
		for k := len(index) - 1; k >= 0; k-- {
			if index[k]++; index[k] < a.Shape[k] {
				break
			}
			index[k] = 0
		}
	}
	return w
}
