package target

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	x86 "golang.org/x/sys/cpu"

	"healc/codegen"
	"healc/codegen/target/profile"
	"healc/runtime/amx"
)

// Machine has the properties of a processor on which the shape of generated code depends. It never changes a result.
// The zero Machine is a processor with AVX-512.
type Machine struct {
	VectorBits int  // of a register; 0 is 512
	Registers  int  // vector registers; 0 is 32
	NoFMA      bool // a fused multiply-add is a call
	Scale      bool // there is vscalef
	Device     bool // a thread of a GPU, see codegen/llvm/device
	IFMA       bool // 512-bit vectors have multiply-adds of 52-bit integers
	Mul64      bool // 512-bit vectors have products of 64-bit integers that cost no more than others
	PairSums   bool // x86: products of 16-bit integers are summed in pairs
	// x86: products of integers are added up by instructions of their own, see Note [Products together]
	IntSums      bool
	ByteSums     bool // x86: products of bytes are summed in fours (VNNI)
	ByteTiles    bool // x86: there are tiles, with products of bytes (AMX)
	HalfTiles    bool // x86: the same with products of bf16
	HalfRounds   bool // x86: an instruction rounds f32 to bf16, subnormals to 0
	EvenProducts bool // x86: products of 32-bit integers are those of the even elements of two vectors
	Split        bool // vectors are longer than registers, see Note [Emulated vectors]
	L1, L2       int  // bytes of the data caches of one core; 0 is 32 KiB and 512 KiB

	Profile *profile.Profile // what was measured about it; nil is that of any processor with AVX-512
	By      string           // what the profile was chosen by
}

// MultipliesDoubles says that the shortest products of numbers of 52 bits are those of doubles, see Note [Digits].
func (m Machine) MultipliesDoubles() bool { return !m.NoFMA && !m.IFMA && !m.Device }

// Compresses says that an instruction puts the chosen elements of a vector together.
func (m Machine) Compresses() bool { return m.VectorBits >= 512 && !m.Device }

func (m Machine) WithDefaults() Machine {
	set := func(x *int, n int) {
		if *x == 0 {
			*x = n
		}
	}
	set(&m.VectorBits, 512)
	set(&m.Registers, 32)
	set(&m.L1, 32<<10)
	set(&m.L2, 512<<10)
	if m.Profile == nil {
		m.Profile, m.By = profile.Named("generic-avx512"), "nothing"
	}
	return m
}

// With is the machine with other measurements.
func (m Machine) With(p *profile.Profile) Machine {
	m.Profile = p
	m.Mul64 = p.NTT.Words != 0 && m.VectorBits == 512 && !m.Device
	return m
}

// Masks reports that comparisons of vectors give a bit for each lane.
func (m Machine) Masks() bool { return m.VectorBits >= 512 }

// Processors by the first letters of LLVM's names, the longest that fits counts. Any other processor is taken for the
// baseline of its architecture.
var (
	avx512 = []string{"x86-64-v4", "skylake-avx512", "skx", "cascadelake", "cooperlake", "cannonlake", "icelake",
		"tigerlake",
		"rocketlake", "sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids", "znver4", "znver5", "knl",
		"knm"}
	avx512ifma = []string{"cannonlake", "icelake", "tigerlake", "rocketlake", "sapphirerapids", "emeraldrapids",
		"graniterapids", "diamondrapids", "znver4", "znver5"}
	avx512vnni = []string{"cascadelake", "cooperlake", "icelake", "tigerlake", "rocketlake", "sapphirerapids",
		"emeraldrapids", "graniterapids", "diamondrapids", "znver4", "znver5"}
	avxvnni = []string{"alderlake", "raptorlake", "meteorlake", "arrowlake", "lunarlake", "pantherlake", "sierraforest",
		"gracemont", "grandridge", "clearwaterforest", "sapphirerapids", "emeraldrapids", "graniterapids",
		"diamondrapids", "znver5"}
	tiles      = []string{"sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids"}
	avx512bf16 = []string{"cooperlake", "sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids", "znver4",
		"znver5"}
	avx2 = []string{"x86-64-v3", "haswell", "core-avx2", "broadwell", "skylake", "znver", "bdver4", "alderlake",
		"raptorlake",
		"meteorlake", "arrowlake", "lunarlake", "pantherlake", "sierraforest", "gracemont", "grandridge",
		"clearwaterforest"}
)

// MachineOf describes a target. Features and cache sizes are those of this machine when the target is, too. It asks the
// processor, not LLVM, so that text is generated while the library is opened.
func MachineOf(t codegen.Target) Machine {
	triple := t.Triple
	cpu, made := SplitName(t.CPU)
	m := Machine{Split: made != ""}
	arch := architecture(triple, runtime.GOARCH)
	if cpu == "" {
		m.L1, m.L2 = hostCaches()
	}
	if cpu == "" && triple == "" {
		here := profile.Host()
		m.Profile, m.By = here.Profile, here.By
	} else {
		m.Profile, m.By = profile.For(profile.Processor{Name: cpu, ARM: arch == "arm64"})
	}
	if arch != "amd64" {
		m.VectorBits, m.Registers = 128, 32
		return m.WithDefaults()
	}
	fits := func(names []string) (longest int) {
		for _, n := range names {
			if strings.HasPrefix(cpu, n) {
				longest = max(longest, len(n))
			}
		}
		return longest
	}
	wide, half, integer := fits(avx512), fits(avx2), fits(avx512ifma)
	has := map[string]bool{"avx512f": wide > half, "avx512bw": wide > half && !strings.HasPrefix(cpu, "kn"),
		"avx512ifma": integer > half && integer > 0, "avx2": max(wide, half) > 0, "fma": max(wide, half) > 0,
		"avx512vnni": fits(avx512vnni) > 0, "avxvnni": fits(avxvnni) > 0, "amx-tile": fits(tiles) > 0,
		"amx-int8": fits(tiles) > 0, "amx-bf16": fits(tiles) > 0, "avx512bf16": fits(avx512bf16) > 0}
	if cpu == "" {
		has = map[string]bool{"avx512f": x86.X86.HasAVX512F, "avx512bw": x86.X86.HasAVX512BW,
			"avx512ifma": x86.X86.HasAVX512IFMA,
			"avx2":       x86.X86.HasAVX2, "fma": x86.X86.HasFMA && x86.X86.HasAVX,
			"avx512vnni": x86.X86.HasAVX512VNNI, "avxvnni": x86.X86.HasAVXVNNI, "amx-tile": amx.Permitted(),
			"amx-int8": x86.X86.HasAMXInt8, "amx-bf16": x86.X86.HasAMXBF16, "avx512bf16": x86.X86.HasAVX512BF16}
	}
	for _, f := range strings.Split(t.Features, ",") {
		if f = strings.TrimSpace(f); f != "" {
			has[f[1:]] = f[0] == '+'
		}
	}
	switch {
	case has["avx512f"]:
		m.VectorBits, m.Registers = 512, 32
	case has["avx2"]:
		m.VectorBits, m.Registers = 256, 16
	default:
		m.VectorBits, m.Registers = 128, 16
	}
	m.Scale = has["avx512f"]
	m.NoFMA = !has["fma"] && !has["avx512f"]
	m.IFMA = has["avx512f"] && has["avx512ifma"]
	m.IntSums = has["avx512f"] || has["avx2"]
	m.EvenProducts = m.IntSums
	m.PairSums = !has["avx512f"] || has["avx512bw"]
	m.ByteSums = has["avx512f"] && has["avx512vnni"] || !has["avx512f"] && has["avx2"] && has["avxvnni"]
	m.ByteTiles = has["avx512f"] && has["amx-tile"] && has["amx-int8"] && !m.Split
	m.HalfTiles = has["avx512f"] && has["avx512bw"] && has["amx-tile"] && has["amx-bf16"] && !m.Split
	m.HalfRounds = m.HalfTiles && has["avx512bf16"]
	return m.With(m.Profile).WithDefaults()
}

// architecture is that of a triple by Go's name; where there is no triple it is here.
func architecture(triple, here string) string {
	name, _, _ := strings.Cut(triple, "-")
	switch name {
	case "":
		return here
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return name
}

// hostCaches are the sizes of the data caches of one core of this machine, as far as they are known.
var hostCaches = sync.OnceValues(func() (first, second int) { return cacheSize(1), cacheSize(2) })

// cacheSize asks Linux for the size of a data cache of the first processor; 0 when it does not say.
func cacheSize(level int) int {
	for i := range 8 {
		dir := "/sys/devices/system/cpu/cpu0/cache/index" + strconv.Itoa(i) + "/"
		word := func(name string) string {
			raw, _ := os.ReadFile(dir + name)
			return strings.TrimSpace(string(raw))
		}
		if word("level") != strconv.Itoa(level) || word("type") == "Instruction" {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSuffix(word("size"), "K")); err == nil {
			return n << 10
		}
	}
	return 0
}
