package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/llvm/device"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/runtime/abi"
)

// Triple is the target of LLVM.
const Triple = "nvptx64-nvidia-cuda"

// Architecture is a processor, and the first major version of LLVM that makes right code for it.
type Architecture struct {
	Name string
	LLVM int
}

// Architectures are the processors that code is made for, in ascending order. Version 15 of LLVM mixes up registers.
// Code for one runs on all later ones.
var Architectures = []Architecture{{"sm_70", 16}, {"sm_72", 16}, {"sm_75", 16}, {"sm_80", 16}, {"sm_86", 16},
	{"sm_87", 16}, {"sm_89", 16}, {"sm_90", 16}}

// DefaultArch is the processor for which code is made when none is named.
const DefaultArch = "sm_70"

// Options choose how code is made.
type Options struct {
	Quick bool // compile faster, to code that may be slower: see llvm.EffortFor

	Profile *profile.Profile // for tests, in place of that of the processor

	Took func(stage string, d time.Duration) // is told how long each stage took; nil for nobody

	Places *kernel.Places // numbers what the lines of the code stand for, as in llvm.Options

	Observer llvm.Observer // is told of blocks and peepholes, and not of the module; nil for nobody
}

// Compile makes PTX (libllvm.Assembly) or optimised LLVM IR of a kernel module, and fills in km.Plan.Device. The
// processor is t.CPU. The error is a *codegen.Unsupported when the program has something that devices do not support.
func Compile(km *kernel.Module, t codegen.Target, out libllvm.Output) ([]byte, error) {
	return CompileWith(km, t, out, Options{})
}

// CompileWith is Compile with options.
func CompileWith(km *kernel.Module, t codegen.Target, out libllvm.Output, opts Options) ([]byte, error) {
	lib, err := libllvm.Open()
	if err != nil {
		return nil, err
	}
	arch, err := architecture(t.CPU, lib.Version())
	if err != nil {
		return nil, err
	}
	if !lib.HasTarget(Triple) {
		return nil,
			fmt.Errorf(
				"libLLVM %s (%s) was built without the target NVPTX: install another one, or name it in HEAL_LIBLLVM",
				lib.Version(), lib.Path())
	}
	start := time.Now()
	tune := tuning(arch)
	if opts.Profile != nil {
		tune = &opts.Profile.GPU
	}
	m, err := generate(km, arch, tune, device.Lines{None: t.NoLines && opts.Places == nil, Places: opts.Places},
		opts.Observer)
	if err != nil {
		return nil, err
	}
	if m.wide {
		if n := major(lib.Version()); n < paramsLLVM && n > 0 {
			return nil, &codegen.Unsupported{What: fmt.Sprintf("a kernel with more than %d parameters", plainParams),
				Target: "gpu",
				Why:    fmt.Sprintf("that needs libLLVM %d or later, and this is %s", paramsLLVM, lib.Version())}
		}
		t.Features = strings.TrimPrefix(t.Features+",+"+paramsPTX, ",")
	}
	text := m.code.String()
	if opts.Took != nil {
		opts.Took("generate", time.Since(start))
	}
	m.device.Arch = arch
	o := libllvm.Options{Triple: Triple, CPU: arch, Features: t.Features, OptLevel: 3, Emit: out,
		Passes: device.DevicePipeline(lib.Version()), Took: opts.Took}
	if opts.Quick {
		o.OptLevel, o.Passes = 0, llvm.QuickPipeline+",globaldce"
	}
	code, err := lib.Compile(text, o)
	if err != nil {
		return nil, fmt.Errorf("BUG: libLLVM refuses generated code: %w", err)
	}
	if m.device.Stack > 0 && out == libllvm.Assembly {
		m.device.Reserve = reserve(string(code))
	}
	km.Plan.Device = m.device
	return code, nil
}

// architecture checks the name of a processor; "" is the default.
func architecture(name, version string) (string, error) {
	if name == "" {
		name = DefaultArch
	}
	i := slices.IndexFunc(Architectures, func(a Architecture) bool {
		return a.Name == name
	})
	if i < 0 {
		return "", fmt.Errorf("unknown processor %q: code for devices is made for %s", name,
			strings.Join(Names(), ", "))
	}
	if n := major(version); n > 0 && n < Architectures[i].LLVM {
		return "",
			fmt.Errorf(
				"code for %s needs libLLVM %d or later, and this is %s: install another one, or name it in "+
					"HEAL_LIBLLVM", name, Architectures[i].LLVM, version)
	}
	return name, nil
}

// major is the first number of a version, 0 when there is none.
func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(first)
	return n
}

// Names are those of Architectures.
func Names() []string {
	var out []string
	for _, a := range Architectures {
		out = append(out, a.Name)
	}
	return out
}

// Known reports whether code is made for the processor of a name.
func Known(name string) bool { return slices.Contains(Names(), name) }

// ArchFor is the newest processor for which this libLLVM makes code that a device of compute capability first.minor
// runs; "" when there is none.
func ArchFor(first, minor int) string {
	known := 0
	if lib, err := libllvm.Open(); err == nil {
		known = major(lib.Version())
	}
	best := ""
	for _, a := range Architectures {
		if n, err := strconv.Atoi(strings.TrimPrefix(a.Name, "sm_")); err == nil && n <= 10*first+minor &&
			(a.LLVM <= known || known == 0) {
			best = a.Name
		}
	}
	return best
}

// TooOld is the version of this libLLVM where it makes right code for none of Architectures, and "" otherwise.
func TooOld() string {
	lib, err := libllvm.Open()
	if err != nil || !tooOld(lib.Version()) {
		return ""
	}
	return lib.Version()
}

func tooOld(version string) bool {
	return !slices.ContainsFunc(Architectures, func(a Architecture) bool { return a.LLVM <= major(version) })
}

// Generate returns the LLVM IR text of a kernel module for a processor, and how its kernels are launched; Arch is left
// to the caller. lines says that the code has the lines of the source. The same module gives the same text.
func Generate(km *kernel.Module, arch string, lines bool) (string, *abi.Device, error) {
	m, err := generate(km, arch, tuning(arch), device.Lines{None: !lines}, nil)
	if err != nil {
		return "", nil, err
	}
	return m.code.String(), m.device, nil
}

// GenerateWith is Generate for code whose lines are numbers of places.
func GenerateWith(km *kernel.Module, arch string, places *kernel.Places) (string, error) {
	m, err := generate(km, arch, tuning(arch), device.Lines{Places: places}, nil)
	if err != nil {
		return "", err
	}
	return m.code.String(), nil
}

func generate(km *kernel.Module, arch string, tune *profile.GPU, lines device.Lines, observer llvm.Observer) (
	*module, error) {
	km = decided(km)
	m := &module{km: km, tune: tune, mma: hasMMA(arch), code: device.NewDeviceModule(km, Triple, lines, observer),
		device: &abi.Device{Kernels: map[string]abi.DeviceKernel{}}}
	for _, f := range km.Plan.Funcs {
		m.device.Stops = m.device.Stops || stops(f.Steps)
	}
	m.checksStopped = len(km.Sites) > 0 || m.device.Stops
	for _, k := range km.Kernels {
		if err := m.kernel(k); err != nil {
			return nil, err
		}
	}
	for _, f := range km.Plan.Funcs {
		m.blockLoops(f, f.Steps)
	}
	if len(km.Funcs) > 0 {
		m.device.Stack = recursionStack
	}
	return m, nil
}

// hasMMA reports that a processor multiplies matrices of 16 by 32 bytes by 32 by 8.
func hasMMA(arch string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(arch, "sm_"))
	return err == nil && n >= 80
}

// stops reports whether a loop among the steps ends when a kernel says so.
func stops(steps []abi.Step) bool {
	for _, s := range steps {
		if s.Loop != nil && (s.Loop.Until >= 0 || stops(s.Loop.Body)) || s.If != nil &&
			(stops(s.If.Then) || stops(s.If.Else)) {
			return true
		}
	}
	return false
}
