package libllvm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// processorNames are those that LLVM knows of one target: 64-bit ones by the version everything is tested with, and
// those that came later.
type processorNames struct{ names, later []string }

// LLVM prints a line of its own to standard error for each target machine whose processor it does not know, and for an
// AArch64 one it then makes code for any. It has no function that tells the names. So they stand here, up to a version;
// a later one is asked.
const (
	testedVersion = 19
	listedVersion = 22
)

var processors = map[string]processorNames{
	"X86": {
		names: strings.Fields(`
alderlake amdfam10 arrowlake arrowlake-s arrowlake_s athlon-fx athlon64 athlon64-sse3 atom atom_sse4_2
atom_sse4_2_movbe barcelona bdver1 bdver2 bdver3 bdver4 bonnell broadwell btver1 btver2 cannonlake cascadelake
clearwaterforest cooperlake core-avx-i core-avx2 core2 core_2_duo_sse4_1 core_2_duo_ssse3 core_2nd_gen_avx
core_3rd_gen_avx core_4th_gen_avx core_4th_gen_avx_tsx core_5th_gen_avx core_5th_gen_avx_tsx core_aes_pclmulqdq
core_i7_sse4_2 corei7 corei7-avx emeraldrapids generic goldmont goldmont-plus goldmont_plus gracemont grandridge
graniterapids graniterapids-d graniterapids_d haswell icelake-client icelake-server icelake_client icelake_server
ivybridge k8 k8-sse3 knl knm lunarlake meteorlake mic_avx512 nehalem nocona opteron opteron-sse3 pantherlake penryn
raptorlake rocketlake sandybridge sapphirerapids sierraforest silvermont skx skylake skylake-avx512 skylake_avx512
slm tigerlake tremont westmere x86-64 x86-64-v2 x86-64-v3 x86-64-v4 znver1 znver2 znver3 znver4 znver5`),
		later: strings.Fields("diamondrapids novalake wildcatlake")},
	"AArch64": {
		names: strings.Fields(`
a64fx ampere1 ampere1a ampere1b apple-a10 apple-a11 apple-a12 apple-a13 apple-a14 apple-a15 apple-a16 apple-a17
apple-a7 apple-a8 apple-a9 apple-latest apple-m1 apple-m2 apple-m3 apple-m4 apple-s4 apple-s5 carmel cobalt-100
cortex-a34 cortex-a35 cortex-a510 cortex-a520 cortex-a520ae cortex-a53 cortex-a55 cortex-a57 cortex-a65 cortex-a65ae
cortex-a710 cortex-a715 cortex-a72 cortex-a720 cortex-a720ae cortex-a725 cortex-a73 cortex-a75 cortex-a76
cortex-a76ae cortex-a77 cortex-a78 cortex-a78ae cortex-a78c cortex-r82 cortex-r82ae cortex-x1 cortex-x1c cortex-x2
cortex-x3 cortex-x4 cortex-x925 cyclone exynos-m3 exynos-m4 exynos-m5 falkor generic grace kryo neoverse-512tvb
neoverse-e1 neoverse-n1 neoverse-n2 neoverse-n3 neoverse-v1 neoverse-v2 neoverse-v3 neoverse-v3ae oryon-1 saphira
thunderx thunderx2t99 thunderx3t110 thunderxt81 thunderxt83 thunderxt88 tsv110`),
		later: strings.Fields(`
ampere1c apple-a18 apple-a19 apple-m5 apple-s10 apple-s6 apple-s7 apple-s8 apple-s9 c1-nano c1-premium c1-pro
c1-ultra cortex-a320 fujitsu-monaka gb10 hip12 olympus`)},
}

// ProcessorError says that libLLVM makes no code for a processor.
type ProcessorError struct {
	CPU, Version string
	Names        []string // that it knows
}

func (e *ProcessorError) Error() string {
	return fmt.Sprintf("libLLVM %s knows no 64-bit processor `%s`", e.Version, e.CPU)
}

// checkProcessor is an error for a name that LLVM is known not to know.
func (l *Lib) checkProcessor(o *Options) error {
	target, _ := targetName(o.Triple)
	p, listed := processors[target]
	if o.CPU == "" || !listed {
		return nil
	}
	first, _, _ := strings.Cut(l.version, ".")
	version, err := strconv.Atoi(first)
	if err != nil || version > listedVersion {
		return nil
	}
	names := p.names
	if version > testedVersion {
		names = slices.Concat(names, p.later)
	}
	if here, _ := l.HostCPU(); slices.Contains(names, o.CPU) || o.CPU == here {
		return nil
	}
	return &ProcessorError{o.CPU, l.version, names}
}

// ProcessorError is what err, of Compile with these options, says of the processor; nil when it is of something else.
// To LLVM a name that it does not know is an x86 processor without 64-bit code, as those that have none are.
func (l *Lib) ProcessorError(o Options, err error) *ProcessorError {
	var unknown *ProcessorError
	if errors.As(err, &unknown) {
		return unknown
	}
	if o.CPU == "" || !strings.Contains(err.Error(), "64-bit code requested on a subtarget that doesn't support it") {
		return nil
	}
	return &ProcessorError{CPU: o.CPU, Version: l.Version()}
}
