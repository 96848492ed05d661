package aot

import (
	"strings"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/codegen/target/tuned"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
)

// Level is a kind of processor that a library has code for.
type Level struct {
	Name, CPU, Features string
	// profile is the name of the profile by which its code is shaped, in place of that of CPU; "" is that one.
	profile string
	// scheduled is the processor for which libLLVM orders instructions; "" is CPU.
	scheduled string
	// has says of which kernels this level gets code of its own; nil says of all. Others have that of the level before
	// or, where it has a profile, are asked for another schedule (Note [Levels by profile]).
	has func(*kernel.Kernel) bool
}

// Levels are those of x86-64, in the order of levels_x86_64.ll.
var Levels = []Level{
	{Name: "x86-64", CPU: "x86-64"},
	{Name: "avx2", CPU: "x86-64-v3"},
	{Name: "avx512", CPU: "x86-64-v4"},
	{Name: "avx512ifma", CPU: "x86-64-v4", Features: "+avx512ifma", has: transform.HasDigits},
	{Name: "avx512vnni", CPU: "x86-64-v4", Features: "+avx512ifma,+avx512vnni", has: transform.HasByteProducts},
	{Name: "avx512vp2intersect", CPU: "x86-64-v4", Features: "+avx512ifma,+avx512vnni", profile: "zen5",
		scheduled: "znver4", has: transform.HasTransform},
	{Name: "avx512fp16", CPU: "x86-64-v4", Features: "+avx512ifma,+avx512vnni", profile: "sapphire-rapids",
		has: transform.HasTransform},
	{Name: "amx", CPU: "x86-64-v4", Features: "+avx512ifma,+avx512vnni" + beforeTiles + withTiles,
		has: transform.HasTileProducts},
}

// What every processor with tiles had before.
const beforeTiles = ",+avx512vbmi,+avx512bf16"

// Note [Levels by profile]
//
// Where processors with the same instructions are best served by different code, a level has the profile of those it
// is for, and no instructions beyond those of the level before. So any processor of a higher level may run its code,
// whether or not it is one of those. It has code of its own of the kernels that its profile writes otherwise: whose
// schedule is another one, or whose results go past the caches with one profile and not with the other. Transforms are
// asked for by themselves, because no schedule says how they are written. Intel's processors have the half floats of
// AVX-512 where two pipes do all that vectors of 512 bits do, which is what ntt.alike is about. AMD's have
// intersections of vectors from Zen 5 on, where inverse transforms take the fewest instructions (ntt.short_back) and
// products of 64-bit integers cost no more than others (ntt.words). What libLLVM knows of the pipes of a Zen 4 serves
// for a Zen 5, too, and is in every libLLVM from 16 on.

// What a level has beside those of its processor, and what one has not that a system may refuse.
const withTiles, withoutTiles = ",+amx-tile,+amx-int8,+amx-bf16", "-amx-tile,-amx-int8,-amx-bf16"

// levelOf is the highest level all of whose instructions a processor of x86 has that is known by its name.
func levelOf(m target.Machine) string {
	switch {
	case m.Split: // its vectors are made of others
		return ""
	case m.VectorBits >= 512 && m.PairSums && m.IFMA && m.ByteSums:
		return "avx512vnni"
	case m.VectorBits >= 512 && m.PairSums && m.IFMA:
		return "avx512ifma"
	case m.VectorBits >= 512 && m.PairSums:
		return "avx512"
	case m.VectorBits >= 256:
		return "avx2"
	}
	return ""
}

// target is t for the level.
func (l Level) target(t codegen.Target) codegen.Target {
	t.CPU = l.CPU
	if l.Features != "" {
		t.Features = strings.TrimPrefix(t.Features+","+l.Features, ",")
	}
	return t
}

// options are opts for the level.
func (l Level) options(opts llvm.Options) llvm.Options {
	if l.profile != "" {
		opts.Profile = profile.Named(l.profile)
	}
	opts.Scheduled = l.scheduled
	return opts
}

// below is the level whose code level i has where it has none of its own. That of another profile is none.
func below(levels []Level, i int) int {
	if i--; levels[i+1].profile != "" {
		for levels[i].profile != "" {
			i--
		}
	}
	return i
}

// ownCode are the kernels of a module of which each level gets code of its own.
func (l *Library) ownCode(km *kernel.Module, sets map[string]tuned.Set, levels []Level) []map[string]bool {
	out := make([]map[string]bool, len(levels))
	for i, level := range levels {
		out[i] = map[string]bool{}
		for _, k := range km.Kernels {
			out[i][k.Name] = level.has == nil || level.has(k)
		}
		if level.profile == "" || i == 0 {
			continue
		}
		machine := target.MachineOf(level.target(l.Target))
		for name := range llvm.Apart(km, machine, machine.With(profile.Named(level.profile)), sets) {
			out[i][name] = true
		}
	}
	return out
}
