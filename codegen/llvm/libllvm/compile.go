package libllvm

import (
	"fmt"
	"strings"
	"time"
	"unsafe"
)

// Output is what Compile produces.
type Output uint8

// The outputs.
const (
	Object   Output = iota // a relocatable ELF object
	Assembly               // the target's assembly; PTX for nvptx64
	IR                     // the optimised module as IR text
)

// Reloc is the relocation model.
type Reloc uint8

// The relocation models. PIC is the one that runtime/objload and shared libraries need.
const (
	PIC Reloc = iota
	Static
)

// CodeModel says how far code and data may be apart.
type CodeModel uint8

// The code models. Small means that code and data of one object lie within 2 GB.
const (
	Small CodeModel = iota
	Large
)

// NoPasses is the pipeline that does nothing: making even an empty one takes LLVM most of a millisecond.
const NoPasses = "none"

// Options says how to compile. The zero value compiles without optimisation for this machine.
type Options struct {
	Triple   string // "" for the host's
	CPU      string // "" for the host's processor, or a plain one when Triple is another architecture
	Features string // changes to the features of CPU or of the host, such as "+avx2,-prefer-256-bit"

	OptLevel int // 0 to 3, for the pass pipeline and for instruction selection
	// a pipeline in the syntax of `opt -passes`; "" for "default<O3>" and so on by OptLevel; NoPasses for none
	Passes string

	Emit          Output
	Reloc         Reloc
	CodeModel     CodeModel
	DisableVerify bool // skip LLVM's verifier, which costs a few percent; invalid IR then crashes
	VerboseAsm    bool // comments in assembly

	Took func(stage string, d time.Duration) // is told how long each stage took; nil for nobody
	// Frames is told the bytes of the frame of each function that has the attribute "warn-stack-size"="0", where they
	// are not 0; nil for nobody.
	Frames func(function string, bytes int64)
}

// Compile parses ir, optimises it and generates code. The module gets the triple and the data layout
// of the target, whatever the text says. The same input gives the same bytes.
//
// Errors are *CompileError, *ProcessorError, and for a target that the library lacks or that heal has no use for, a
// plain error.
func (l *Lib) Compile(ir string, o Options) ([]byte, error) {
	if o.OptLevel < 0 || o.OptLevel > 3 {
		return nil, fmt.Errorf("optimisation level %d is not in 0..3", o.OptLevel)
	}
	named := o.CPU != ""
	l.defaults(&o)
	if err := l.initTarget(o.Triple); err != nil {
		return nil, err
	}
	if named {
		if err := l.checkProcessor(&o); err != nil {
			return nil, err
		}
	}
	c := &compilation{lib: l, options: o, stage: Parse}
	return c.run(ir)
}

// defaults replaces the empty Triple, CPU and Features.
func (l *Lib) defaults(o *Options) {
	host := l.HostTriple()
	if o.Triple == "" {
		o.Triple = host
	}
	if o.CPU != "" {
		return
	}
	target, _ := targetName(o.Triple)
	if hostTarget, _ := targetName(host); target == hostTarget {
		var features string
		o.CPU, features = l.HostCPU()
		if o.Features == "" {
			o.Features = features
		} else {
			// Later entries win, so what the caller names is a change to the host's set.
			o.Features = features + "," + o.Features
		}
	}
}

// compilation is the state of one Compile call.
type compilation struct {
	lib     *Lib
	options Options
	stage   Stage // where we are, for errors

	diagnosis    *diagnosis
	ctx, mod, tm handle
}

// run does all stages and frees everything, unless LLVM fails fatally: see Note [Fatal errors].
func (c *compilation) run(ir string) (out []byte, err error) {
	l := c.lib
	id, d := newDiagnosis(l)
	c.diagnosis, d.frames = d, c.options.Frames
	defer diagnoses.Delete(id)
	defer func() {
		if p := recover(); p != nil {
			fatal, ok := p.(fatalError)
			if !ok {
				panic(p)
			}
			out, err = nil, c.fail(string(fatal))
			return
		}
		// A module goes before its context.
		if c.mod != 0 {
			l.DisposeModule(c.mod)
		}
		if c.tm != 0 {
			l.DisposeTargetMachine(c.tm)
		}
		l.ContextDispose(c.ctx)
	}()

	c.ctx = l.ContextCreate()
	l.ContextSetDiagnosticHandler(c.ctx, diagnosticHandler(), id)
	for _, step := range []struct {
		stage Stage
		do    func() error
	}{
		{Parse, func() error { return c.parse(ir) }},
		{Target, c.target},
		{Verify, c.verify},
		{Passes, c.passes},
		{Emit, func() error { out, err = c.emit(); return err }},
	} {
		c.stage = step.stage
		start := time.Now()
		if err := step.do(); err != nil {
			return nil, err
		}
		if c.options.Took != nil {
			c.options.Took(string(c.stage), time.Since(start))
		}
		// Some passes report an error to the context and go on.
		if len(d.errors) > 0 {
			return nil, c.fail("")
		}
	}
	return out, nil
}

// fail makes the error of the current stage from msg and the diagnostics so far.
func (c *compilation) fail(msg string) *CompileError {
	if text := c.diagnosis.text(); text != "" {
		if msg != "" {
			text += "\n" + msg
		}
		msg = text
	}
	msg = strings.TrimSpace(msg)
	if msg == "" {
		msg = "failed without a message"
	}
	return &CompileError{Stage: c.stage, Message: msg}
}

func (c *compilation) parse(ir string) error {
	l := c.lib
	buf := l.CreateMemoryBufferWithMemoryRangeCopy(ir, uintptr(len(ir)), bufferName)
	var msg *byte
	// The parser takes the buffer over, also when it fails.
	if l.ParseIRInContext(c.ctx, buf, &c.mod, &msg) != 0 {
		c.mod = 0
		return parseError(l.take(msg))
	}
	return nil
}

// target makes the target machine and tells the module about it.
func (c *compilation) target() error {
	l, o := c.lib, &c.options
	var target handle
	var msg *byte
	if l.GetTargetFromTriple(o.Triple, &target, &msg) != 0 {
		return c.fail(l.take(msg))
	}
	reloc := map[Reloc]int32{Static: 1, PIC: 2}[o.Reloc]
	model := map[CodeModel]int32{Small: 3, Large: 6}[o.CodeModel]
	c.tm = l.CreateTargetMachine(target, o.Triple, o.CPU, o.Features, int32(o.OptLevel), reloc, model)
	if c.tm == 0 {
		return c.fail(fmt.Sprintf("no target machine for %s, cpu %q", o.Triple, o.CPU))
	}
	if o.VerboseAsm {
		l.SetTargetMachineAsmVerbosity(c.tm, 1)
	}
	data := l.CreateTargetDataLayout(c.tm)
	l.SetModuleDataLayout(c.mod, data)
	l.DisposeTargetData(data)
	l.SetTarget(c.mod, o.Triple)
	return nil
}

func (c *compilation) verify() error {
	if c.options.DisableVerify {
		return nil
	}
	const returnStatus = 2
	var msg *byte
	failed := c.lib.VerifyModule(c.mod, returnStatus, &msg)
	text := c.lib.take(msg)
	if failed != 0 {
		return c.fail(text)
	}
	return nil
}

func (c *compilation) passes() error {
	l := c.lib
	pipeline := c.options.Passes
	switch pipeline {
	case NoPasses:
		return nil
	case "":
		pipeline = fmt.Sprintf("default<O%d>", c.options.OptLevel)
	}
	options := l.CreatePassBuilderOptions()
	defer l.DisposePassBuilderOptions(options)
	l.PassBuilderOptionsSetLoopVectorization(options, 1)
	l.PassBuilderOptionsSetLoopInterleaving(options, 1)
	l.PassBuilderOptionsSetSLPVectorization(options, 1)
	l.PassBuilderOptionsSetLoopUnrolling(options, 1)
	if failure := l.RunPasses(c.mod, pipeline, c.tm, options); failure != 0 {
		msg := l.GetErrorMessage(failure) // frees the error itself
		text := goString(msg)
		l.DisposeErrorMessage(msg)
		return c.fail(text)
	}
	return nil
}

func (c *compilation) emit() ([]byte, error) {
	l := c.lib
	if c.options.Emit == IR {
		return []byte(l.take(l.PrintModuleToString(c.mod))), nil
	}
	kind := map[Output]int32{Assembly: 0, Object: 1}[c.options.Emit]
	var msg *byte
	var buf handle
	if l.TargetMachineEmitToMemoryBuffer(c.tm, c.mod, kind, &msg, &buf) != 0 {
		return nil, c.fail(l.take(msg))
	}
	defer l.DisposeMemoryBuffer(buf)
	return append([]byte(nil), unsafe.Slice(l.GetBufferStart(buf), l.GetBufferSize(buf))...), nil
}
