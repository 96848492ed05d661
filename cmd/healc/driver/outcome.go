package driver

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	heal "healc"
	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/codegen/target/tuned"
	"healc/internal/backend"
	"healc/internal/caught"
	"healc/lang/diag"
	"healc/passes"
	"healc/passes/bufferize"
	"healc/passes/fusion"
	"healc/runtime"
	"healc/runtime/checkpoint"
	"healc/transcript"
)

// Class says whose fault an error is. The values are healc's exit codes.
type Class int

// The classes.
const (
	OK           Class = iota
	CompileError       // the program does not compile: it is wrong, or cannot be compiled here
	UsageFault         // the command line is wrong
	RuntimeFault       // the program failed while running
	BugFound           // healc is wrong
)

// Bug is a defect of healc that showed.
type Bug struct {
	Cause string
	Stack string // where it panicked, or ""
	IR    string // the module, when the pass manager has it
}

// Outcome is what became of a command.
type Outcome struct {
	Class       Class
	More        int                // errors that are not among them
	Diagnostics []*diag.Diagnostic // to show; none when Bug is set
	Bug         *Bug
}

// Classify sorts an error of Run and Emit; file is the program's source, for places in it.
func Classify(err error, file *diag.File) Outcome {
	var (
		list      *diag.List
		usage     *UsageError
		argument  *heal.ArgumentError
		unknown   *passes.UnknownPassError
		nofunc    *passes.UnknownFuncError
		failure   *runtime.RuntimeError
		panicked  *caught.Panic
		bug       *passes.BugError
		recovered *recoveredError
		recorded  *transcript.Error
		differ    *heal.DisagreeError
		kept      *checkpoint.Error
	)
	one := func(c Class, d *diag.Diagnostic) Outcome {
		return Outcome{Class: c, Diagnostics: []*diag.Diagnostic{d}}
	}
	switch {
	case err == nil:
		return Outcome{}
	case errors.As(err, &list):
		return Outcome{Class: CompileError, Diagnostics: list.Items, More: list.More}
	case errors.As(err, &usage):
		return one(UsageFault, usage.Diagnostic())
	case errors.As(err, &argument), errors.As(err, &unknown), errors.As(err, &nofunc):
		return one(UsageFault, &diag.Diagnostic{Message: err.Error()})
	case errors.As(err, &recovered):
		return Outcome{Class: BugFound, Bug: &recovered.bug}
	case errors.As(err, &bug):
		return Outcome{Class: BugFound, Bug: &Bug{Cause: bug.Error(), Stack: bug.Stack, IR: bug.IR}}
	case errors.As(err, &panicked):
		return Outcome{Class: BugFound, Bug: &Bug{Cause: err.Error(), Stack: string(panicked.Stack)}}
	case strings.HasPrefix(err.Error(), bugMark):
		return Outcome{Class: BugFound, Bug: &Bug{Cause: strings.TrimPrefix(err.Error(), bugMark)}}
	case errors.As(err, &recorded) && errors.As(err, &failure):
		return one(RuntimeFault, &diag.Diagnostic{Message: recorded.Error()})
	case errors.As(err, &recorded):
		return one(CompileError, &diag.Diagnostic{Message: recorded.Error()})
	case errors.As(err, &failure):
		d := Failure(failure, file)
		if errors.As(err, &kept) {
			d.Help = kept.Help
		}
		return one(RuntimeFault, d)
	case errors.As(err, &kept):
		return one(RuntimeFault, &diag.Diagnostic{Message: err.Error(), Help: kept.Help})
	case errors.As(err, &differ):
		lines := strings.Split(differ.Error(), "\n")
		return one(RuntimeFault, &diag.Diagnostic{Message: lines[0], Notes: lines[1:],
			Help: "all ranks run the same program with the same options and inputs, by copies of the same healc"})
	}
	if d := uncompilable(err); d != nil {
		return one(CompileError, d)
	}
	return one(RuntimeFault, &diag.Diagnostic{Message: err.Error()})
}

// processorHelp says which names of processors there are, and who takes them.
func processorHelp(e *libllvm.ProcessorError) string {
	takes, without := "--cpu takes", "without it there is code for all"
	if suits, made := target.SplitName(os.Getenv(backend.ProcessorEnv)); e.CPU == suits || e.CPU == made {
		takes = "it is in " + backend.ProcessorEnv + ", which takes"
		without = "where that is unset, there is code for this machine"
	}
	names := "x86-64 (any), x86-64-v3 (AVX2), x86-64-v4 (AVX-512), haswell or znver4"
	if slices.Contains(e.Names, "neoverse-n1") {
		names = "generic, cortex-a76, neoverse-n1 or a64fx"
	}
	help := takes + " names such as " + names + "; " + without
	if near := Nearest(e.CPU, e.Names); near != "" {
		help = fmt.Sprintf("did you mean `%s`? ", near) + help
	}
	return help
}

// uncompilable is the message for a legal program that cannot be compiled: by this version, or on this
// machine. It is nil for every other error.
func uncompilable(err error) *diag.Diagnostic {
	var (
		missing     *libllvm.MissingError
		processor   *libllvm.ProcessorError
		unsupported *codegen.Unsupported
		lowering    *bufferize.Error
		bind        *passes.BindError
		tooLarge    *passes.TooLargeError
		link        *aot.LinkError
		unexpanded  *fusion.UnexpandedError
		tuneFile    *tuned.Error
		untuned     *tuned.MissingError
	)
	switch {
	case errors.As(err, &missing):
		return &diag.Diagnostic{Message: missing.Error(),
			Help: "programs also run without it, slowly: healc run --backend interp; `healc doctor` shows what is " +
				"found"}
	case errors.As(err, &processor):
		return &diag.Diagnostic{Message: processor.Error(), Help: processorHelp(processor)}
	case errors.As(err, &unsupported):
		return &diag.Diagnostic{Code: diag.CodeUnsupported, Message: unsupported.Error()}
	case errors.As(err, &link):
		return &diag.Diagnostic{Message: link.Error(), Help: link.Help}
	case errors.As(err, &lowering):
		return &diag.Diagnostic{Code: diag.CodeUnsupported, Message: "unsupported: " + lowering.Msg,
			Primary: diag.Label{Span: lowering.Span}}
	case errors.As(err, &bind):
		return &diag.Diagnostic{Message: bind.Error(), Primary: diag.Label{Span: bind.Span}}
	case errors.As(err, &unexpanded) && unexpanded.Unknown:
		return &diag.Diagnostic{Code: diag.CodeUnsupported, Message: "unsupported: " + unexpanded.Error(),
			Primary: diag.Label{Span: unexpanded.Span},
			Help:    "`--shape N=...` gives the value of a shape parameter, and `healc run` compiles for its inputs"}
	case errors.As(err, &unexpanded):
		return &diag.Diagnostic{Message: unexpanded.Error(), Primary: diag.Label{Span: unexpanded.Span},
			Help: "passes run in the order of --passes: write expand before fuse"}
	case errors.As(err, &tuneFile):
		return &diag.Diagnostic{Message: tuneFile.Error(), Help: tuneFile.Help()}
	case errors.As(err, &untuned):
		return &diag.Diagnostic{Message: untuned.Error(), Help: untuned.Help()}
	case errors.As(err, &tooLarge):
		return &diag.Diagnostic{Code: diag.CodeTooBig, Message: tooLarge.Error()}
	}
	return nil
}

const bugMark = "BUG: "

// recoveredError is a panic that became an error.
type recoveredError struct{ bug Bug }

func (e *recoveredError) Error() string { return bugMark + e.bug.Cause }

// Recovered turns what recover returned into the report of a bug. A panic that has come from another goroutine is shown
// where it happened.
func Recovered(p any) *Bug {
	there := caught.By(p)
	return &Bug{Cause: strings.TrimPrefix(fmt.Sprint(there.Value), bugMark), Stack: string(there.Stack)}
}

// Guard runs f; a panic becomes an error that Classify knows to be a bug.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &recoveredError{*Recovered(p)}
		}
	}()
	return f()
}
