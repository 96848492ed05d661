package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/progress"
	"healc/codegen"
	"healc/codegen/gpu"
	"healc/internal/backend"
	"healc/internal/engine"
	"healc/internal/pipeline"
)

// compileFlags are the flags of `healc compile`.
type compileFlags struct {
	passFlags
	output, emit, entry  string
	target, cpu, gpuArch string
	prefix, soName       string
	shape                []string
	ranks                []int
	force, tvm, lines    bool
	may                  importFlags
	tune                 tuneFileFlags
}

func (a *app) compileCommand() *cobra.Command {
	var flags compileFlags
	c := &cobra.Command{
		Use:   "compile FILE",
		Short: "Make a shared library, or write down what a program becomes",
		Long: "Compiles the public functions of FILE (or main, or all of them; or the one of --entry) and writes " +
			"what --emit names,\n" +
			"one kind or several with commas between them. Without it, it makes a shared library and its C header: " +
			"--emit so,header.\n\n" +
			kindList() +
			"\n\n" +
			"Functions are compiled for any shape, except for the shape parameters given with --shape. " +
			"HEAL_DUMP=fuse,cse or\n" +
			"HEAL_DUMP=f:fuse prints the IR after passes, HEAL_DUMP=FOLDER writes it to files after every one. The " +
			"passes are\n\n" + passList(),
		Example: "  healc compile f.heal                            # f.so and f.h\n" +
			"  healc compile f.heal --emit kernels\n" +
			"  healc compile f.heal --emit asm --shape N=1024 --cpu znver4 -o f.s\n" +
			"  healc compile f.heal --print-after=fuse --remarks=fuse --time-passes",
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.compile(args[0], &flags, c.Flags().Changed("gpu-arch"))
		},
	}
	fs := c.Flags()
	fs.StringVar(&flags.emit, "emit", "", "what to write: `KIND`, or several (default: so,header)")
	fs.StringVarP(&flags.output, "output", "o", "",
		"the file to write, - for standard output (default: - for text, else FILE with the ending of its kind; what "+
			"goes with\nmachine code that is written lies beside it)")
	fs.BoolVar(&flags.force, "force", false, "overwrite files that healc has not written, too")
	fs.BoolVarP(&flags.lines, "lines", "g", false,
		"say which line of the source each instruction is for: line tables, for debuggers and profilers")
	fs.StringVar(&flags.prefix, "prefix", "",
		"the `NAME` of the library, with which its C functions begin (default: that of the file)")
	fs.StringVar(&flags.soName, "soname", "",
		"the `NAME` by which programs find the shared library when they run, as libf.so.1 (default: that of its file)")
	fs.StringVar(&flags.entry, "entry", "", "the function to compile")
	fs.StringVar(&flags.target, "target", "cpu",
		"cpu, x86_64-linux-gnu or aarch64-linux-gnu (another processor), or gpu (a device of NVIDIA), for --emit ptx "+
			"and --emit llvm")
	fs.StringVar(&flags.cpu, "cpu", "",
		"LLVM's `NAME` of the processor to compile for, generic, or native for this machine's (default: HEAL_CPU, "+
			"else native; "+
			"for\na library, all levels of x86-64)")
	fs.StringVar(&flags.gpuArch, "gpu-arch", "", "the least GPU to compile for, `sm_NN` (default "+gpu.DefaultArch+
		"): newer ones run the code, too")
	fs.StringArrayVar(&flags.shape, "shape", nil, "`NAME=EXTENT`: compile for this value of a shape parameter")
	fs.IntSliceVar(&flags.ranks, "ranks", nil,
		"`N`, or several: a library whose functions with sharded tensors have code for so many ranks, and take their "+
			"blocks\n(docs/libraries.md)")
	fs.BoolVar(&flags.tvm, "tvm-ffi", false,
		"each function of a library has a symbol `__tvm_ffi_NAME`, too, by which PyTorch, JAX and others call it "+
			"(docs/libraries.md)")
	flags.register(fs)
	flags.may.register(fs)
	flags.tune.register(fs)
	return c
}

// triples are the processors that can be compiled for, whatever this machine is.
var triples = []string{"x86_64-linux-gnu", "aarch64-linux-gnu"}

// native is the name of this machine's processor.
const native = "native"

// machine is what to compile for. PTX is for a GPU in any case.
func (f *compileFlags) machine(emit string, gpuArch bool) (codegen.Target, error) {
	onGPU := f.target == heal.GPU || emit == "ptx"
	switch {
	case slices.Contains(triples, f.target) && f.cpu == native:
		return codegen.Target{}, &driver.UsageError{Help: "leave one out",
			Message: "--cpu native is the processor of this machine, and --target " + f.target +
				" says for which other one"}
	case slices.Contains(triples, f.target) && !gpuArch && emit != "ptx":
		return codegen.Target{Kind: heal.CPU, Triple: f.target, CPU: f.cpu}, nil
	case f.target != heal.CPU && f.target != heal.GPU:
		return codegen.Target{}, &driver.UsageError{Message: "there is no target `" + f.target + "`",
			Help: "the targets are cpu, gpu, " + strings.Join(triples, " and ")}
	case !onGPU && gpuArch:
		return codegen.Target{}, &driver.UsageError{Message: "--gpu-arch is for code for GPUs",
			Help: "add --target gpu, or --emit ptx"}
	case !onGPU && f.cpu == native:
		return codegen.Target{Kind: heal.CPU}, nil
	case !onGPU:
		return backend.Processor(codegen.Target{Kind: heal.CPU, CPU: f.cpu}), nil
	case f.cpu != "":
		return codegen.Target{}, &driver.UsageError{Message: "--cpu is for processors, not for GPUs",
			Help: "use --gpu-arch sm_NN"}
	case gpuArch && !gpu.Known(f.gpuArch):
		e := &driver.UsageError{Message: "there is no GPU `" + f.gpuArch + "`", Help: "code is made for " +
			strings.Join(gpu.Names(), ", ")}
		return codegen.Target{}, e
	}
	return codegen.Target{Kind: heal.GPU, CPU: f.gpuArch}, nil
}

func kindList() string {
	var b strings.Builder
	for _, k := range driver.Kinds() {
		if k.Doc != "" {
			fmt.Fprintf(&b, "  %-10s%s\n", k.Name, k.Doc)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func (a *app) compile(path string, flags *compileFlags, gpuArch bool) error {
	emit := flags.emit
	target, err := flags.machine(emit, gpuArch)
	if err != nil {
		return err
	}
	if emit == "" && target.Kind == heal.GPU {
		emit = "ptx"
	}
	if emit == "" && flags.stopAfter != "" {
		emit = "ir"
	}
	if emit == "" && !flags.any() {
		emit = "so,header"
	}
	var kinds []driver.Kind
	if emit != "" {
		for name := range strings.SplitSeq(emit, ",") {
			kind, err := driver.FindKind(name)
			if err != nil {
				return err
			}
			if kind.Host && target.Kind == heal.GPU {
				return &driver.UsageError{Message: "there is no --emit " + name +
					" for GPUs: their code is PTX, which the driver compiles when it runs", Help: "use --emit ptx"}
			}
			kinds = append(kinds, kind)
		}
	}
	if flags.stopAfter != "" && emit != "ir" {
		return &driver.UsageError{Message: "--stop-after leaves IR, so it goes with --emit ir",
			Help: "leave out --emit " + emit}
	}
	if flags.lines && !slices.ContainsFunc(kinds, driver.Kind.Lined) {
		return &driver.UsageError{Message: "--lines is for machine code and LLVM IR, and there is none to be written",
			Help: "add --emit so,header, obj, a, go, asm or llvm"}
	}
	if err := driver.CheckRanks(flags.ranks, kinds); err != nil {
		return err
	}
	if err := driver.CheckTorch(kinds); err != nil {
		return err
	}
	if flags.tvm {
		if err := driver.CheckTVM(kinds); err != nil {
			return err
		}
	}
	shape, err := driver.ParseShape(flags.shape)
	if err != nil {
		return err
	}
	imports, err := flags.may.importer()
	if err != nil {
		return err
	}
	file, err := a.source(path)
	if err != nil {
		return err
	}
	out, err := flags.outputs(path, kinds)
	if err == nil && !flags.force {
		err = out.free()
	}
	if err != nil {
		return err
	}
	e := &driver.Emit{
		File: file, Entry: flags.entry, Shape: shape, SoName: out.soName, Prefix: out.prefix,
		Beside: out.beside, Ranks: flags.ranks, TVM: flags.tvm, Lines: flags.lines,
		Python: out.module,
		Torch:  slices.ContainsFunc(kinds, func(k driver.Kind) bool { return k.Name == "torch" }),
		Opts: engine.Options{
			Target: target, Imports: imports,
			Debug: pipeline.Debug{Passes: flags.options(a.err)},
		},
		Loaded: a.loaded(flags.entry),
	}
	if err := flags.tuneFile(path, e, kinds); err != nil {
		return err
	}
	if emit == "" {
		return e.Passes()
	}
	stage := &progress.Stage{}
	e.Opts.Debug.Timer = &pipeline.Timer{Each: stage.Begin}
	if flags.time {
		defer e.Opts.Debug.Timer.Print(a.err)
	}
	defer a.line.Show(stage.Compiling)()
	for i, kind := range kinds {
		if err := a.emit(e, kind, out.files[i]); err != nil {
			return err
		}
	}
	return nil
}

// tuneFile reads the tune file where code is made for the processor of this machine.
func (f *compileFlags) tuneFile(path string, e *driver.Emit, kinds []driver.Kind) error {
	e.Opts.Native = f.cpu == native
	here := e.Opts.Native || e.Opts.Target.CPU == "" && f.target == heal.CPU &&
		slices.ContainsFunc(kinds, func(k driver.Kind) bool { return k.Name == "asm" })
	if here {
		return f.tune.apply(path, &e.Opts)
	}
	if f.tune.asked() {
		return f.tune.refuse("this is for others, too", "add --cpu native")
	}
	return nil
}
