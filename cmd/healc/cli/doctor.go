package cli

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/codegen/gpu"
	"healc/codegen/llvm/libllvm"
	"healc/internal/cache"
	"healc/runtime/device"
	"healc/runtime/pool"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show what healc finds on this machine, and what is missing",
		Long: "Shows the libLLVM that is found, the processor, memory, threads, the cache, the GPUs and their " +
			"driver, and how to\ninstall what is missing. " +
			"The exit code is 3 when programs cannot be compiled for the processor.",
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.doctor() },
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
	line("memory", "%s", machineMemory())
	if cache := cache.Default(); cache == nil {
		line("cache", "none")
	} else if err := cache.Refused(); err != nil {
		line("cache", "not used: %v", err)
	} else {
		line("cache", "%s, %s", cache.Dir, driver.Count(len(cache.Entries()), "program"))
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
			name == "neon", strings.HasPrefix(name, "sve"):
			have = append(have, name)
		}
	}
	if len(have) == 0 {
		return "none of note"
	}
	return strings.Join(have, " ")
}

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
