package runtime

import (
	"os"
	"slices"
	"strings"
	"sync"

	"healc/runtime/amx"
)

// levelFlags are the flags, as Linux names them, that a processor of a level has, and its vendor where that counts.
var levelFlags = map[string][]string{
	"avx2": {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"},
	"avx512": {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm", "avx512f", "avx512bw", "avx512cd", "avx512dq",
		"avx512vl"},
	"avx512ifma": {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm", "avx512f", "avx512bw", "avx512cd", "avx512dq",
		"avx512vl", "avx512ifma"},
	"avx512vnni": {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm", "avx512f", "avx512bw", "avx512cd", "avx512dq",
		"avx512vl", "avx512ifma", "avx512_vnni"},
	"avx512vp2intersect": {"AuthenticAMD", "avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm", "avx512f", "avx512bw",
		"avx512cd", "avx512dq", "avx512vl", "avx512ifma", "avx512_vnni", "avx512_vp2intersect"},
	"avx512fp16": {"GenuineIntel", "avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm", "avx512f", "avx512bw",
		"avx512cd", "avx512dq", "avx512vl", "avx512ifma", "avx512_vnni", "avx512_fp16"},
	"amx": {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm", "avx512f", "avx512bw", "avx512cd", "avx512dq",
		"avx512vl", "avx512ifma", "avx512_vnni", "avx512vbmi", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16"},
}

// tiled reports that code for a level has tile registers: "amx", or a processor with those that a system may refuse.
func tiled(level string) bool { return level == "amx" || strings.HasSuffix(level, "+amx") }

// processorHas reports whether code for a level of processors runs here. Levels without flags are everywhere.
func processorHas(level string) bool {
	return (!tiled(level) || amx.Permitted()) && processorLacks(level) == ""
}

// processorLacks is a flag that a processor of a level has and this one has not.
func processorLacks(level string) string {
	for _, f := range levelFlags[level] {
		if !slices.Contains(processorFlags(), f) {
			return f
		}
	}
	return ""
}

// processorFlags are those that the system lets programs use, behind the vendor.
var processorFlags = sync.OnceValue(func() []string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	var vendor []string
	for line := range strings.Lines(string(text)) {
		switch name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) {
		case "vendor_id":
			vendor = strings.Fields(value)
		case "flags":
			return append(vendor, strings.Fields(value)...)
		}
	}
	return nil
})
