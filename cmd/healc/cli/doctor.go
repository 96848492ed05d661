package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/tune"
	"healc/cmd/healc/measure"
	"healc/codegen/gpu"
	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/profile"
	"healc/internal/cache"
	"healc/internal/distro"
	"healc/runtime/amx"
	"healc/runtime/cluster/mpi"
	"healc/runtime/device"
	"healc/runtime/pool"
)

func (a *app) doctorCommand() *cobra.Command {
	packages := false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Show what healc finds on this machine, and what is missing",
		Long: "Shows the libLLVM that is found, the processor, its profile, memory, threads, the cache, " +
			"the MPI library, the GPUs and\ntheir driver, and how to install what is missing. " +
			"The exit code is 3 when programs cannot be compiled for the processor.",
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			if packages {
				return a.packages()
			}
			return a.doctor()
		},
	}
	c.Flags().BoolVar(&packages, "packages", false,
		"show which packages of this system have what healc uses, and how to install those that are missing")
	return c
}

// packages shows the packages of this system for what healc uses, and the commands that install what is missing.
func (a *app) packages() error {
	if runtime.GOOS != "linux" {
		fmt.Fprintf(a.out, "healc needs no packages on %s: machine code is made and run on Linux\n", runtime.GOOS)
		return exitCode(exitRuntime)
	}
	here := distro.Here()
	fmt.Fprintf(a.out, "%-14s %s\n", "system", cmp.Or(here.Name, "not known"))
	if !here.Known() {
		fmt.Fprintf(a.out, "%-14s names of packages are not known here; what to look for is below\n", "")
	}
	var needed, more []string
	for _, need := range distro.Needs {
		name := here.Offered(need, libllvm.Versions())
		found, err := findNeed(need)
		state := "missing"
		switch {
		case err == nil:
			state = "found: " + found
		case need == distro.LLVM:
			needed = append(needed, name)
		case need != distro.GPU:
			more = append(more, name)
		}
		fmt.Fprintf(a.out, "%-14s %-18s %s\n", cmp.Or(name, lookFor[need]), need, state)
	}
	for _, list := range []struct {
		what  string
		names []string
	}{{"needed", needed}, {"for more", more}} {
		names := slices.DeleteFunc(list.names, func(name string) bool { return name == "" })
		if command := here.Install(names...); command != "" {
			fmt.Fprintf(a.out, "%-14s %s\n", list.what, command)
		}
	}
	if len(needed) > 0 {
		return exitCode(exitRuntime)
	}
	return nil
}

// lookFor is what has a need where no package is known.
var lookFor = map[distro.Need]string{distro.LLVM: "libLLVM 16-22", distro.Linker: "ld or lld",
	distro.MPI: "an MPI library", distro.GPU: "libcuda.so.1"}

// findNeed is where healc finds what it takes from the system.
func findNeed(need distro.Need) (string, error) {
	switch need {
	case distro.LLVM:
		lib, err := libllvm.Open()
		if err != nil {
			return "", err
		}
		return lib.Path(), nil
	case distro.Linker:
		return aot.FindLinker("")
	case distro.MPI:
		return mpi.Find()
	default:
		version, _, err := heal.Devices(heal.GPU)
		return version, err
	}
}

func (a *app) doctor() error {
	line := func(what, format string, args ...any) {
		fmt.Fprintf(a.out, "%-10s %s\n", what, fmt.Sprintf(format, args...))
	}
	line("healc", "%s, %s/%s, %s", heal.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
	lib, err := libllvm.Open()
	if err == nil {
		line("libLLVM", "%s, %s", lib.Version(), lib.Path())
		cpu, features := lib.HostCPU()
		line("processor", "%s, %d cores, %s", cpu, runtime.NumCPU(), lib.HostTriple())
		line("features", "%s", vectorFeatures(features))
	} else {
		line("libLLVM", "missing: %v", err)
		line("processor", "%d cores", runtime.NumCPU())
	}
	if threads, terr := pool.DefaultThreads(); terr == nil {
		line("threads", "%d", threads)
	} else {
		line("threads", "wrong: %v", terr)
	}
	line("profile", "%s", machineProfile(err == nil))
	line("memory", "%s", machineMemory())
	if cache := cache.Default(); cache == nil {
		line("cache", "none")
	} else if err := cache.Refused(); err != nil {
		line("cache", "not used: %v", err)
	} else {
		line("cache", "%s, %s", cache.Dir, driver.Count(len(cache.Entries()), "program"))
	}
	if library, err := mpi.Find(); err == nil {
		line("MPI", "%s", library)
	} else {
		line("MPI", "none, which --dist mpi needs and --ranks does not")
	}
	gpus(line)
	if err != nil {
		line("", "without libLLVM programs run slowly, with --backend interp")
		return exitCode(exitRuntime)
	}
	return nil
}

// gpus shows the driver of NVIDIA and its devices, or why there are none.
func gpus(line func(what, format string, args ...any)) {
	version, devices, err := heal.Devices(heal.GPU)
	if err != nil {
		line("GPU", "%s", strings.TrimPrefix(err.Error(), "no GPU: "))
		line("", "programs for GPUs run, slowly, with --backend ptxsim")
		return
	}
	for i, d := range devices {
		text := fmt.Sprintf("%d: %s, %s, compute capability %d.%d, %d multiprocessors, %s", i, d.Name,
			device.FormatBytes(d.Memory), d.Major, d.Minor, d.Processors, version)
		if arch := gpu.ArchFor(d.Major, d.Minor); arch == "" {
			text += "; too old: code is made for " + gpu.DefaultArch + " and newer"
		} else {
			text += ", code for " + arch
		}
		line("GPU", "%s", text)
	}
}

// vectorFeatures picks the features that say how wide and how fast vector code is.
func vectorFeatures(features string) string {
	var have []string
	for _, f := range strings.Split(features, ",") {
		name, on := strings.CutPrefix(f, "+")
		switch {
		case !on:
		case strings.HasPrefix(name, "avx"), strings.HasPrefix(name, "sse4"), name == "fma", name == "f16c",
			name == "neon", strings.HasPrefix(name, "sve"), strings.HasPrefix(name, "amx-") && amx.Permitted():
			have = append(have, name)
		}
	}
	if len(have) == 0 {
		return "none of note"
	}
	return strings.Join(have, " ")
}

// machineProfile says which profile is in force, and of one that was measured how far the machine is from what it was
// then, which a quick measurement shows where there is libLLVM.
func machineProfile(llvm bool) string {
	here := profile.Host()
	switch {
	case here.Err != nil:
		return "not used: " + here.Err.Error()
	case here.File == "":
		return here.Profile.Name + ", chosen by " + here.By + "; `healc tune` measures this machine"
	}
	text := here.File + ", measured " + here.Measured
	if !llvm || len(here.Figures) == 0 {
		return text
	}
	then, ok := tune.ParseFigure(here.Figures[0])
	if !ok {
		return text
	}
	machine, err := measure.NewMachine()
	if err != nil {
		return text
	}
	defer machine.Close()
	now, err := machine.Figures(context.Background(), []int{then.Threads}, quickly)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%s; a thread now reads %.3g GB/s (then %.3g) and does %.3g GFLOP/s (%.3g)", text, now[0].Read,
		then.Read, now[0].F32, then.F32)
}

// quickly is how long doctor measures each of the machine's figures.
const quickly = 50 * time.Millisecond

// machineMemory is the machine's memory and what of it is free, from /proc/meminfo.
func machineMemory() string {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "unknown"
	}
	gib := func(key string) string {
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
				if kib, err := strconv.ParseFloat(f[1], 64); err == nil {
					return fmt.Sprintf("%.1f GiB", kib/(1<<20))
				}
			}
		}
		return "unknown"
	}
	return gib("MemTotal:") + ", available " + gib("MemAvailable:")
}
