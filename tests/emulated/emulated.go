// Package emulated runs compiled functions on a processor that this machine does not have, under qemu: the Go program
// runner, built for that processor, loads the objects as any Go program does.
package emulated

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"

	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/libllvm"
	"healc/runtime/abi"
	"healc/runtime/tensor"
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
	Triple: "aarch64-linux-gnu", GOARCH: "arm64", qemu: []string{"qemu-aarch64-static", "qemu-aarch64"},
	system:   "/usr/aarch64-linux-gnu",
	packages: "qemu-user-static libc6-arm64-cross libgcc-s1-arm64-cross",
}

// Here is this machine, as if it were emulated.
var Here = Processor{GOARCH: goruntime.GOARCH}

// A Missing error says what this machine lacks.
type Missing struct{ What, Packages string }

func (e *Missing) Error() string {
	return fmt.Sprintf("there is no %s; Debian's packages %s have what is needed", e.What, e.Packages)
}

// Library is a set of functions on an emulated processor.
type Library struct {
	*Machine
	bundle *abi.Bundle
}

// Usable says what this machine lacks to run programs for p, as a *Missing; nil when there is all.
func (p Processor) Usable() error {
	if p.qemu == nil {
		return nil
	}
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
	if p.qemu == nil {
		return exec.Command(program, args...), nil
	}
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

// Start runs the runner in the emulator. The error is a *Missing when this machine lacks something.
func (p Processor) Start(dir string) (*Machine, error) {
	if err := p.Usable(); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "runner")
	if err := p.Go(program, "build", "healc/tests/emulated/runner"); err != nil {
		return nil, err
	}
	cmd, err := p.Command(program)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return newMachine(out, in, func() error { return errors.Join(in.Close(), cmd.Wait()) }), nil
}

// Library compiles l, whose target is one kind of processor, for the machine.
func (m *Machine) Library(l *aot.Library) (*Library, error) {
	bundle, err := aot.Bundle(l)
	if err != nil {
		return nil, err
	}
	return &Library{m, bundle}, nil
}

// Run calls an entry, with shape parameters as bind has them. It writes into args what the entry updates, and updated
// are these.
func (e *Library) Run(name string, bind map[string]int64, args []*tensor.Tensor, threads int) (results,
	updated []*tensor.Tensor, err error) {
	k := slices.IndexFunc(e.bundle.Funcs, func(f abi.BundleFunc) bool { return f.Name == name })
	if k < 0 {
		return nil, nil, fmt.Errorf("there is no function %q", name)
	}
	f := &e.bundle.Funcs[k]
	values, strided := map[string]int64{}, false
	for i, t := range args {
		strided = strided || !t.IsContiguous()
		for k, s := range t.Strides {
			values[aot.StrideName(i, k)] = s
		}
	}
	code := &f.Packed
	if strided && f.Strided != nil {
		code = f.Strided
	}
	var dims []int64
	for _, d := range code.Plan.Dims {
		n, ok := bind[d]
		if !ok {
			n = values[d]
		}
		dims = append(dims, n)
	}
	results, err = e.Call(code.Plan, code.Objects, threads, dims, args)
	return results, changed(code.Plan.Funcs[0], args), err
}
